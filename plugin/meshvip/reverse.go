package meshvip

import (
	"net/netip"
	"strconv"
	"strings"
)

const (
	in4 = "in-addr.arpa." // RFC 1035, 3.5
	in6 = "ip6.arpa."     // RFC 3596, 2.5
)

// reverseName is what a name of the reverse trees says.
type reverseName struct {
	// prefix is the range that the labels stand for which are an address's
	// octets or nibbles, counted from the right. It is whole where the name is
	// that of one address.
	prefix netip.Prefix
	// rest: labels stand before those. The name is then no address's, nor an
	// ancestor of one.
	rest bool
}

// address returns the address that the name is of, if it is one's.
func (r reverseName) address() (netip.Addr, bool) {
	return r.prefix.Addr(), !r.rest && r.prefix.IsSingleIP()
}

// parseReverse reads a lower-case, fully qualified name. ok is false where it
// is in neither reverse tree. Octets with leading zeros, and anything else that
// is not the one spelling of an address, are no address's.
func parseReverse(name string) (rn reverseName, ok bool) {
	switch {
	case covers(in4, name):
		return parseOctets(name[:len(name)-len(in4)]), true
	case covers(in6, name):
		return parseNibbles(name[:len(name)-len(in6)]), true
	}
	return reverseName{}, false
}

// parseOctets reads what stands before in-addr.arpa., final dot included, from
// its end, which is where an address begins.
func parseOctets(s string) reverseName {
	var octets [4]byte
	n := 0
	for n < len(octets) && s != "" {
		dot := len(s) - 1
		start, octet := dot, 0
		for unit := 1; start > 0 && s[start-1]-'0' <= 9 && unit <= 100; unit *= 10 {
			start--
			octet += unit * int(s[start]-'0')
		}
		if start == dot || octet > 255 || s[start] == '0' && dot-start > 1 ||
			start > 0 && (s[start-1] != '.' || escaped(s, start-1)) {
			break
		}
		octets[n] = byte(octet)
		n++
		s = s[:start]
	}
	return reverseName{netip.PrefixFrom(netip.AddrFrom4(octets), 8*n), s != ""}
}

// parseNibbles reads what stands before ip6.arpa., final dot included. Each
// label is one digit, so that the labels need not be searched for.
func parseNibbles(s string) reverseName {
	var octets [16]byte
	n := 0
	for n < 2*len(octets) && len(s) >= 2 {
		at := len(s) - 2
		nibble, ok := hexadecimal(s[at])
		if !ok || at > 0 && (s[at-1] != '.' || escaped(s, at-1)) {
			break
		}
		octets[n/2] |= nibble << (4 * (1 - n%2))
		n++
		s = s[:at]
	}
	return reverseName{netip.PrefixFrom(netip.AddrFrom16(octets), 4*n), s != ""}
}

// hexadecimal reads a nibble as reverse names in lower case write it.
func hexadecimal(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// covers reports whether name is zone or lies below it; both are in lower case
// and fully qualified.
func covers(zone, name string) bool {
	i := len(name) - len(zone)
	if i < 0 || name[i:] != zone {
		return false
	}
	return i == 0 || zone == "." || name[i-1] == '.' && !escaped(name, i-1)
}

// escaped reports whether s[i] is escaped by a backslash before it.
func escaped(s string, i int) bool {
	odd := false
	for i > 0 && s[i-1] == '\\' {
		odd = !odd
		i--
	}
	return odd
}

// step returns the bits of one label in the reverse tree of p's family.
func step(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 8
	}
	return 4
}

// boundaries splits p, which is masked, into ranges that each have one reverse
// zone: those of the next octet or nibble boundary, at most 128.
//
//	240.0.0.0/12 → 240.0.0.0/16, 240.1.0.0/16, … 240.15.0.0/16
func boundaries(p netip.Prefix) []netip.Prefix {
	step := step(p)
	bits := (p.Bits() + step - 1) / step * step
	if bits == p.Bits() {
		return []netip.Prefix{p}
	}
	octets := p.Addr().AsSlice()
	last := (bits - 1) / 8 // the octet that tells the ranges apart
	shift := 7 - (bits-1)%8
	ranges := make([]netip.Prefix, 1<<(bits-p.Bits()))
	first := octets[last]
	for i := range ranges {
		octets[last] = first | byte(i<<shift)
		addr, _ := netip.AddrFromSlice(octets)
		ranges[i] = netip.PrefixFrom(addr, bits)
	}
	return ranges
}

// reverseZone returns the name of the reverse zone of p, which is on an octet
// or nibble boundary.
func reverseZone(p netip.Prefix) string {
	var b strings.Builder
	octets := p.Addr().AsSlice()
	if p.Addr().Is4() {
		for i := p.Bits()/8 - 1; i >= 0; i-- {
			b.WriteString(strconv.Itoa(int(octets[i])))
			b.WriteByte('.')
		}
		return b.String() + in4
	}
	for i := p.Bits()/4 - 1; i >= 0; i-- {
		const digits = "0123456789abcdef"
		b.WriteByte(digits[octets[i/2]>>(4*(1-i%2))&0xf])
		b.WriteByte('.')
	}
	return b.String() + in6
}
