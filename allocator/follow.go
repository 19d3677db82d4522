package allocator

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// othersMove is why an entry has another address, as far as one knows that follows.
const othersMove = "another replica moved it"

// Follow takes over what another has committed: it is in the table, and OnCommit
// is told, as with a commit of one's own. It returns ErrConflict, and the table is
// what it was, if the patch does not follow the table, or does not go together
// with it: Reload then. The patch is the allocator's from now on.
func (a *Allocator) Follow(p Patch) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return ErrClosed
	case !a.follows:
		return errors.New("following another's commit: this replica allocates itself: let it stand down first")
	case a.broken:
		return fmt.Errorf("following revision %d: the table breaks invariants, and is not shown as the store has it: %w", p.Meta.Revision, ErrConflict)
	}
	d, err := a.t.deltaOf(p)
	if err != nil {
		return fmt.Errorf("following revision %d: %w: %w", p.Meta.Revision, err, ErrConflict)
	}
	for _, c := range d.Rows {
		a.noteLoss(c, othersMove)
	}
	a.t.follow(d)
	a.base, a.start = d.Meta.Clock, a.cfg.Running()
	a.tell(d, 0, othersMove)
	return nil
}

// noteLoss notes the address that an entry loses before it gets another, so that
// its move can be told then, and why.
func (a *Allocator) noteLoss(c RowChange, why string) {
	if c.Old == nil || c.New == nil || len(c.New.Given()) > 0 {
		return
	}
	for _, v4 := range []bool{true, false} {
		if from := addrOf(c.Old, v4); from.IsValid() && !hasFamily(c.New, v4) {
			a.whys[seat{c.Key, v4}] = Move{Key: c.Key, From: from, Why: why}
		}
	}
}

// follow changes the table by what another has committed, who may have had other
// pools, and may have released addresses long ago.
func (t *table) follow(d Delta) {
	same := func(p, q Pool) bool { return p.Prefix == q.Prefix && p.Retired == q.Retired }
	if !slices.EqualFunc(t.meta.Pools, d.Meta.Pools, same) {
		// Those that are dropped are there until nobody is in them.
		pools := slices.Clone(d.Meta.Pools)
		for _, p := range t.meta.Pools {
			if !slices.ContainsFunc(pools, func(q Pool) bool { return q.Prefix == p.Prefix }) {
				p.Retired = true
				pools = append(pools, p)
			}
		}
		t.setPools(pools, layoutOf(d.Meta.Pools))
	}
	inOrder := t.releasesLast(d.Addrs)
	t.apply(d)
	if !inOrder {
		t.released.queue(t)
	}
}

// releasesLast reports whether what is released is released later than anything
// that the table has, and all of it at once.
func (t *table) releasesLast(changes []AddrChange) bool {
	var at *time.Duration
	for _, c := range changes {
		if c.New == nil || !c.New.Released {
			continue
		}
		if at != nil {
			if c.New.At != *at {
				return false
			}
			continue
		}
		at = &c.New.At
		for _, s := range t.spaces {
			if last, ok := t.released.latest(s.prefix); ok && last >= *at {
				return false
			}
		}
	}
	return true
}
