package meshvip

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
	"go4.org/netipx"
)

// parseRange reads a range of addresses as the Corefile writes it: a CIDR, one
// address, or the first and the last address with a hyphen between.
func parseRange(s string) (netipx.IPRange, error) {
	if strings.Contains(s, "/") {
		prefix, err := parsePrefix(s)
		return netipx.RangeOfPrefix(prefix), err
	}
	first, last, ok := strings.Cut(s, "-")
	if !ok {
		last = first
	}
	from, to := parseAddr(first), parseAddr(last)
	switch {
	case !from.IsValid() || !to.IsValid():
		return netipx.IPRange{}, fmt.Errorf("'%s' is not a range of addresses: write it as ADDRESS/BITS, "+
			"as one address, or as FIRST-LAST, for example 240.0.0.1-240.0.0.9", s)
	case from.BitLen() != to.BitLen():
		return netipx.IPRange{}, fmt.Errorf("'%s' begins with an address of one family and ends with one of another: "+
			"write both as IPv4, or both as IPv6", s)
	case to.Less(from):
		return netipx.IPRange{}, fmt.Errorf("'%s' ends before it begins: write \"%v-%v\"", s, to, from)
	}
	return netipx.IPRangeFrom(from, to), nil
}

// parseAddr reads an address that can be a VIP's, the zero Addr if s is none: an
// IPv4 address in IPv6 form is none, nor one with a zone.
func parseAddr(s string) netip.Addr {
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" || addr.Is4In6() {
		return netip.Addr{}
	}
	return addr
}

// writeRange returns r as the Corefile writes it, in the shortest form.
func writeRange(r netipx.IPRange) string {
	if r.From() == r.To() {
		return r.From().String()
	}
	if prefix, ok := r.Prefix(); ok {
		return prefix.String()
	}
	return r.String()
}

// withRange returns ranges and r as the least number of ranges, sorted. Equal
// sets of addresses are equal lists.
func withRange(ranges []netipx.IPRange, r netipx.IPRange) []netipx.IPRange {
	var b netipx.IPSetBuilder
	for _, q := range ranges {
		b.AddRange(q)
	}
	b.AddRange(r)
	set, _ := b.IPSet() // fails for ranges that are none, which parseRange does not give
	return set.Ranges()
}

// givable returns the addresses that a pool of prefix can give out.
func givable(prefix netip.Prefix) netipx.IPRange { return netipx.IPRangeFrom(allocator.Usable(prefix)) }

// contains reports whether all of inner lies in outer.
func contains(outer, inner netipx.IPRange) bool {
	return outer.Contains(inner.From()) && outer.Contains(inner.To())
}
