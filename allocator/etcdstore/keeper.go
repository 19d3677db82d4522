package etcdstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// again is the pause before what failed is tried again.
	again = 500 * time.Millisecond
	// mute is how long a watch may say nothing of what etcd is known to have.
	mute = 10 * time.Second
)

// keeper is the goroutine that keeps the table. Of a replica it alone lets the
// table follow, lead or be read again; while a term lasts, whoever leads writes.
type keeper struct {
	*Replica
	next     int64 // the etcd revision that the watch has to tell of next
	events   <-chan clientv3.WatchResponse
	unwatch  context.CancelFunc
	watchers sync.WaitGroup
	rewatch  time.Time     // not before that
	resume   time.Time     // no term begins before that
	since    time.Duration // contacts of before count no more
	etcd     int64         // etcd's own revision, as it was seen last
	waiting  *contact      // what it told has not all come by the watch yet
	// torn says why the table has to be read again; "" where it need not.
	torn string
	told string // the error that was logged last
	seat *seat
	won  time.Duration // when that was heard of
	term *Term
	led  string // the term that this replica has led last, and on the same seat
}

func (k *keeper) run(ctx context.Context) {
	defer k.end()
	retry := time.NewTimer(0)
	defer retry.Stop()
	for ctx.Err() == nil {
		if k.advance(ctx) {
			retry.Stop()
		} else {
			retry.Reset(again)
		}
		var lost, ended <-chan struct{}
		if k.seat != nil {
			lost = k.seat.lost
		}
		if k.term != nil {
			ended = k.term.ended
			if k.term.ctx.Err() != nil {
				lost = nil // it is ending
			}
		}
		select {
		case <-ctx.Done():
		case <-retry.C:
		case resp, ok := <-k.events:
			k.watched(resp, ok)
		case c := <-k.contacts:
			k.contacted(c)
		case s := <-k.seats:
			k.seat, k.won, k.led = s, now(), ""
		case <-lost:
			k.endTerm("")
			k.unseat()
		case <-ended:
			k.stepDown()
		case <-k.doubts:
			k.doubt("a commit was refused")
		}
	}
}

// advance does what can be done now. It reports whether it did: if not, it is
// to be tried again.
func (k *keeper) advance(ctx context.Context) (done bool) {
	if k.term == nil {
		var err error
		switch {
		case k.seat != nil && !k.seat.gone():
			if time.Now().Before(k.resume) {
				return false
			}
			err = k.begin(ctx)
		case k.torn != "":
			err = k.reread(ctx)
		}
		if err != nil {
			k.complain(ctx, err)
			return false
		}
		k.told = ""
	}
	if k.events == nil {
		if time.Now().Before(k.rewatch) {
			return false
		}
		k.watch(ctx)
	}
	return true
}

// complain logs an error once.
func (k *keeper) complain(ctx context.Context, err error) {
	if ctx.Err() == nil && err.Error() != k.told {
		k.told = err.Error()
		k.log.Error("the table cannot be read from etcd: what was read before is answered; trying again", "error", err)
	}
}

// end ends what is under way when the replica ends.
func (k *keeper) end() {
	k.stopWatch()
	if k.term != nil {
		k.term.stop()
		select {
		case t := <-k.terms: // which nobody has taken
			t.End()
		default:
		}
		<-k.term.ended
		k.stepDown()
	}
	k.unseat()
	k.watchers.Wait()
}

// unseat lets go of a lost seat, once nothing is done under it any more.
func (k *keeper) unseat() {
	if k.term != nil || k.seat == nil {
		return
	}
	k.store.setFence(nil)
	close(k.seat.left)
	k.seat, k.led = nil, ""
}

// endTerm ends the term, if one is under way: nothing that it has not sent to
// etcd yet is written any more. why says why the table is not to be trusted.
func (k *keeper) endTerm(why string) {
	if k.term == nil || k.term.ctx.Err() != nil {
		return
	}
	if why != "" {
		k.log.Warn("this replica stops allocating, and reads the table again", "why", why)
	}
	k.store.setFence(nil)
	k.term.stop()
}

// stepDown follows again, after a term has ended.
func (k *keeper) stepDown() {
	k.term.stop()
	k.term = nil
	k.table.StandDown()
	k.torn = "a term has ended"
	if k.hooks.Leads != nil {
		k.hooks.Leads(false)
	}
	if k.seat.gone() {
		k.unseat()
	}
}

// doubt notes that the table may not be what etcd has.
func (k *keeper) doubt(why string) {
	if k.term != nil {
		k.endTerm(why)
		return
	}
	k.torn = why
}

