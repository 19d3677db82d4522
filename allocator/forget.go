package allocator

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

const (
	// rememberAtLeast is how many past owners are remembered in a small table.
	rememberAtLeast = 100_000
	// forgetMost bounds how many are forgotten in one transaction.
	forgetMost = 10_000
)

// forget lets go of who had an address long ago: of past owners the table keeps
// as many as it has entries, or Config.Forget, whichever is more.
func (a *Allocator) forget(ctx context.Context) error {
	keep := max(a.cfg.Forget, len(a.t.rows))
	if len(a.t.released.byAddr) <= keep {
		return nil
	}
	before := a.clock() - a.cfg.Cooldown
	n := min(a.t.released.countPast(before)-keep, forgetMost)
	if n <= 0 {
		return nil
	}
	d := a.metaDelta()
	for _, h := range a.t.released.past(before, n) {
		d.Addrs = append(d.Addrs, AddrChange{Addr: h.Addr, Old: &h.Holding})
	}
	slices.SortFunc(d.Addrs, func(a, b AddrChange) int { return a.Addr.Compare(b.Addr) })
	if err := a.commit(ctx, d, func() {}); err != nil {
		return fmt.Errorf("forgetting %d past owners: %w", n, err)
	}
	return nil
}

// countPast counts the addresses that were released at or before the given time of
// the table's clock. It does not walk over all of them: a table that has as many past
// owners as it may is asked at every tick.
func (r *released) countPast(before time.Duration) int {
	n := 0
	for prefix := range r.queues {
		n += r.size(prefix) - r.coolingIn(prefix, before)
	}
	for addr := range r.lone {
		if h := r.byAddr[addr]; h.Released && h.At <= before {
			n++
		}
	}
	return n
}

// past returns the first n of the addresses that were released at or before the
// given time of the table's clock, the longest released first.
func (r *released) past(before time.Duration, n int) []Held {
	var old []Held
	for prefix := range maps.Keys(r.queues) {
		left := n
		for addr, h := range r.available(prefix, before) {
			if left == 0 {
				break
			}
			left--
			old = append(old, Held{addr, h})
		}
	}
	for addr := range r.lone {
		if h := r.byAddr[addr]; h.Released && h.At <= before {
			old = append(old, Held{addr, h})
		}
	}
	slices.SortFunc(old, compareReleased)
	return old[:min(n, len(old))]
}

// forgetOwner keeps addr from its last owner: it is nobody's.
func (r *released) forgetOwner(t *table, addr netip.Addr) {
	if _, ok := r.byAddr[addr]; ok {
		r.remove(t, addr)
	}
}
