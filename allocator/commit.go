package allocator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator/failpoint"
)

// doubt is a commit that failed, so that nobody knows whether the store has it.
type doubt struct {
	Delta
	was []Pool // the table's pools when it was planned
	// conclude is what is to be done once it turns out to be there.
	conclude func()
}

// metaDelta returns a delta that only writes the meta.
func (a *Allocator) metaDelta() *Delta {
	d := &Delta{Base: a.t.meta.Revision, Meta: a.t.meta}
	d.Meta.Revision++
	d.Meta.Clock = a.clock()
	return d
}

// commit writes a delta part by part: durable, then in the table, then told.
// It calls conclude when all of it is there, or a part for good: what is held
// from then on is what the delta's batch left, and not what the one before it
// did.
func (a *Allocator) commit(ctx context.Context, d *Delta, conclude func()) error {
	if d == nil {
		conclude()
		return nil
	}
	parts := d.split(a.t.meta, a.store.Limits(), a.chunk)
	total := 0
	for _, p := range parts {
		total += len(p.Rows)
	}
	a.t.inParts = len(parts) > 1
	defer func() { a.t.whole() }()
	progress := newProgress(a.cfg.Logger, total)
	for i := range parts {
		err := a.commitPart(ctx, parts[i], conclude)
		if i > 0 && err != nil || i == len(parts)-1 && err == nil {
			conclude()
		}
		if err != nil {
			if i > 0 {
				a.t.findGaps() // what the cursors have passed, and nobody has taken
			}
			return fmt.Errorf("committing %d rows after %d of %d: %w", len(parts[i].Rows), progress.done, total, err)
		}
		progress.add(len(parts[i].Rows))
	}
	return nil
}

// commitPart writes one transaction.
func (a *Allocator) commitPart(ctx context.Context, d Delta, conclude func()) error {
	// What is once begun is finished: its outcome must be known.
	if err := ctx.Err(); err != nil {
		return err
	}
	begin := time.Now()
	failpoint.Hit("before-store")
	if err := a.store.Commit(context.WithoutCancel(ctx), d); err != nil {
		if !errors.Is(err, ErrConflict) {
			a.doubt = &doubt{d, a.t.meta.Pools, conclude}
		}
		return err
	}
	failpoint.Hit("durable")
	a.adopt(d, time.Since(begin))
	return nil
}

// slow is how long a commit may take, from when it was planned until it is known
// to be durable, without the table's clock standing still meanwhile. An ordinary
// disk takes a few milliseconds.
const slow = 50 * time.Millisecond

// adopt takes a durable delta into the table and tells of it.
//
// What it releases is dated when it was planned. Where others follow, they may have
// answered with it until it was durable: of a commit that took long that time does
// not count, or a cooldown would be over too soon.
func (a *Allocator) adopt(d Delta, took time.Duration) {
	if late := a.running() - d.Meta.Clock; a.shared && late > slow {
		a.start += late
	}
	a.t.apply(d)
	a.unread = a.unread || a.t.stirred || len(a.t.wanting) > 0 && len(d.Rows) > 0
	failpoint.Hit("table")
	a.tell(d, took, "")
}

// tell tells of a delta that the table has. why is the reason of moves of which
// no other is known.
func (a *Allocator) tell(d Delta, took time.Duration, why string) {
	a.order.follow(d.Rows)
	c := Commit{Meta: a.t.meta, Rows: d.Rows, Addrs: d.Addrs, Meshes: d.meshes(), MeshesNew: d.MeshesNew, MeshesGone: d.MeshesGone, Took: took}
	for _, change := range d.Addrs {
		change.count(&c.Allocated, &c.Returned, &c.Released)
	}
	c.Moves = a.moved(d, why)
	a.cfg.OnCommit(c)
}

// mayWrite returns an error unless a change may be planned and written: see
// settle.
func (a *Allocator) mayWrite(ctx context.Context) error {
	if !a.closed && a.follows {
		return ErrFollows
	}
	return a.settle(ctx)
}

// settle finds out what became of a commit that failed: the store has it, and
// then the table takes it too, or has not. One that follows has none.
func (a *Allocator) settle(ctx context.Context) error {
	switch {
	case a.closed:
		return ErrClosed
	case a.follows:
		return nil
	case a.reread:
		if err := a.reload(ctx); err != nil {
			return err
		}
	}
	if a.doubt == nil {
		return a.heal(ctx)
	}
	rev, err := a.store.Revision(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("asking the store what became of the last commit: %w", err)
	case rev == a.doubt.Base:
	case rev == a.doubt.Meta.Revision:
		// Configure may have come in between: the delta has the pools of before.
		a.t.setPools(a.doubt.was, a.cfg.Layout)
		a.adopt(a.doubt.Delta, 0)
		a.doubt.conclude()
		a.t.lay(a.cfg.Layout)
	default:
		return fmt.Errorf("the store is at revision %d, want %d or %d: %w", rev, a.doubt.Base, a.doubt.Meta.Revision, ErrConflict)
	}
	a.doubt = nil
	return a.heal(ctx)
}
