package meshvip

import (
	"cmp"
	"net/netip"
	"slices"
	"unsafe"

	"github.com/meshvip/coredns-meshvip/names"
	"github.com/miekg/dns"
)

// zone is one apex that a block answers for.
type zone struct {
	name string // lower case, fully qualified
	// prefix is the range of a reverse zone, and the zero Prefix of a forward
	// one.
	prefix netip.Prefix
	// server is the name of the zone's name server, which is reserved, and
	// mailbox the address of who answers for the zone (RFC 1035, 3.3.13).
	server, mailbox string
	// parent is the nearest reverse zone that this one lies in, nil if none.
	parent *zone
	// requests counts by server and result.
	requests counters
}

// newZone returns the zone called name, whose range is p if it is a reverse one.
func newZone(name string, p netip.Prefix) *zone {
	return &zone{name: name, prefix: p, server: below("ns.dns.", name), mailbox: below("hostmaster.", name)}
}

// below returns the name of labels, which end in a dot, below zone.
func below(labels, zone string) string {
	if zone == "." {
		return labels
	}
	return labels + zone
}

// zoneSet holds the zones of a block and what is derived from them. It is
// immutable, and made anew when the pools change.
type zoneSet struct {
	pools   []netip.Prefix
	forward []*zone // the longest name first
	reverse []*zone // by address, then the larger range first
	// given are where addresses that Kuma gave are looked for beside: the ranges
	// that the block lists, or everywhere. They are not zones of ours.
	given []*zone // in the order of reverse
	// ns holds the names of the zones' name servers.
	ns map[string]struct{}
	// empty holds names that exist only because one of ours lies below them:
	// dns.ZONE, and what is between a zone and a longer one inside it.
	empty map[string]struct{}
}

// newZoneSet returns the zones of a block that answers for the given forward
// zones, and for the pools' reverse zones: inside the ranges that the block
// lists, if it lists any. pools must not be modified afterwards.
func newZoneSet(forward []string, listed, pools []netip.Prefix) *zoneSet {
	s := &zoneSet{pools: pools, ns: make(map[string]struct{}), empty: make(map[string]struct{})}
	for _, name := range forward {
		s.forward = append(s.forward, newZone(name, netip.Prefix{}))
	}
	slices.SortStableFunc(s.forward, func(a, b *zone) int { return cmp.Compare(len(b.name), len(a.name)) })
	for _, p := range reverseRanges(listed, pools) {
		s.reverse = append(s.reverse, newZone(reverseZone(p), p))
	}
	if len(listed) == 0 {
		listed = []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
	}
	for _, p := range slices.SortedFunc(slices.Values(listed), compareRanges) {
		s.given = append(s.given, newZone(reverseZone(p), p))
	}
	for _, zones := range [][]*zone{s.reverse, s.given} {
		for i, z := range zones {
			z.parent = enclosing(zones[:i], z.prefix)
		}
	}
	for _, z := range slices.Concat(s.forward, s.reverse) {
		s.ns[z.server] = struct{}{}
		s.empty[below("dns.", z.name)] = struct{}{}
		s.addAncestors(z.name)
	}
	return s
}

// addAncestors adds the names between the zone called name and the zone of ours
// that it lies in, if any.
func (s *zoneSet) addAncestors(name string) {
	var between []string
	inside := false
	for off, end := dns.NextLabel(name, 0); !end && !inside; off, end = dns.NextLabel(name, off) {
		if inside = s.has(name[off:]); !inside {
			between = append(between, name[off:])
		}
	}
	if !inside && !s.has(".") {
		return
	}
	for _, b := range between {
		s.empty[b] = struct{}{}
	}
}

// has reports whether one of the zones is called name.
func (s *zoneSet) has(name string) bool {
	is := func(z *zone) bool { return z.name == name }
	return slices.ContainsFunc(s.forward, is) || slices.ContainsFunc(s.reverse, is)
}

// of reports whether the set was made of this very slice of pools.
func (s *zoneSet) of(pools []netip.Prefix) bool {
	return len(s.pools) == len(pools) && unsafe.SliceData(s.pools) == unsafe.SliceData(pools)
}

// match returns the longest zone that covers a lower-case name, nil if there is
// none. Names of the reverse trees are covered by reverse zones only, even where
// the root is one of ours: outside the pools they are somebody else's.
func (s *zoneSet) match(name string) (*zone, reverseName) {
	if rn, ok := parseReverse(name); ok {
		return enclosing(s.reverse, rn.prefix), rn
	}
	for _, z := range s.forward {
		if covers(z.name, name) {
			return z, reverseName{}
		}
	}
	return nil, reverseName{}
}

// giftOf returns the range that the name of an address lies in which Kuma gave to
// an entry, outside the pools; nil if it is none. Only its PTR is ours to answer:
// the zone is somebody else's.
func (s *zoneSet) giftOf(v *names.View, rn reverseName, qtype uint16) *zone {
	addr, ok := rn.address()
	if qtype != dns.TypePTR || !ok {
		return nil
	}
	if r := v.Reverse(addr); r == nil || !slices.Contains(r.Row.Given(), addr) {
		return nil
	}
	return enclosing(s.given, rn.prefix)
}

// enclosing returns the smallest of the zones that p lies in, or equals.
func enclosing(zones []*zone, p netip.Prefix) *zone {
	// The last zone that does not come after p is inside the one that is looked
	// for, or is it: whatever lies between them in this order lies in it.
	low, high := 0, len(zones)
	for low < high {
		if mid := (low + high) / 2; compareRanges(zones[mid].prefix, p) > 0 {
			high = mid
		} else {
			low = mid + 1
		}
	}
	if low == 0 {
		return nil
	}
	for z := zones[low-1]; z != nil; z = z.parent {
		if z.prefix.Bits() <= p.Bits() && z.prefix.Contains(p.Addr()) {
			return z
		}
	}
	return nil
}

// compareRanges orders ranges by address, and the larger first.
func compareRanges(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

// reverseRanges returns the ranges of the reverse zones: the pools, split at
// label boundaries, as far as they lie in the listed ranges. A listed range
// inside a pool is a zone of its own.
func reverseRanges(listed, pools []netip.Prefix) []netip.Prefix {
	var ranges []netip.Prefix
	for _, pool := range pools {
		for _, p := range boundaries(pool) {
			if len(listed) == 0 {
				ranges = append(ranges, p)
			}
			for _, l := range listed {
				switch {
				case !l.Overlaps(p):
				case l.Bits() > p.Bits():
					ranges = append(ranges, l)
				default:
					ranges = append(ranges, p)
				}
			}
		}
	}
	slices.SortFunc(ranges, compareRanges)
	return slices.Compact(ranges)
}
