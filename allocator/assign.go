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
	*space
	// gap is the range of space.gaps, and at the address in it, that is looked
	// at next.
	gap int
	at  netip.Addr
	// reuse yields released addresses past their cooldown; started on demand.
	reuse func() (netip.Addr, Holding, bool)
	stop  func()
}

// assign gives an address of each family that has a pool to every row of the
// plan that lacks one, and to the entries that have been waiting for one.
//
// First come those that are to have an address of their own, then everybody
// gets back what was theirs, so that no newcomer of the same batch takes it.
// Then those who have waited, then the others, each in the order of their keys.
func (p *plan) assign() {
	has4, has6 := families(p.t.meta.Pools)
	for _, f := range []struct{ v4, has bool }{{true, has4}, {false, has6}} {
		if !f.has {
			p.noteStatics(f.v4)
		}
		retired := slices.ContainsFunc(p.pools, func(q poolPlan) bool { return q.Retired && q.Prefix.Addr().Is4() == f.v4 })
		if !f.has && !retired && !p.t.aside {
			continue
		}
		needy := p.needy(f.v4)
		stuck := make(map[vip.Key]bool) // until its own address has cooled down
		var back []vip.Key              // who waits, and may have what was theirs
		if f.has {
			back = p.assignStatics(needy, f.v4, stuck)
			for key := range p.t.waiting(f.v4).owed {
				if len(p.edit(key).row.Listings) > 0 {
					back = append(back, key)
				}
			}
		}
		for _, key := range slices.Concat(needy, back) {
			// Where no pool of the family is configured, nobody waits for it.
			if e := p.edit(key); lacks(e.row, f.v4) && !stuck[key] && (f.has || e.old == nil) {
				p.reclaim(key, e, f.v4)
			}
		}
		if f.has {
			p.serve(needy, f.v4, stuck)
		}
	}
}

// needy returns the entries of the plan that lack an address of the family, by
// key. Those that wait from before are among them only where the batch names
// them, or where the layout has changed, which may bring back what was theirs:
// or each batch would cost as much as there are of them.
func (p *plan) needy(v4 bool) []vip.Key {
	if p.t.relaid {
		p.t.waiting(v4).keys.Ascend(func(key vip.Key) bool {
			p.edit(key)
			return true
		})
	}
	var needy []vip.Key
	for _, key := range p.keys() {
		e := p.edits[key]
		if _, frozen := p.t.frozen[key]; len(e.row.Listings) > 0 && lacks(e.row, v4) && !frozen {
			needy = append(needy, key)
		}
	}
	return needy
}

// reclaim gives an entry the address of a family that it had last, if nobody
// has it.
func (p *plan) reclaim(key vip.Key, e *edit, v4 bool) {
	for addr, was := range p.t.released.of(key) {
		// One that was never released is of a row that could not be read.
		if addr.Is4() == v4 && p.addrs[addr] == nil && (p.returns(key, addr, was) || !was.Released) {
			p.take(key, e, addr, &was, false)
			return
		}
	}
}

// returns reports whether addr may go back to the entry of key, which had it
// last: an address that the pool would not give out by itself may, also of a
// pool that is drained, or no longer configured and not yet gone.
func (p *plan) returns(key vip.Key, addr netip.Addr, was Holding) bool {
	s := p.t.spaceOf(addr)
	if s == nil || p.given(addr) {
		return false
	}
	if other, ok := p.t.staticOf[addr]; ok && other != key && was.At <= p.now-p.cooldown {
		return false
	}
	_, excluded := within(s.exclude, addr)
	_, reserved := within(s.reserve, addr)
	return !excluded && !reserved
}

// given reports whether Kuma gave addr to an entry, now or by this batch.
func (p *plan) given(addr netip.Addr) bool { return p.t.given[addr] > 0 || p.gives[addr] }

// serve gives an address to those who wait, and to each of keys that still
// lacks one of the family, until none is left.
func (p *plan) serve(keys []vip.Key, v4 bool, stuck map[vip.Key]bool) {
	queue, empty := p.t.waiting(v4), false
	queue.keys.Ascend(func(key vip.Key) bool {
		e := p.edits[key]
		if stuck[key] || e != nil && (len(e.row.Listings) == 0 || !lacks(e.row, v4)) {
			return true
		}
		addr, was, fresh, ok := p.next(v4)
		if empty = !ok; ok {
			p.take(key, p.edit(key), addr, was, fresh)
		}
		return ok
	})
	for _, key := range keys {
		e := p.edits[key]
		if !lacks(e.row, v4) || stuck[key] {
			continue
		}
		if !empty && !queue.has(key) {
			addr, was, fresh, ok := p.next(v4)
			if empty = !ok; ok {
				p.take(key, e, addr, was, fresh)
			}
		}
		if lacks(e.row, v4) {
			p.exhausted = append(p.exhausted, key)
		}
	}
}

