package allocator

import (
	"iter"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// poolPlan is a pool while a plan takes addresses from it.
type poolPlan struct {
	Pool
	// reuse yields released addresses past their cooldown; started on demand.
	reuse func() (netip.Addr, Holding, bool)
	stop  func()
}

// assign gives an address of each family that has a pool to every row of the
// plan that lacks one, and to the entries that have been waiting for one.
//
// First everybody gets back what was theirs, so that no newcomer of the same
// batch takes it. Then those who have waited, then the others, each in the
// order of their keys.
func (p *plan) assign() {
	for _, pool := range p.t.meta.Pools {
		p.pools = append(p.pools, poolPlan{Pool: pool})
	}
	defer p.stopReuse()
	has4, has6 := families(p.t.meta.Pools)
	for _, f := range []struct{ v4, has bool }{{true, has4}, {false, has6}} {
		if !f.has && !p.t.aside {
			continue
		}
		needy := p.needy(f.v4)
		for _, key := range needy {
			p.reclaim(key, p.edits[key], f.v4)
		}
		if f.has {
			p.serve(needy, f.v4)
		}
	}
}

// needy returns the entries of the plan that lack an address of the family:
// waiting ones first, then by key. While nothing is free, those that wait are
// not looked at, or each batch would cost as much as there are of them; but
// other pools may bring back what was theirs.
func (p *plan) needy(v4 bool) []vip.Key {
	queue := p.t.waiting(v4)
	var waiting, fresh []vip.Key
	if len(queue) > 0 && (p.t.otherPools || p.free(v4)) {
		for key := range queue {
			p.edit(key)
		}
	}
	for key, e := range p.edits {
		if len(e.row.Listings) == 0 || hasFamily(e.row, v4) {
			continue
		}
		if _, ok := queue[key]; ok {
			waiting = append(waiting, key)
		} else {
			fresh = append(fresh, key)
		}
	}
	slices.SortFunc(waiting, vip.Key.Compare)
	slices.SortFunc(fresh, vip.Key.Compare)
	return append(waiting, fresh...)
}

// free reports whether some pool has an address of the family to give now.
func (p *plan) free(v4 bool) bool {
	for _, pool := range p.pools {
		if pool.Retired || pool.Prefix.Addr().Is4() != v4 {
			continue
		}
		if at, ok := p.t.released.next(pool.Prefix); pool.Next.IsValid() || ok && at <= p.now-p.cooldown {
			return true
		}
	}
	return false
}

// reclaim gives an entry the address of a family that it had last, if nobody
// has it.
func (p *plan) reclaim(key vip.Key, e *edit, v4 bool) {
	for addr, was := range p.t.released.of(key) {
		// One that was never released is of a row that could not be read.
		if addr.Is4() == v4 && p.addrs[addr] == nil && (p.given(addr) || !was.Released) {
			p.take(key, e, addr, &was, false)
			return
		}
	}
}

// given reports whether addr lies in a pool that is in use. An address that
// the pool would not give out by itself is still its owner's.
func (p *plan) given(addr netip.Addr) bool {
	return slices.ContainsFunc(p.pools, func(q poolPlan) bool { return !q.Retired && q.Prefix.Contains(addr) })
}

// serve gives an address to each of keys that still lacks one of the family,
// until none is left.
func (p *plan) serve(keys []vip.Key, v4 bool) {
	empty := false
	for _, key := range keys {
		e := p.edits[key]
		if hasFamily(e.row, v4) {
			continue
		}
		if !empty {
			empty = !p.next(key, e, v4)
		}
		if empty {
			p.exhausted = append(p.exhausted, key)
		}
	}
}

// next takes the next free address of a family: one that was never used, of
// the first pool that has one; else the longest released past its cooldown.
func (p *plan) next(key vip.Key, e *edit, v4 bool) bool {
	for i := range p.pools {
		if pool := &p.pools[i]; pool.Prefix.Addr().Is4() == v4 && !pool.Retired {
			if addr, ok := p.unused(pool); ok {
				p.take(key, e, addr, nil, true)
				return true
			}
		}
	}
	for i := range p.pools {
		if pool := &p.pools[i]; pool.Prefix.Addr().Is4() == v4 && !pool.Retired {
			if addr, was, ok := p.reusable(pool); ok {
				p.take(key, e, addr, &was, false)
				return true
			}
		}
	}
	return false
}

// unused moves the pool's cursor past the next address that nobody ever had.
// The cursor only goes forward, so that addresses which a taken-over table has
// beyond it are passed once in the pool's life.
func (p *plan) unused(pool *poolPlan) (netip.Addr, bool) {
	for pool.Next.IsValid() {
		addr := pool.Next
		pool.Next = pool.after(addr)
		if p.unheard(addr) {
			return addr, true
		}
	}
	return netip.Addr{}, false
}

// unheard reports whether neither the table nor the plan knows addr.
func (p *plan) unheard(addr netip.Addr) bool {
	if _, ok := p.t.reserved[addr]; ok || p.t.live[addr] != nil || p.addrs[addr] != nil {
		return false
	}
	_, known := p.t.released.byAddr[addr]
	return !known
}

// reusable returns the longest released address of the pool whose cooldown is
// over.
func (p *plan) reusable(pool *poolPlan) (netip.Addr, Holding, bool) {
	if pool.reuse == nil {
		pool.reuse, pool.stop = iter.Pull2(p.t.released.available(pool.Prefix, p.now-p.cooldown))
	}
	for {
		addr, was, ok := pool.reuse()
		if !ok {
			return netip.Addr{}, Holding{}, false
		}
		if p.addrs[addr] == nil && pool.gives(addr) {
			return addr, was, true
		}
	}
}

// stopReuse ends the iterators of the pools.
func (p *plan) stopReuse() {
	for i := range p.pools {
		if p.pools[i].stop != nil {
			p.pools[i].stop()
		}
	}
}

// take gives addr to an entry. was is its holding until now, nil if it is new.
func (p *plan) take(key vip.Key, e *edit, addr netip.Addr, was *Holding, fresh bool) {
	p.addrs[addr] = &AddrChange{Addr: addr, Old: was, New: &Holding{Owner: key}, Fresh: fresh}
	row := *e.row
	if addr.Is4() {
		row.V4 = addr
	} else {
		row.V6 = addr
	}
	e.row = &row
}

// cursors returns the pools as they are after the plan.
func (p *plan) cursors() []Pool {
	pools := make([]Pool, len(p.pools))
	for i, pool := range p.pools {
		pools[i] = pool.Pool
	}
	return pools
}

// hasFamily reports whether row has an address of the family.
func hasFamily(row *vip.Row, v4 bool) bool {
	if v4 {
		return row.V4.IsValid()
	}
	return row.V6.IsValid()
}
