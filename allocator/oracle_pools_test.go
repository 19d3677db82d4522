package allocator_test

import (
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// inPool returns the addresses of a pool that may be given out, in order.
func inPool(p netip.Prefix) (addrs []netip.Addr) {
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		addrs = append(addrs, a)
	}
	if p.Addr().Is4() && p.Bits() <= 30 {
		addrs = addrs[1 : len(addrs)-1]
	}
	return addrs
}

// inRanges reports whether one of ranges has addr.
func inRanges(ranges []netipx.IPRange, addr netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(r netipx.IPRange) bool { return r.Contains(addr) })
}

// merge returns the pools of a table under a layout: the configured ones where
// they stood, then those that are configured no more.
func merge(have []allocator.Pool, l allocator.Layout) []allocator.Pool {
	var pools []allocator.Pool
	for _, r := range l.Pools {
		p := allocator.Pool{Prefix: r.Prefix, Next: inPool(r.Prefix)[0]}
		if i := slices.IndexFunc(have, func(h allocator.Pool) bool { return h.Prefix == r.Prefix }); i >= 0 {
			p.Next = have[i].Next
		}
		pools = append(pools, p)
	}
	for _, h := range have {
		if !slices.ContainsFunc(l.Pools, func(r allocator.Range) bool { return r.Prefix == h.Prefix }) {
			h.Retired = true
			pools = append(pools, h)
		}
	}
	return pools
}

// configured reports whether there is a pool of the family.
func (o *oracle) configured(v4 bool) bool {
	return slices.ContainsFunc(o.layout.Pools, func(r allocator.Range) bool { return r.Prefix.Addr().Is4() == v4 })
}

// rangeOf returns the configured pool that has addr, nil if none has.
func (o *oracle) rangeOf(addr netip.Addr) *allocator.Range {
	i := slices.IndexFunc(o.layout.Pools, func(r allocator.Range) bool { return r.Prefix.Contains(addr) })
	if i < 0 {
		return nil
	}
	return &o.layout.Pools[i]
}

// poolOf returns the number of the pool of the table that has addr, -1 if none
// has. A pool that is configured comes before one that is not.
func (o *oracle) poolOf(addr netip.Addr) int {
	return slices.IndexFunc(o.table, func(p allocator.Pool) bool { return p.Prefix.Contains(addr) })
}

// blocked reports whether addr, in pool r, is not for those who ask for no
// address of their own.
func (o *oracle) blocked(r allocator.Range, addr netip.Addr) bool {
	_, kept := o.keptFor(addr)
	return kept || inRanges(r.Exclude, addr) || inRanges(r.Reserve, addr) || o.quarantined(addr)
}

// next returns the address that somebody without any gets: one beyond the
// cursor of its pool, else one that nobody is known to have had, else the
// longest released; each of the first pool that has one. The zero Addr: none.
func (o *oracle) next(v4 bool, now time.Duration) netip.Addr {
	for _, from := range []func(i int, r allocator.Range, now time.Duration) netip.Addr{o.beyond, o.unknown, o.longest} {
		for i, r := range o.layout.Pools { // they are the first in the table, too
			if r.Drain || r.Prefix.Addr().Is4() != v4 {
				continue
			}
			if addr := from(i, r, now); addr.IsValid() {
				return addr
			}
		}
	}
	return netip.Addr{}
}

// unheard reports whether addr, in pool r, is free and not known to have ever
// been anybody's.
func (o *oracle) unheard(r allocator.Range, addr netip.Addr) bool {
	_, taken := o.holder(addr)
	_, known := o.past[addr]
	return !taken && !known && !o.given[addr] && !o.blocked(r, addr)
}

// beyond moves the cursor of pool i past the next address that is unheard of.
func (o *oracle) beyond(i int, r allocator.Range, _ time.Duration) netip.Addr {
	all := inPool(r.Prefix)
	p := &o.table[i]
	for p.Next.IsValid() {
		addr := p.Next
		if p.Next = addr.Next(); addr == all[len(all)-1] {
			p.Next = netip.Addr{}
		}
		if o.unheard(r, addr) {
			return addr
		}
	}
	return netip.Addr{}
}

// unknown returns the lowest address that the cursor has passed and nobody is
// known to have had.
func (o *oracle) unknown(_ int, r allocator.Range, _ time.Duration) netip.Addr {
	for _, addr := range inPool(r.Prefix) {
		if o.unheard(r, addr) {
			return addr
		}
	}
	return netip.Addr{}
}

// longest returns the longest released address whose cooldown is over.
func (o *oracle) longest(_ int, r allocator.Range, now time.Duration) (best netip.Addr) {
	for _, addr := range inPool(r.Prefix) {
		was, had := o.past[addr]
		if had && o.rested(was, now) && !o.given[addr] && !o.blocked(r, addr) && (!best.IsValid() || was.at < o.past[best].at) {
			best = addr
		}
	}
	return best
}

// used counts the addresses of pool i that somebody has; those that lie in a
// pool before it are not its.
func (o *oracle) used(p allocator.Pool, in *oracle) (n int) {
	for _, row := range o.rows {
		for _, addr := range row.Addrs() {
			if i := in.poolOf(addr); i >= 0 && in.table[i].Prefix == p.Prefix {
				n++
			}
		}
	}
	return n
}

// dropPools drops pools that are configured no more: where nobody has an
// address, had one before the step, or may come back to one; where moves were
// confirmed, where nobody has one.
func (o *oracle) dropPools(was *oracle, now time.Duration, confirmed bool) {
	all := o.clone()
	o.table = slices.DeleteFunc(o.table, func(p allocator.Pool) bool {
		if !p.Retired || o.used(p, all) > 0 {
			return false
		}
		return confirmed || was.used(p, all) == 0 && !was.cools(p, all, now)
	})
}

// cools reports whether an address of pool p cools down.
func (o *oracle) cools(p allocator.Pool, in *oracle, now time.Duration) bool {
	for addr, r := range o.past {
		if i := in.poolOf(addr); i >= 0 && in.table[i].Prefix == p.Prefix && r.at > now-o.cooldown {
			return true
		}
	}
	return false
}

// waiting returns how many entries lack an address of a family.
func (o *oracle) waiting(v4 bool) (keys []vip.Key) {
	for _, key := range o.keys() {
		if lacks(o.rows[key], v4) && o.configured(v4) {
			keys = append(keys, key)
		}
	}
	return keys
}
