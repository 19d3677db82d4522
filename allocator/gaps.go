package allocator

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// findGaps fills the gaps of every space. Where nothing was skipped or
// forgotten it only counts; else it sorts the known addresses of the pool.
func (t *table) findGaps() {
	known := make([]int, len(t.spaces)) // below the cursor and not blocked
	t.eachKnown(func(i int, addr netip.Addr) {
		if t.belowCursor(i, addr) {
			if !t.spaces[i].blocks(addr) {
				known[i]++
			}
		}
	})
	some := make(map[int][]netip.Addr)
	for i := range t.spaces {
		t.spaces[i].gaps = nil
		if n, ok := t.giveable(i); !t.meta.Pools[i].Retired && (!ok || n != uint64(known[i])) {
			some[i] = make([]netip.Addr, 0, known[i])
		}
	}
	if len(some) == 0 {
		return
	}
	t.eachKnown(func(i int, addr netip.Addr) {
		if addrs, ok := some[i]; ok && t.belowCursor(i, addr) {
			some[i] = append(addrs, addr)
		}
	})
	for i, addrs := range some {
		slices.SortFunc(addrs, netip.Addr.Compare)
		t.spaces[i].gaps = t.between(i, addrs)
	}
}

// eachKnown calls f for every address of a pool that somebody has, had, or
// cannot be told to have, with the number of its space.
func (t *table) eachKnown(f func(space int, addr netip.Addr)) {
	visit := func(addr netip.Addr) {
		if i := t.spaceAt(addr); i >= 0 {
			f(i, addr)
		}
	}
	for addr := range t.live {
		visit(addr)
	}
	for addr := range t.released.byAddr {
		if t.live[addr].row == nil {
			visit(addr)
		}
	}
	for addr := range t.reserved {
		if _, had := t.released.byAddr[addr]; t.live[addr].row == nil && !had {
			visit(addr)
		}
	}
}

// belowCursor reports whether the cursor of space i has passed addr.
func (t *table) belowCursor(i int, addr netip.Addr) bool {
	p := t.meta.Pools[i]
	first, last := Usable(p.Prefix)
	if addr.Less(first) || last.Less(addr) {
		return false
	}
	return !p.Next.IsValid() || addr.Less(p.Next)
}

// giveable returns how many addresses below the cursor of space i are not
// blocked, and whether that is a number that fits.
func (t *table) giveable(i int) (n uint64, ok bool) {
	first, end := t.passed(i)
	if !first.IsValid() {
		return 0, true
	}
	if n, ok = distance(first, end); !ok {
		return 0, false
	}
	n++
	for _, r := range t.spaces[i].blocked {
		from, to := r.From(), r.To()
		if from.Less(first) {
			from = first
		}
		if end.Less(to) {
			to = end
		}
		if to.Less(from) {
			continue
		}
		m, ok := distance(from, to)
		if !ok {
			return 0, false
		}
		n -= m + 1
	}
	return n, true
}

// passed returns the first and the last address of space i that its cursor has
// passed, zero ones where it has passed none.
func (t *table) passed(i int) (first, last netip.Addr) {
	p := t.meta.Pools[i]
	first, last = Usable(p.Prefix)
	if !p.Next.IsValid() {
		return first, last
	}
	if p.Next == first {
		return netip.Addr{}, netip.Addr{}
	}
	return first, p.Next.Prev()
}

// distance returns b - a for a ≤ b of one family, and whether it fits.
func distance(a, b netip.Addr) (uint64, bool) {
	x, y := a.As16(), b.As16()
	lo, borrow := bits.Sub64(binary.BigEndian.Uint64(y[8:]), binary.BigEndian.Uint64(x[8:]), 0)
	hi, _ := bits.Sub64(binary.BigEndian.Uint64(y[:8]), binary.BigEndian.Uint64(x[:8]), borrow)
	return lo, hi == 0 && lo < 1<<63
}