// next returns the next free address of a family: one that was never used, of
// the first pool that has one; else one of which it is forgotten who had it;
// else the longest released past its cooldown. fresh is true for the first.
func (p *plan) next(v4 bool) (addr netip.Addr, was *Holding, fresh, ok bool) {
	for stage, from := range []func(*poolPlan) (netip.Addr, *Holding, bool){p.unused, p.skipped, p.reusable} {
		for i := range p.pools {
			if pool := &p.pools[i]; pool.Prefix.Addr().Is4() == v4 && !pool.closed {
				if addr, was, ok := from(pool); ok {
					return addr, was, stage == 0, true
				}
			}
		}
	}
	return netip.Addr{}, nil, false, false
}

// unused moves the pool's cursor past the next address that nobody ever had.
// The cursor only goes forward, so that addresses which a taken-over table has
// beyond it are passed once in the pool's life.
func (p *plan) unused(pool *poolPlan) (netip.Addr, *Holding, bool) {
	for pool.Next.IsValid() {
		addr := pool.Next
		if i, is := rangeOf(pool.blocked, addr); is {
			pool.Next = pool.after(pool.blocked[i].To())
			continue
		}
		pool.Next = pool.after(addr)
		if p.unheard(addr) {
			return addr, nil, true
		}
	}
	return netip.Addr{}, nil, false
}

// skipped returns the next address of the pool's gaps.
func (p *plan) skipped(pool *poolPlan) (netip.Addr, *Holding, bool) {
	for pool.gap < len(pool.gaps) {
		addr, last := pool.at, pool.gaps[pool.gap].To()
		if !addr.IsValid() {
			addr = pool.gaps[pool.gap].From()
		}
		if pool.at = addr.Next(); addr == last {
			pool.gap, pool.at = pool.gap+1, netip.Addr{}
		}
		if p.unheard(addr) {
			return addr, nil, true
		}
	}
	return netip.Addr{}, nil, false
}

// unheard reports whether neither the table nor the plan knows addr.
func (p *plan) unheard(addr netip.Addr) bool {
	if _, ok := p.t.reserved[addr]; ok || p.t.live[addr].row != nil || p.addrs[addr] != nil || p.given(addr) {
		return false
	}
	_, known := p.t.released.byAddr[addr]
	return !known
}

// reusable returns the longest released address of the pool whose cooldown is
// over.
func (p *plan) reusable(pool *poolPlan) (netip.Addr, *Holding, bool) {
	if pool.reuse == nil {
		pool.reuse, pool.stop = iter.Pull2(p.t.released.available(pool.Prefix, p.now-p.cooldown))
	}
	for {
		addr, was, ok := pool.reuse()
		if !ok {
			return netip.Addr{}, nil, false
		}
		if p.addrs[addr] == nil && pool.Pool.gives(addr) && !p.given(addr) {
			return addr, &was, true
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
	now := &Holding{Owner: key, Since: p.unix}
	if was != nil && was.Owner == key && !was.Released {
		now.Since = was.Since // it had it all along
	}
	p.addrs[addr] = &AddrChange{Addr: addr, Old: was, New: now, Fresh: fresh}
	e.row = withAddr(e.row, addr, addr.Is4())
}

// drop takes the address of a family away from an entry: it cools down.
func (p *plan) drop(key vip.Key, e *edit, v4 bool) {
	addr := addrOf(e.row, v4)
	e.row = withAddr(e.row, netip.Addr{}, v4)
	p.giveUp(key, e.old, addr)
}

// giveUp lets addr, which old has, cool down, unless it is not old's alone.
func (p *plan) giveUp(key vip.Key, old *vip.Row, addr netip.Addr) {
	if _, unreadable := p.t.reserved[addr]; unreadable || p.t.live[addr].row != old {
		return
	}
	p.addrs[addr] = &AddrChange{
		Addr: addr,
		Old:  &Holding{Owner: key},
		New:  &Holding{Owner: key, Released: true, At: p.now, Mesh: old.Listings[len(old.Listings)-1].Mesh, Since: p.unix},
	}
}

// withAddr returns row with another address of a family.
func withAddr(row *vip.Row, addr netip.Addr, v4 bool) *vip.Row {
	r := *row
	if v4 {
		r.V4 = addr
	} else {
		r.V6 = addr
	}
	return &r
}

// addrOf returns the address of a family that row has, or the zero Addr.
func addrOf(row *vip.Row, v4 bool) netip.Addr {
	if v4 {
		return row.V4
	}
	return row.V6
}

// hasFamily reports whether row has an address of the family.
func hasFamily(row *vip.Row, v4 bool) bool { return addrOf(row, v4).IsValid() }
