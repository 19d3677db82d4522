package kuma

import (
	"fmt"
	"net/netip"
)

// address reads text that has to be the address of one host. The error says
// what to write instead.
func address(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		err = fmt.Errorf("%.60q is no IP address: write one, such as 240.0.0.9 or fd00::9", text)
	case a.Zone() != "":
		err = fmt.Errorf("%.60q has a zone, which means something on one machine only: write %v", text, a.WithZone(""))
	case a.Is4In6():
		err = fmt.Errorf("%.60q is an IPv4 address in the form of an IPv6 one: write %v", text, a.Unmap())
	case a.IsUnspecified(), a.IsMulticast():
		err = fmt.Errorf("%.60q is the address of no single host: write one that is, such as 240.0.0.9 or fd00::9", text)
	default:
		return a, nil
	}
	return netip.Addr{}, err
}
