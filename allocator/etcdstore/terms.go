package etcdstore

import (
	"context"
	"errors"
	"time"
)

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

// verify gives the seat up if etcd knows nothing of it, because somebody has
// deleted its key, or if another replica knows what etcd has lost.
func (k *keeper) verify(c contact) {
	if k.seat == nil || k.seat.gone() || c.sent < k.won {
		return
	}
	if c.leader != k.seat.rev {
		k.endTerm("etcd does not know that it was elected")
		k.resign()
		return
	}
	if o := c.better(k.id, k.store.position()); o != nil {
		k.endTerm("replica " + o.Replica + " has answered what the table in etcd lacks")
		k.resign()
	}
}

// resign gives the seat up: others are elected.
func (k *keeper) resign() {
	if !k.seat.given() {
		close(k.seat.resigned)
	}
}

// hearing is how long etcd must have answered before a term begins, so that
// whoever has claims has made them: etcd may have been put back to an older
// state, and this replica may not know.
const hearing = 2 * askEvery

// errHearing is the error of a term that has to wait.
var errHearing = errors.New("other replicas may have claims")

// errUnseated is the error of a seat that etcd does not know.
var errUnseated = errors.New("etcd does not know that this replica was elected: has somebody deleted keys?")

// begin begins a term: the table is what etcd has, or etcd is made what it is.
func (k *keeper) begin(ctx context.Context) error {
	f := k.seat.fence()
	k.store.setFence(f)
	if err := k.prepare(ctx); err != nil {
		k.store.setFence(nil)
		k.table.StandDown()
		return err
	}
	if !k.candidate.allocating() { // all that it stood for is done
		k.store.setFence(nil)
		k.table.StandDown()
		k.torn = "etcd has what it lacked"
		k.resign()
		return nil
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
	switch k.verify(c); {
	case c.leader != k.seat.rev:
		return errUnseated
	case k.seat.given():
		return errHearing // somebody else is to be
	case k.steady == 0 || c.sent-k.steady < hearing:
		return errHearing
	}
	own := k.store.position()
	switch {
	case c.lacks(own):
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
	if _, err := k.table.Reconcile(ctx, lost); err != nil {
		return err
	}
	if err := k.store.conclude(ctx, was); err != nil {
		return err
	}
	k.restart()
	return k.store.settle(ctx)
}
