package names

import (
	"net/netip"
	"strings"
)

// sums are what views will count of services' records, put together beforehand:
// readers may ask for a view's own counts at any time, so these take several times
// as long to change, and each name changes those of all its ancestors.
type sums []sum

// sum is what comes to one view.
type sum struct {
	v      *View
	names  map[string]int32       // names right below a name
	blocks map[netip.Prefix]int32 // addresses in a prefix of the longest that views count
}

func sumsOf(views map[string]*View) sums {
	var all sums
	for _, v := range views {
		all = append(all, sum{v, make(map[string]int32), make(map[netip.Prefix]int32)})
	}
	return all
}

// count counts a record in (n = 1), or out again (n = -1).
func (all sums) count(r *Record, n int32) {
	for _, s := range all {
		if !s.v.showsRecord(r) {
			continue
		}
		var names [2]string
		for _, name := range r.names(names[:0]) {
			if _, above, ok := strings.Cut(name, "."); ok && above != "" {
				s.names[above] += n
			}
		}
		var addrs [2]netip.Addr
		for _, addr := range r.addrs(addrs[:0]) {
			s.blocks[longest(addr)] += n
		}
	}
}

// longest returns the longest prefix of addr that views count the addresses of.
func longest(addr netip.Addr) netip.Prefix {
	bits := addr.BitLen() - bits6
	if addr.Is4() {
		bits = addr.BitLen() - bits4
	}
	return netip.PrefixFrom(addr, bits).Masked()
}

// give brings the views' counts up to the sums.
func (all sums) give() {
	for _, s := range all {
		for name, n := range s.names {
			if n == 0 {
				continue // all were counted out again
			}
			s.v.relative.add(name, n)
			above(name, func(ancestor string) { s.v.relative.add(ancestor, n) })
		}
		for p, n := range s.blocks {
			if n > 0 {
				s.v.blocks.add(p.Addr(), 1) // its shorter prefixes count it once
				s.v.blocks.more(p, n-1)
			}
		}
	}
}

// more counts n addresses more in p, in which there are some.
func (b blocks) more(p netip.Prefix, n int32) {
	switch {
	case n == 0:
	case p.Addr().Is4():
		b.v4.add(key4(p.Addr(), p.Bits()), n)
	default:
		b.v6.add(key6(p.Addr(), p.Bits()), n)
	}
}