// watch begins a watch, in a goroutine of its own: etcd may not be there.
func (k *keeper) watch(ctx context.Context) {
	ctx, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	events := make(chan clientv3.WatchResponse)
	k.events, k.unwatch = events, stop
	from := k.next
	k.watchers.Go(func() {
		defer close(events)
		defer stop()
		for resp := range k.store.client.Watch(ctx, k.store.prefix, clientv3.WithPrefix(), clientv3.WithRev(from)) {
			select {
			case events <- resp:
			case <-ctx.Done():
				return
			}
		}
	})
}

// stopWatch ends the watch: what comes next is told by another.
func (k *keeper) stopWatch() {
	if k.events != nil {
		k.unwatch()
		k.events, k.unwatch = nil, nil
	}
}

// watched takes over what a watch tells.
func (k *keeper) watched(resp clientv3.WatchResponse, ok bool) {
	if err := resp.Err(); !ok || err != nil {
		k.stopWatch()
		k.rewatch = time.Now().Add(again)
		if resp.CompactRevision != 0 {
			k.doubt("etcd has compacted what the watch had yet to tell")
			k.next = resp.CompactRevision
		}
		if err != nil {
			k.log.Info("the watch on etcd has ended, and is begun again", "error", err)
		}
		if k.hooks.WatchRestarted != nil {
			k.hooks.WatchRestarted()
		}
		return
	}
	for events := resp.Events; len(events) > 0; {
		rev, n := events[0].Kv.ModRevision, 0
		for n < len(events) && events[n].Kv.ModRevision == rev {
			n++
		}
		k.follow(k.ours(events[:n]))
		events, k.next = events[n:], rev+1
		if k.events == nil {
			return // the rest comes again, or is read
		}
	}
}

// ours returns the events of the table's own keys.
func (k *keeper) ours(events []*clientv3.Event) []*clientv3.Event {
	election := k.store.prefix + leaderPrefix + "/"
	own := make([]*clientv3.Event, 0, len(events))
	for _, e := range events {
		if key := string(e.Kv.Key); len(key) < len(election) || key[:len(election)] != election {
			own = append(own, e)
		}
	}
	return own
}

// follow takes one transaction over.
func (k *keeper) follow(events []*clientv3.Event) {
	if len(events) == 0 || k.torn != "" {
		return
	}
	patch, now, err := decodeTxn(k.store.prefix, events)
	if k.term != nil {
		if err != nil || !k.store.owns(now) {
			k.endTerm("somebody else has written to the table in etcd")
		}
		return
	}
	own := k.store.position()
	switch {
	case err != nil:
	case now.rev <= own.rev && now.commit == own.commit:
		return // it was read
	case now.after != own.commit:
		err = errors.New("a transaction does not follow the one before it")
	default:
		err = k.table.Follow(patch)
	}
	if err != nil {
		k.log.Info("what the watch on etcd tells cannot be followed: the table is read again", "error", err)
		k.torn = err.Error()
		return
	}
	k.store.adopted(now)
	if k.waiting != nil && now.rev >= k.waiting.now.rev {
		k.confirm(k.waiting.sent)
		k.waiting = nil
	}
}

// contacted takes over what etcd has answered.
func (k *keeper) contacted(c contact) {
	if c.sent < k.since {
		return // it was another table, or another etcd
	}
	k.verify(c)
	switch {
	case c.revision < k.etcd:
		// A watch for a revision that is still to come says nothing until then.
		k.stopWatch()
		k.doubt("etcd has gone back to an older revision: was it restored from a snapshot?")
	case !c.has(c.before):
		k.doubt("the table in etcd lacks what this replica has: was etcd restored from a snapshot?")
	default:
		k.compare(c)
	}
	k.etcd = c.revision
}

// verify gives the seat up if etcd knows nothing of it: somebody has deleted its
// key.
func (k *keeper) verify(c contact) {
	if k.seat == nil || k.seat.gone() || c.sent < k.won || c.leader == k.seat.rev {
		return
	}
	k.endTerm("etcd does not know that it was elected")
	select {
	case <-k.seat.resigned:
	default:
		close(k.seat.resigned)
	}
}

// compare notes how far the table is behind.
func (k *keeper) compare(c contact) {
	own := k.store.position()
	if k.hooks.Lag != nil {
		k.hooks.Lag(c.now.rev - min(own.rev, c.now.rev))
	}
	switch {
	case k.torn != "":
	case k.term != nil || own.rev >= c.now.rev:
		k.confirm(c.sent)
		k.waiting = nil
	case k.waiting == nil:
		k.waiting = &c
	case c.sent-k.waiting.sent > mute:
		k.stopWatch()
		k.doubt("the watch on etcd says nothing of what etcd has")
	}
}

