package meshvip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
)

const (
	// tickInterval is how often the table's clock is made durable while
	// addresses cool, and entries that wait are looked after.
	tickInterval = time.Minute
	// fillBatch is how many rows go into the index at a time at the start.
	fillBatch = 10_000
	// openRetry bounds the pause between attempts to open a store.
	openRetry = 30 * time.Second
)

// runtime is one store with all that works on it: the allocator, the source
// that feeds it, the index that queries read, and the directory that tables are
// published to. Server blocks with the same store share one.
//
// Queries read the fields of the first group, which are atomic; the others
// belong to mu. A runtime that is closed goes on answering from its index.
type runtime struct {
	id    string // the identity of the store
	index *names.Index
	log   *slog.Logger
	m     runtimeMetrics

	serial         atomic.Uint32
	loaded, synced atomic.Bool
	named          atomic.Bool // names were disputed or freed since conflicts were counted
	pools          atomic.Pointer[[]netip.Prefix]

	mu      sync.Mutex
	cfg     RuntimeConfig
	options string // fingerprint of the blocks' options
	alloc   *allocator.Allocator
	publish *publisher
	source  *follower
	stop    context.CancelFunc // ends what runs in the background
	done    sync.WaitGroup
}

// newRuntime returns a runtime that has no table yet.
func newRuntime(id string, cfg RuntimeConfig) *runtime {
	r := &runtime{id: id, index: names.NewIndex(), log: logger(), cfg: cfg, m: newRuntimeMetrics(cfg.Store.Value)}
	none := cfg.Prefixes()
	r.pools.Store(&none)
	return r
}

// Serial, Loaded, Synced and Pools implement table.
func (r *runtime) Serial() uint32        { return r.serial.Load() }
func (r *runtime) Loaded() bool          { return r.loaded.Load() }
func (r *runtime) Synced() bool          { return r.synced.Load() }
func (r *runtime) Pools() []netip.Prefix { return *r.pools.Load() }

// open opens the store, loads the table into the index, and starts to follow
// the source. On an error nothing has been started or left open.
func (r *runtime) open(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	store, created, err := openStore(r.cfg.Store.Value)
	if err != nil {
		return err
	}
	alloc, err := allocator.Open(ctx, store, allocator.Config{
		Pools:      r.cfg.Prefixes(),
		Cooldown:   r.cfg.Cooldown.Value,
		MaxRelease: r.cfg.limit(),
		OnCommit:   r.committed,
		Logger:     r.log,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("store %v: %w", r.cfg.Store.Value, err), store.Close())
	}
	r.alloc = alloc
	r.publish = newPublisher(r.cfg.Publish.Value, alloc, r.log)
	if created {
		r.log.Warn("no store was there: a new one was created", "store", r.cfg.Store.Value)
		r.takeUp(ctx)
	}
	r.fill()
	r.follow()
	return nil
}

// takeUp gives a fresh table the addresses that were published, so that a lost
// store does not renumber a mesh.
func (r *runtime) takeUp(ctx context.Context) {
	if r.cfg.Publish.Value == "" {
		return
	}
	rows, bad := r.publish.published()
	n, refused, err := r.alloc.Adopt(ctx, rows)
	for _, e := range slices.Concat(bad, refused) {
		r.log.Warn("an address that was published is not taken up", "publish", r.cfg.Publish.Value, "error", e)
	}
	if err != nil {
		r.log.Error("the published addresses are not taken up", "publish", r.cfg.Publish.Value, "error", err)
	} else if n > 0 {
		r.log.Info("took up the published addresses", "publish", r.cfg.Publish.Value, "entries", n)
	}
}

// fill brings the whole table into an empty index, and shows it.
func (r *runtime) fill() {
	if r.index.Len() == 0 { // else the commits of takeUp have brought it
		for rows := range slices.Chunk(r.alloc.Rows(), fillBatch) {
			changes := make([]names.Change, len(rows))
			for i, row := range rows {
				changes[i].New = row
			}
			r.tell(r.index.Apply(changes))
		}
	}
	r.showPools()
	s := r.alloc.Stats()
	// The serial of an empty new table: a secondary must not take it for none.
	r.serial.Store(max(s.Meta.Serial, 1))
	r.synced.Store(s.Meta.Synced)
	r.loaded.Store(true)
	r.show(s)
	r.log.Info("table loaded", "store", r.cfg.Store.Value, "id", s.Meta.ID, "entries", s.Entries, "meshes", s.Meshes,
		"serial", r.serial.Load())
}

// showPools lets queries see the pools of the table, sorted.
func (r *runtime) showPools() {
	var prefixes []netip.Prefix
	for _, p := range r.alloc.Pools() {
		prefixes = append(prefixes, p.Prefix)
	}
	slices.SortFunc(prefixes, netip.Prefix.Compare)
	// A retired pool may lie in a new one, or around it.
	prefixes = slices.Compact(prefixes)
	r.pools.Store(&prefixes)
}

