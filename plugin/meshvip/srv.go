package meshvip

import (
	"slices"

	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// unknownPort is where the proxies of a mesh listen for a service whose
// resource names no port: Kuma's serviceVipPort.
const unknownPort = 80

// fullWeight is what the SRV records of one name share (RFC 2782).
const fullWeight = 100

// ports returns the ports on which the meshes that v shows reach row's entry,
// ascending and none twice. A service or a host always has one.
func ports(row *vip.Row, v *names.View) []uint16 {
	var all []uint16
	for i := range row.Listings {
		l := &row.Listings[i]
		if !v.Shows(l.Mesh) {
			continue
		}
		for _, o := range l.Outbounds {
			port := o.Port
			if port == 0 {
				port = unknownPort
			}
			all = append(all, port)
		}
	}
	if len(all) == 0 && hasPort(row, v) {
		return []uint16{unknownPort}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hasPort reports whether ports returns any.
func hasPort(row *vip.Row, v *names.View) bool {
	switch row.Entry.Kind {
	case vip.Service, vip.Host:
		return true
	}
	return slices.ContainsFunc(row.Listings, func(l vip.Listing) bool {
		return len(l.Outbounds) > 0 && v.Shows(l.Mesh)
	})
}

// services returns the SRV records of a name, one for each port. The target is
// the name itself, whose addresses are the entry's.
func (a *apex) services(owner string, ports []uint16) []dns.RR {
	rrs := make([]dns.RR, len(ports))
	weight := uint16(max(1, fullWeight/max(1, len(ports))))
	for i, port := range ports {
		rrs[i] = &dns.SRV{
			Hdr:    dns.RR_Header{Name: owner, Rrtype: dns.TypeSRV, Class: dns.ClassINET, Ttl: a.ttl},
			Weight: weight,
			Port:   port,
			Target: owner,
		}
	}
	return rrs
}
