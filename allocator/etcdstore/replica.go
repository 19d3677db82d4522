package etcdstore

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// Table is what a replica keeps in step with the store: an
// [allocator.Allocator] that was opened on it as a follower.
type Table interface {
	Follow(allocator.Patch) error
	Reload(context.Context) error
	Reconcile(ctx context.Context, lost uint64) (allocator.Restored, error)
	Lead()
	StandDown()
}

// Hooks are told what becomes of a replica, from its goroutines. Each may be nil.
type Hooks struct {
	// Leads: the replica allocates from now on, or no more.
	Leads func(bool)
	// Lag is by how many revisions the table was behind when etcd was asked last.
	Lag func(revisions uint64)
	// WatchRestarted: the table was read again, or the watch begun anew.
	WatchRestarted func()
}

// Replica keeps a table in step with its store, and says when this process is the
// one that allocates. It follows the store by a watch, reads it again whenever
// the watch cannot tell the whole, and stands for election if it is a candidate.
//
// What goes wrong while it leads ends the term, and not the seat: the table is
// read again, and a new term begins. So there is one way into a term, and what
// it begins with is what etcd has.
type Replica struct {
	id    string // of its own
	store *Store
	table Table
	hooks Hooks
	log   *slog.Logger

	candidate candidacy
	seats     chan *seat
	contacts  chan contact
	terms     chan *Term
	doubts    chan struct{} // has one where the table may not be the store's

	fresh    atomic.Int64 // when contact was confirmed last, of now
	cooldown atomic.Int64
	leader   atomic.Pointer[string]
}

// NewReplica returns the replica of a table that was loaded from store after
// loading began.
func NewReplica(store *Store, table Table, loading time.Time, hooks Hooks) *Replica {
	r := &Replica{
		id: rand.Text(), store: store, table: table, hooks: hooks, log: store.log,
		seats: make(chan *seat), contacts: make(chan contact), terms: make(chan *Term, 1), doubts: make(chan struct{}, 1),
	}
	r.confirm(now() - time.Since(loading))
	none := ""
	r.leader.Store(&none)
	return r
}

// Term is the time in which this replica allocates.
type Term struct {
	ctx   context.Context
	stop  context.CancelFunc
	ended chan struct{}
	once  sync.Once
}

// Context is done when the replica must allocate no more. The store refuses its
// writes from then on.
func (t *Term) Context() context.Context { return t.ctx }

// End says that nothing allocates any more.
func (t *Term) End() { t.once.Do(func() { close(t.ended) }) }

// Terms yields the terms in which this replica allocates, one after the other.
// Whoever gets one calls its End when its context is done.
func (r *Replica) Terms() <-chan *Term { return r.terms }

// Stand says whether the replica is a candidate. At first it is not.
func (r *Replica) Stand(is bool) { r.candidate.allocate(is) }

// Doubt says that the table may not be what the store has, because a commit was
// refused.
func (r *Replica) Doubt() {
	select {
	case r.doubts <- struct{}{}:
	default:
	}
}

// Age is how long ago the table was known to be what etcd has. It is counted
// from when etcd was asked, so that what was committed before is in the table.
func (r *Replica) Age() time.Duration {
	return now() - time.Duration(r.fresh.Load())
}

// Leader is the name of the replica that allocates, as etcd was asked last; ""
// where none does, or where that was so long ago that its lease may be over.
func (r *Replica) Leader() string {
	if r.Age() > r.store.cfg.Lease+mute {
		return ""
	}
	return *r.leader.Load()
}

// Cooldown is that of the replica that allocates, as etcd was asked last; 0 where
// it is not known.
func (r *Replica) Cooldown() time.Duration { return time.Duration(r.cooldown.Load()) }

// confirm notes that the table is what etcd had at that time, of now.
func (r *Replica) confirm(at time.Duration) { r.fresh.Store(max(r.fresh.Load(), int64(at))) }

// Run works until ctx is done, and all that it has begun has ended. Terms that are
// under way end first: their End is waited for.
func (r *Replica) Run(ctx context.Context) {
	var done sync.WaitGroup
	defer done.Wait()
	done.Go(func() { r.elect(ctx) })
	done.Go(func() { r.poll(ctx) })
	k := &keeper{Replica: r, next: r.store.loadedAt() + 1}
	k.run(ctx)
}
