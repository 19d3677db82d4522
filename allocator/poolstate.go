package allocator

import (
	"net/netip"
	"slices"
	"time"

	"go4.org/netipx"
)

// PoolState is how a pool stands. Numbers are of addresses.
type PoolState struct {
	PoolUse
	Drain            bool
	Exclude, Reserve []netipx.IPRange
	// Cooling are those of the Released that nobody but their owner gets.
	Cooling int
	// Next is the address that the pool would give to a newcomer now, the zero
	// Addr if it would give none. One that follows gives none.
	Next netip.Addr
}

// PoolStates returns how all pools stand, in the order in which they are used,
// retired ones last.
func (a *Allocator) PoolStates() []PoolState {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.newPlan(0)
	defer p.stopReuse()
	var states []PoolState
	for i, pool := range a.t.meta.Pools {
		space := &a.t.spaces[i]
		s := PoolState{
			PoolUse: PoolUse{
				Prefix: pool.Prefix, Retired: pool.Retired, Size: space.size,
				Live: a.t.used[pool.Prefix], Released: a.t.released.size(pool.Prefix),
			},
			Drain:   space.closed && !pool.Retired,
			Exclude: slices.Clone(space.exclude), Reserve: slices.Clone(space.reserve),
			Cooling: a.t.released.coolingIn(pool.Prefix, p.now-p.cooldown),
		}
		if !space.closed && !a.follows {
			for _, from := range []func(*poolPlan) (netip.Addr, *Holding, bool){p.unused, p.skipped, p.reusable} {
				if addr, _, ok := from(&p.pools[i]); ok {
					s.Next = addr
					break
				}
			}
		}
		states = append(states, s)
	}
	return states
}

// coolingIn returns how many addresses of pool were released after the given
// time of the table's clock. It looks at those, or at the others: at whichever
// are fewer.
func (r *released) coolingIn(pool netip.Prefix, since time.Duration) int {
	q := r.queues[pool]
	items := q.items[q.head:]
	i, _ := slices.BinarySearchFunc(items, since, func(i queued, at time.Duration) int {
		if i.at <= at {
			return -1
		}
		return 1
	})
	count := func(items []queued) (n int) {
		if q.stale == 0 {
			return len(items)
		}
		for _, item := range items {
			if item.current(r.byAddr) {
				n++
			}
		}
		return n
	}
	if i < len(items)/2 {
		return r.size(pool) - count(items[:i])
	}
	return count(items[i:])
}