// has reports whether what etcd has contains the state of p.
func (c *contact) has(p position) bool {
	return !c.none && c.meta.descends(p)
}

// errUnseated is the error of a seat that etcd does not know.
var errUnseated = errors.New("etcd does not know that this replica was elected: has somebody deleted keys?")

// settled reports whether the table has been brought, since p, to what some
// replica remembers. That one may have known less than another: then the rest is
// lost, and not to be answered for longer.
func (c *contact) settled(p position) bool {
	return !c.none && !c.meta.Reconciling && c.meta.Reconciled > p.reconciled
}

// errBack is the error of a table that has gone back.
var errBack = errors.New("the table in etcd lacks what this replica has answered: was etcd restored from a snapshot?" +
	" Answers go on from what this replica has, until one that allocates has brought the table up to date")

// reread reads the table again, unless it has gone back: then what this replica
// has is worth more.
func (k *keeper) reread(ctx context.Context) error {
	c, err := k.ask(ctx)
	if err != nil {
		return err
	}
	own := k.store.position()
	// What was answered a cooldown ago is nobody's any more.
	if own.rev > 0 && !c.has(own) && !c.settled(own) && k.Age() < k.store.cooldownNow() {
		return errBack
	}
	return k.reload(ctx)
}

// reload makes the table what etcd has.
func (k *keeper) reload(ctx context.Context) error {
	sent := now()
	if err := k.table.Reload(ctx); err != nil {
		return err
	}
	k.restart()
	k.confirm(sent)
	return nil
}

// restart lets the watch go on from what was read.
func (k *keeper) restart() {
	k.stopWatch()
	k.next, k.torn, k.waiting, k.since = k.store.loadedAt()+1, "", nil, now()
	if k.hooks.WatchRestarted != nil {
		k.hooks.WatchRestarted()
	}
}

// begin begins a term: the table is what etcd has, or etcd is made what it is.
func (k *keeper) begin(ctx context.Context) error {
	f := k.seat.fence()
	k.store.setFence(f)
	if err := k.prepare(ctx); err != nil {
		k.store.setFence(nil)
		k.table.StandDown()
		return err
	}
	k.table.Lead()
	k.led = f.term
	k.resume = time.Now().Add(again) // what makes it end may do so again
	t := &Term{ended: make(chan struct{})}
	t.ctx, t.stop = context.WithCancel(ctx)
	k.term = t
	k.log.Info("this replica was elected: it allocates", "replica", k.store.cfg.Name, "revision", k.store.position().rev)
	if k.hooks.Leads != nil {
		k.hooks.Leads(true)
	}
	k.terms <- t
	return nil
}

// lostAtMost is how many addresses of a pool are taken to have been given out
// unseen, where etcd has gone back and this replica was not the last to allocate:
// what had not come by its watch.
const lostAtMost = 1024

// prepare makes the table fit to be led.
func (k *keeper) prepare(ctx context.Context) error {
	c, err := k.ask(ctx)
	if err != nil {
		return err
	}
	if k.verify(c); c.leader != k.seat.rev {
		return errUnseated
	}
	own := k.store.position()
	switch {
	case own.rev > 0 && !c.has(own) && !c.settled(own):
		lost := uint64(lostAtMost)
		if k.led != "" && own.term == k.led {
			lost = 0
		}
		return k.reconcile(ctx, lost)
	case k.torn == "" && c.now.commit == own.commit && c.now.rev == own.rev:
		k.confirm(c.sent)
		return nil
	}
	return k.reload(ctx)
}

// reconcile makes the store what this replica remembers. Others go on by what they
// have until all of it is there, so that no name is gone for a moment.
func (k *keeper) reconcile(ctx context.Context, lost uint64) error {
	was := k.store.position()
	k.table.Lead()
	k.store.reconciling.Store(true)
	defer k.store.reconciling.Store(false)
	table, ok := k.table.(interface {
		Reconcile(ctx context.Context, lost uint64) (allocator.Restored, error)
	})
	if !ok {
		return errBack
	}
	if _, err := table.Reconcile(ctx, lost); err != nil {
		return err
	}
	k.store.reconciling.Store(false)
	if err := k.store.conclude(ctx, was); err != nil {
		return err
	}
	k.restart()
	return nil
}

var _ Table = (*allocator.Allocator)(nil)
