package meshvip

import (
	"iter"
	"maps"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/names"
	"github.com/miekg/dns"
)

// contents returns all records of z, which is one of zones, as a transfer has them:
// the SOA is the first and the last. They are those of one state of the table, that
// of when the first is asked for.
func (h *Handler) contents(z *zone, zones *zoneSet, serial uint32) iter.Seq[dns.RR] {
	return func(yield func(dns.RR) bool) {
		s := h.view.Snapshot()
		inside := h.forwardRecords(z, s)
		if z.prefix.IsValid() {
			inside = h.reverseRecords(z, zones, s)
		}
		if !yield(h.apex.soaRecord(z, serial)) {
			return
		}
		for _, rr := range h.apex.serverRecords(z, zones) {
			if !yield(rr) {
				return
			}
		}
		for rr := range inside {
			if !yield(rr) {
				return
			}
		}
		yield(h.apex.soaRecord(z, serial))
	}
}

// soaRecord returns the SOA of z with its header.
func (a *apex) soaRecord(z *zone, serial uint32) *dns.SOA {
	soa := a.soa(z, serial)
	soa.Hdr = a.header(z.name, dns.TypeSOA)
	return &soa
}

func (a *apex) header(owner string, rrtype uint16) dns.RR_Header {
	return dns.RR_Header{Name: owner, Rrtype: rrtype, Class: dns.ClassINET, Ttl: a.ttl}
}

// serverRecords returns the NS record of z, and the addresses of the name servers
// that are in z: its own, and of a zone around it that has its own here.
func (a *apex) serverRecords(z *zone, zones *zoneSet) []dns.RR {
	rrs := []dns.RR{&dns.NS{Hdr: a.header(z.name, dns.TypeNS), Ns: z.server}}
	for _, server := range slices.Sorted(maps.Keys(zones.ns)) {
		if at, _ := zones.match(server); at == z || server == z.server {
			rrs = a.appendHosts(rrs, server, a.ns)
		}
	}
	return rrs
}

// forwardRecords returns the records of all entries that have a name in z. A name
// of the reverse trees is in no forward zone, even where that is the root.
func (h *Handler) forwardRecords(z *zone, s *names.Snapshot) iter.Seq[dns.RR] {
	return func(yield func(dns.RR) bool) {
		for name, r := range s.Names(z.name, h.block.Forward) {
			if _, reverse := parseReverse(name); reverse {
				continue
			}
			for _, rr := range h.apex.records(name, r, h.view) {
				if !yield(rr) {
					return
				}
			}
		}
	}
}

// records returns all records that a name has which is r's.
func (a *apex) records(name string, r *names.Record, v *names.View) []dns.RR {
	rrs := a.hosts(name, r)
	if hasPort(r.Row, v) {
		rrs = append(rrs, a.services(name, ports(r.Row, v))...)
	}
	return rrs
}

// reverseRecords returns the PTRs of z, but for those of a zone inside it.
func (h *Handler) reverseRecords(z *zone, zones *zoneSet, s *names.Snapshot) iter.Seq[dns.RR] {
	return func(yield func(dns.RR) bool) {
		for addr, name := range s.PTRs(z.prefix, h.suffixes) {
			whole := netip.PrefixFrom(addr, addr.BitLen())
			if enclosing(zones.reverse, whole) != z {
				continue
			}
			if !yield(&dns.PTR{Hdr: h.apex.header(reverseZone(whole), dns.TypePTR), Ptr: name}) {
				return
			}
		}
	}
}