// committed publishes what has become durable. The allocator is locked.
func (r *runtime) committed(c allocator.Commit) {
	changes := make([]names.Change, len(c.Rows))
	for i, row := range c.Rows {
		changes[i] = names.Change{Old: row.Old, New: row.New}
	}
	r.tell(r.index.Apply(changes))
	r.serial.Store(max(c.Meta.Serial, 1))
	r.m.commit(c)
	r.publish.changed(c.Meshes, c.MeshesGone)
}

// show brings the state of the table into the metrics.
func (r *runtime) show(s allocator.Stats) {
	r.m.stats(s)
	if r.named.Swap(false) { // counting them scans the hosts and fqdns
		r.m.conflicts.Set(float64(len(r.index.Conflicts())))
	}
}

// tell logs what became of names.
func (r *runtime) tell(events []names.Event) {
	if len(events) > 0 {
		r.named.Store(true)
	}
	for _, e := range events {
		switch e.Kind {
		case names.NameFree:
			r.log.Info(e.String())
		default:
			r.log.Warn(e.String())
		}
	}
}

// apply makes the table what a batch of the source asks for.
func (r *runtime) apply(ctx context.Context, b vip.Batch) error {
	report, err := r.alloc.Apply(ctx, b)
	if err != nil {
		if ctx.Err() == nil {
			r.m.lost.Set(1)
			r.log.Error("the table cannot be written: addresses that were given stay, no new one is given",
				"store", r.cfg.Store.Value, "error", err)
		}
		return err
	}
	r.m.lost.Set(0)
	r.m.report(report)
	r.show(r.alloc.Stats())
	if b.Full {
		r.synced.Store(true)
	}
	r.waiting(report.Exhausted)
	if n := report.Allocated + report.Returned + report.Released; n > 0 {
		r.log.Info("table changed", "allocated", report.Allocated, "returned", report.Returned, "released", report.Released,
			"serial", r.Serial())
	}
	return nil
}

// waiting tells of entries that got no address.
func (r *runtime) waiting(keys []vip.Key) {
	if len(keys) == 0 {
		return
	}
	r.log.Error("the pools are exhausted: entries wait for an address; add a pool, or release entries and wait for the cooldown",
		"waiting", len(keys), "first", keys[0].String())
}

// tick runs the table's clock until ctx is done.
func (r *runtime) tick(ctx context.Context, alloc *allocator.Allocator) {
	t := time.NewTicker(tickInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			r.tickOnce(ctx, alloc)
		}
	}
}

func (r *runtime) tickOnce(ctx context.Context, alloc *allocator.Allocator) {
	if err := alloc.Tick(ctx); err != nil {
		if ctx.Err() == nil {
			r.m.lost.Set(1)
			r.log.Error("the table's clock cannot be written", "error", err)
		}
		return
	}
	r.m.lost.Set(0)
	r.show(alloc.Stats())
}

// follow starts what runs in the background. r.mu is held.
func (r *runtime) follow() {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	alloc := r.alloc
	if err := alloc.SetOptions(ctx, r.options); err != nil {
		r.log.Error("the table cannot be written", "store", r.cfg.Store.Value, "error", err)
	}
	r.done.Go(func() { r.tick(ctx, alloc) })
	p := r.publish
	p.all()
	r.done.Go(func() { p.run(ctx) })
	r.source = follow(r, r.cfg)
}

// openLater tries to open the store again and again until it succeeds or the
// runtime is closed.
func (r *runtime) openLater() {
	ctx, stop := context.WithCancel(context.Background())
	r.mu.Lock()
	r.stop = stop
	r.mu.Unlock()
	r.done.Go(func() {
		pause := backoff.NewExponentialBackOff()
		pause.InitialInterval, pause.MaxInterval = time.Second, openRetry
		for {
			t := time.NewTimer(pause.NextBackOff())
			select {
			case <-ctx.Done():
				t.Stop()
				return
			case <-t.C:
			}
			err := r.open(ctx)
			if err == nil || ctx.Err() != nil {
				return
			}
			r.log.Error("the store cannot be opened: our zones are answered with SERVFAIL until it can", "error", err)
		}
	})
}

// close ends everything that runs and closes the store. The index stays.
func (r *runtime) close() {
	r.mu.Lock()
	stop, source := r.stop, r.source
	r.mu.Unlock()
	if stop != nil {
		stop()
	}
	if source != nil {
		source.end()
	}
	r.done.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.alloc == nil {
		return
	}
	if err := r.alloc.Close(); err != nil {
		r.log.Error("closing the store", "store", r.cfg.Store.Value, "error", err)
	}
	r.alloc = nil
}
