package meshvip

import (
	"fmt"
	"net/netip"
)

// unfit are the ranges that no VIP can be taken from, and why.
var unfit = []struct {
	prefix netip.Prefix
	why    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "which no host can use as a destination (RFC 1122)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "which is multicast"},
	{netip.MustParsePrefix("::/128"), "which means no address"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "where IPv4 addresses stand in IPv6 form"},
	{netip.MustParsePrefix("ff00::/8"), "which is multicast"},
}

// parsePrefix reads a CIDR whose address is the first of its range.
func parsePrefix(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
			return netip.Prefix{}, fmt.Errorf("'%s' is an address, not a range: write \"%s/%d\" for it alone", s, s, addr.BitLen())
		}
		return netip.Prefix{}, fmt.Errorf("'%s' is not an address range: write it as ADDRESS/BITS, for example 240.0.0.0/8", s)
	}
	if prefix != prefix.Masked() {
		return netip.Prefix{}, fmt.Errorf("'%s' has bits beyond its mask: write \"%v\"", s, prefix.Masked())
	}
	return prefix, nil
}

// parsePool reads a range that addresses can be taken from. Every range has at
// least one: network and broadcast address are left out only of v4 ranges of
// /30 and shorter.
func parsePool(s string) (netip.Prefix, error) {
	prefix, err := parsePrefix(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	if prefix.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("'%s' is an IPv4 range in IPv6 form: write it as IPv4", s)
	}
	for _, u := range unfit {
		if u.prefix.Overlaps(prefix) {
			return netip.Prefix{}, fmt.Errorf("'%s' overlaps %v, %s: choose another range, for example from 240.0.0.0/4 or fd00::/8",
				s, u.prefix, u.why)
		}
	}
	if broadcast := netip.AddrFrom4([4]byte{255, 255, 255, 255}); prefix.Bits() > 30 && prefix.Contains(broadcast) {
		return netip.Prefix{}, fmt.Errorf("'%s' gives out %v, which is broadcast: choose another range", s, broadcast)
	}
	return prefix, nil
}
