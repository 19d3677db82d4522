package meshvip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/names"
)

// runtime is one store with all that works on it: the allocator, the sources
// that feed it, the index that queries read, and the directory that tables are
// published to. Server blocks with the same store share one.
//
// It is opened by whoever needs it first, and then only shows what the store
// has. From the first use on it works, in a goroutine of its own; see run.go.
// It can be used and closed by one goroutine at a time (the registry's mutex
// sees to that). A runtime that is closed goes on answering from its index.
type runtime struct {
	id    string // the identity of the store
	store StoreConfig
	index *names.Index
	log   *slog.Logger
	m     *runtimeMetrics

	// Queries read these.
	serial         atomic.Uint32
	loaded, synced atomic.Bool
	pools          atomic.Pointer[[]netip.Prefix]
	replica        atomic.Pointer[replica] // nil where nobody else has the store
	leads          atomic.Bool             // this process allocates

	// The admin interface reads these: changes is nil where there is none.
	changes   atomic.Pointer[admin.Recorder]
	following atomic.Pointer[follower]
	zones     atomic.Pointer[[]string] // forward zones of all blocks, in their order

	tally  tally
	notify notifiers

	named atomic.Bool // names were disputed or freed since conflicts were counted

	// These belong to whoever opens the runtime, then to run, then to close.
	settings settings // what is in force
	alloc    *allocator.Allocator
	publish  *publisher
	sources  *follower
	desk     desk

	ctx  context.Context // done when the runtime is to end
	stop context.CancelFunc
	term context.Context // done when nothing is to be allocated any more
	next chan settings   // to put in force; the last counts
	wake chan struct{}   // has one where the table has changed
	used bool            // run has been started
	done sync.WaitGroup
}

// settings are what a runtime works by.
type settings struct {
	cfg     RuntimeConfig
	options string // fingerprint of the blocks' options
}

// newRuntime returns a runtime that has no table yet.
func newRuntime(id string, cfg RuntimeConfig) *runtime {
	r := &runtime{
		id: id, store: cfg.Store.Value, index: names.NewIndex(), log: logger(), m: newRuntimeMetrics(id),
		settings: settings{cfg: cfg}, next: make(chan settings, 1), wake: make(chan struct{}, 1),
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.term = r.ctx
	r.desk.r = r
	configured := cfg.Prefixes()
	r.pools.Store(&configured)
	return r
}

// These implement table.
func (r *runtime) Serial() uint32        { return r.serial.Load() }
func (r *runtime) Loaded() bool          { return r.loaded.Load() }
func (r *runtime) Synced() bool          { return r.synced.Load() }
func (r *runtime) Pools() []netip.Prefix { return *r.pools.Load() }
func (r *runtime) Leads() bool           { return r.replica.Load() == nil || r.leads.Load() }
func (r *runtime) Stale(ttl time.Duration) bool {
	p := r.replica.Load()
	return p != nil && p.stale(ttl)
}

// open opens the store and loads the table into the index. It writes nothing,
// but for the empty store where there was none. On an error nothing is left
// open.
func (r *runtime) open() error {
	if r.store.Kind == storeEtcd {
		return r.openReplica()
	}
	store, created, err := openStore(r.store)
	if err != nil {
		return err
	}
	alloc, err := allocator.Open(r.ctx, store, r.configuration())
	if err != nil {
		return errors.Join(fmt.Errorf("store %v: %w", r.store, err), store.Close())
	}
	if created {
		r.log.Warn("no store was there: a new one was created", "store", r.store)
	}
	r.opened(alloc)
	return nil
}

// opened begins to show the table of alloc.
func (r *runtime) opened(alloc *allocator.Allocator) {
	r.alloc = alloc
	r.publish = newPublisher(r.settings.cfg.Publish.Value, alloc, r.log)
	r.m.lost.Set(0)
	r.fill()
}

// configuration returns what the allocator is to work by.
func (r *runtime) configuration() allocator.Config {
	cfg := r.settings.cfg
	return allocator.Config{
		Layout:     cfg.layout(),
		Confirm:    cfg.Confirm.Value,
		ReportOnly: cfg.Repair.Value == RepairReport,
		Cooldown:   cfg.Cooldown.Value,
		MaxRelease: cfg.limit(),
		OnCommit:   r.committed,
		Logger:     r.log,
	}
}

// unopened tells that the store could not be opened.
func (r *runtime) unopened(err error) {
	r.m.lost.Set(1)
	r.log.Error("the store cannot be opened: our zones are answered with SERVFAIL until it can", "error", err)
}

// use puts s in force, and sets the runtime to work if it does not yet. It
// returns before that is done: a batch may be on its way to the store.
func (r *runtime) use(s settings) {
	if !r.used {
		r.used = true
		r.settings = s
		r.done.Go(r.run)
		return
	}
	select {
	case <-r.next: // which never came into force
	default:
	}
	r.next <- s
}

// close ends everything that runs and closes the store. The index stays. A
// batch that is being applied is given up after the part that is on its way.
func (r *runtime) close() {
	r.stop()
	r.done.Wait()
	if r.alloc != nil {
		if err := r.alloc.Close(); err != nil {
			r.log.Error("closing the store", "store", r.store, "error", err)
		}
	}
	r.m.close()
}
