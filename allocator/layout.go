package allocator

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// Layout is what a configuration says of addresses: which there are, and which
// of them are not for everybody.
type Layout struct {
	// Pools are the ranges to take addresses from, in order of preference.
	Pools []Range
	// Statics are entries with an address of the operator's choice. An entry has
	// at most one a family, an address at most one entry.
	Statics []Static
}

// Range is a pool as it is configured.
type Range struct {
	Prefix netip.Prefix
	// Exclude are never given out, to nobody.
	Exclude []netipx.IPRange
	// Reserve are given out as static addresses only.
	Reserve []netipx.IPRange
	// Drain: no new address is given out. Those that have one keep it, and who
	// had one gets it back.
	Drain bool
}

// Static is an entry with an address of the operator's choice.
type Static struct {
	Key  vip.Key
	Addr netip.Addr
}

// Ranges returns the layout that has prefixes as its pools and nothing else.
func Ranges(prefixes ...netip.Prefix) Layout {
	var l Layout
	for _, p := range prefixes {
		l.Pools = append(l.Pools, Range{Prefix: p})
	}
	return l
}

// clone returns a copy that shares nothing with l.
func (l Layout) clone() Layout {
	l.Pools, l.Statics = slices.Clone(l.Pools), slices.Clone(l.Statics)
	for i, p := range l.Pools {
		l.Pools[i].Exclude, l.Pools[i].Reserve = slices.Clone(p.Exclude), slices.Clone(p.Reserve)
	}
	return l
}

// equal reports whether l and m say the same in the same order.
func (l Layout) equal(m Layout) bool {
	return slices.Equal(l.Statics, m.Statics) && slices.EqualFunc(l.Pools, m.Pools, func(p, q Range) bool {
		return p.Prefix == q.Prefix && p.Drain == q.Drain &&
			slices.Equal(p.Exclude, q.Exclude) && slices.Equal(p.Reserve, q.Reserve)
	})
}

// Check returns an error that names the first thing in l that cannot be: a pool
// that is unmasked, IPv4-mapped, or overlaps another; a range that does not lie
// in its pool; a static address that nobody can have, or that is stated twice.
func (l Layout) Check() error {
	for i, p := range l.Pools {
		if err := p.check(); err != nil {
			return err
		}
		for _, q := range l.Pools[:i] {
			if p.Prefix.Overlaps(q.Prefix) {
				return fmt.Errorf("pool %v overlaps pool %v", p.Prefix, q.Prefix)
			}
		}
	}
	holders := make(map[netip.Addr]vip.Key, len(l.Statics))
	type seat struct {
		key vip.Key
		v4  bool
	}
	seats := make(map[seat]netip.Addr, len(l.Statics))
	for _, s := range l.Statics {
		if err := l.CheckStatic(s.Addr); err != nil {
			return fmt.Errorf("static address of %v: %w", s.Key, err)
		}
		if other, ok := holders[s.Addr]; ok {
			return fmt.Errorf("static address %v is stated for %v and for %v: an address belongs to one entry", s.Addr, other, s.Key)
		}
		holders[s.Addr] = s.Key
		at := seat{s.Key, s.Addr.Is4()}
		if other, ok := seats[at]; ok {
			return fmt.Errorf("%v has two static addresses of one family, %v and %v: keep one", s.Key, other, s.Addr)
		}
		seats[at] = s.Addr
	}
	return nil
}

func (p Range) check() error {
	prefix := p.Prefix
	switch {
	case !prefix.IsValid() || prefix.Addr().Zone() != "":
		return fmt.Errorf("pool %v is not an address range", prefix)
	case prefix.Addr().Is4In6():
		return fmt.Errorf("pool %v is IPv4 in IPv6: write it as IPv4", prefix)
	case prefix != prefix.Masked():
		return fmt.Errorf("pool %v has bits set beyond its prefix: did you mean %v?", prefix, prefix.Masked())
	}
	for _, r := range slices.Concat(p.Exclude, p.Reserve) {
		if !r.IsValid() || !prefix.Contains(r.From()) || !prefix.Contains(r.To()) {
			return fmt.Errorf("range %v does not lie in pool %v", r, prefix)
		}
	}
	for _, e := range p.Exclude {
		for _, r := range p.Reserve {
			if e.Overlaps(r) {
				return fmt.Errorf("pool %v excludes %v and reserves %v, which overlap", prefix, e, r)
			}
		}
	}
	return nil
}

// CheckStatic returns an error that says why no entry can ask for addr, and
// what to change; nil if one can.
func (l Layout) CheckStatic(addr netip.Addr) error {
	i := slices.IndexFunc(l.Pools, func(p Range) bool { return p.Prefix.Contains(addr) })
	if i < 0 {
		return fmt.Errorf("%v lies in no pool: add a pool that has it, such as \"pool %v/%d\"", addr, addr, addr.BitLen())
	}
	p := l.Pools[i]
	if first, last := Usable(p.Prefix); addr.Less(first) || last.Less(addr) {
		return fmt.Errorf("%v is the network or the broadcast address of pool %v: choose another", addr, p.Prefix)
	}
	for _, r := range p.Exclude {
		if r.Contains(addr) {
			return fmt.Errorf("%v is excluded (%v) from pool %v: choose another, or narrow the exclude", addr, r, p.Prefix)
		}
	}
	return nil
}