// between returns what lies below the cursor of space i and is neither one of
// addrs, which are sorted, nor blocked.
func (t *table) between(i int, addrs []netip.Addr) []netipx.IPRange {
	first, last := t.passed(i)
	if !first.IsValid() {
		return nil
	}
	var gaps []netipx.IPRange
	blocked := t.spaces[i].blocked
	free := func(from, to netip.Addr) { // without what is blocked
		for _, b := range blocked {
			if b.To().Less(from) {
				continue
			}
			if to.Less(b.From()) {
				break
			}
			if from.Less(b.From()) {
				gaps = append(gaps, netipx.IPRangeFrom(from, b.From().Prev()))
			}
			if !b.To().Less(to) {
				return
			}
			from = b.To().Next()
		}
		gaps = append(gaps, netipx.IPRangeFrom(from, to))
	}
	from := first
	for _, a := range addrs {
		// Blocked ranges that lie behind are not looked at again.
		for len(blocked) > 0 && blocked[0].To().Less(from) {
			blocked = blocked[1:]
		}
		if from.Less(a) {
			free(from, a.Prev())
		}
		if a == last {
			return gaps
		}
		from = a.Next()
	}
	free(from, last)
	return gaps
}

// fill takes addr, which somebody has now, out of the gaps.
func (s *space) fill(addr netip.Addr) {
	i, ok := rangeOf(s.gaps, addr)
	if !ok {
		return
	}
	r := s.gaps[i]
	switch {
	case r.From() == r.To():
		if i == 0 { // as a rule: gaps are taken from the front
			s.gaps = s.gaps[1:]
			return
		}
		s.gaps = slices.Delete(s.gaps, i, i+1)
	case addr == r.From():
		s.gaps[i] = netipx.IPRangeFrom(addr.Next(), r.To())
	case addr == r.To():
		s.gaps[i] = netipx.IPRangeFrom(r.From(), addr.Prev())
	default:
		s.gaps[i] = netipx.IPRangeFrom(addr.Next(), r.To())
		s.gaps = slices.Insert(s.gaps, i, netipx.IPRangeFrom(r.From(), addr.Prev()))
	}
}

// open makes gaps of free addresses of space i, which are sorted.
func (t *table) open(i int, addrs []netip.Addr) {
	s := &t.spaces[i]
	fresh := make([]netipx.IPRange, 0, len(addrs))
	for _, a := range addrs {
		if s.blocks(a) || !t.belowCursor(i, a) {
			continue
		}
		fresh = append(fresh, netipx.IPRangeFrom(a, a))
	}
	// Both are sorted, and no address is in both.
	merged := make([]netipx.IPRange, 0, len(s.gaps)+len(fresh))
	for g, f := s.gaps, fresh; len(g) > 0 || len(f) > 0; {
		var r netipx.IPRange
		if len(f) == 0 || len(g) > 0 && g[0].From().Less(f[0].From()) {
			r, g = g[0], g[1:]
		} else {
			r, f = f[0], f[1:]
		}
		if n := len(merged); n > 0 && merged[n-1].To().Next() == r.From() {
			merged[n-1] = netipx.IPRangeFrom(merged[n-1].From(), r.To())
		} else {
			merged = append(merged, r)
		}
	}
	s.gaps = merged
}

// reopen makes addresses that are forgotten, or that Kuma gives no more, ours
// again: gaps, where a cursor has passed them, or their last owner's, who may
// wait for them.
func (t *table) reopen(addrs []netip.Addr) {
	if len(addrs) == 0 {
		return
	}
	free := make(map[int][]netip.Addr)
	slices.SortFunc(addrs, netip.Addr.Compare)
	for _, a := range slices.Compact(addrs) {
		i := t.spaceAt(a)
		if _, reserved := t.reserved[a]; i < 0 || reserved || t.given[a] > 0 || t.live[a].row != nil {
			continue
		}
		if h, known := t.released.byAddr[a]; known {
			t.waiting(a.Is4()).owe(h.Owner)
		} else if _, gap := rangeOf(t.spaces[i].gaps, a); !gap && !t.meta.Pools[i].Retired {
			free[i] = append(free[i], a)
		}
	}
	for i, addrs := range free {
		t.open(i, addrs)
	}
}
