package meshvip

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns/coredns/plugin"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// origins returns the zones of a block, forward and reverse told apart: its
// arguments, or the keys of the server block where it has none.
func origins(args, keys []string) (forward []string, reverse []netip.Prefix, err error) {
	var zones []string
	for _, a := range args {
		names, err := zoneNames(a)
		if err != nil {
			return nil, nil, err
		}
		zones = append(zones, names...)
	}
	for _, z := range plugin.OriginsFromArgsOrServerBlock(zones, keys) {
		zone, err := canonicalZone(z)
		if err != nil {
			return nil, nil, err
		}
		rn, ok := parseReverse(zone)
		switch {
		case !ok:
			if !slices.Contains(forward, zone) {
				forward = append(forward, zone)
			}
		case rn.rest:
			return nil, nil, fmt.Errorf("zone '%s' lies in the reverse tree and is not the zone of an address range: "+
				"write the range, for example 240.0.0.0/8, or name the zones after meshvip", zone)
		case !slices.Contains(reverse, rn.prefix):
			reverse = append(reverse, rn.prefix)
		}
	}
	if len(forward)+len(reverse) == 0 {
		return nil, nil, errors.New("meshvip has no zone to answer for: write \"meshvip mesh\", or give the server block a zone")
	}
	return forward, reverse, nil
}

// zoneNames reads one zone as the Corefile writes it: a name, or a CIDR that
// stands for its reverse zones.
func zoneNames(s string) ([]string, error) {
	if strings.ContainsAny(s, "/:") {
		prefix, err := parsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("zone %w", err)
		}
		if prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("zone '%s' is an IPv4 range in IPv6 form: write it as IPv4", s)
		}
		var names []string
		for _, b := range boundaries(prefix) {
			names = append(names, reverseZone(b))
		}
		return names, nil
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return nil, fmt.Errorf("zone '%s' is an address: write \"%s/%d\" for its reverse zone", s, s, addr.BitLen())
	}
	zone, err := canonicalZone(s)
	if err != nil {
		return nil, err
	}
	return []string{zone}, nil
}

// canonicalZone returns a zone as names of queries show it: fully qualified,
// in lower case, with the escapes that miekg/dns writes.
func canonicalZone(s string) (string, error) {
	bad := fmt.Errorf("zone '%.300s' is not a domain name: "+
		"labels have 1 to 63 octets, and the zone with \"hostmaster.\" before it at most 255", s)
	if s == "" || strings.ContainsAny(s, "{}") {
		return "", bad
	}
	// The longest name that the apex itself needs.
	const longest = "hostmaster."
	full := longest
	if s != "." {
		full += dns.Fqdn(s)
	}
	if _, ok := dns.IsDomainName(full); !ok {
		return "", bad
	}
	var wire [256]byte
	n, err := dns.PackDomainName(full, wire[:], 0, nil, false)
	if err != nil {
		return "", bad
	}
	name, _, err := dns.UnpackDomainName(wire[:n], 0)
	if err != nil {
		return "", bad
	}
	zone := vip.Fold(strings.TrimPrefix(name, longest))
	if zone == "" {
		zone = "."
	}
	return zone, nil
}
