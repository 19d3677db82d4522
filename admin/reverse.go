package admin

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// parseAddress reads an address, or the name that a reverse lookup asks for.
func parseAddress(q string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(q); err == nil {
		return addr.Unmap(), addr.Zone() == ""
	}
	name := strings.TrimSuffix(vip.Fold(q), ".")
	if rest, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		labels := strings.Split(rest, ".")
		slices.Reverse(labels)
		addr, err := netip.ParseAddr(strings.Join(labels, "."))
		return addr, err == nil && addr.Is4()
	}
	if rest, ok := strings.CutSuffix(name, ".ip6.arpa"); ok {
		labels := strings.Split(rest, ".")
		slices.Reverse(labels)
		b, err := hex.DecodeString(strings.Join(labels, ""))
		if err != nil || len(labels) != 32 || len(b) != 16 {
			return netip.Addr{}, false
		}
		return netip.AddrFrom16([16]byte(b)), true
	}
	return netip.Addr{}, false
}
