package meshvip

import (
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/names"
	"github.com/miekg/dns"
)

// The reply structs hold a message with everything that it points to, so that
// a reply is one allocation. Their slices are as long as they may be: whoever
// appends to a section copies it.

// reply is a message with room for its question and one record.
type reply struct {
	dns.Msg
	question [1]dns.Question
	record   [1]dns.RR
}

type aReply struct {
	reply
	rr     dns.A
	octets [4]byte
}

type aaaaReply struct {
	reply
	rr     dns.AAAA
	octets [16]byte
}

type ptrReply struct {
	reply
	rr dns.PTR
}

type soaReply struct {
	reply
	rr dns.SOA
}

// to makes r an authoritative reply to q. Fields are set one by one, here and
// below: copying whole structs into fresh memory is what a reply's time goes to.
func (r *reply) to(q *dns.Msg) {
	r.Id = q.Id
	r.Response = true
	r.Opcode = q.Opcode
	r.Authoritative = true
	r.RecursionDesired = q.RecursionDesired
	r.CheckingDisabled = q.CheckingDisabled
	asked := &q.Question[0]
	r.question[0].Name = asked.Name
	r.question[0].Qtype = asked.Qtype
	r.question[0].Qclass = asked.Qclass
	r.Question = r.question[:]
}

// one returns the section that holds the record rr alone. Its header gets the
// name that was asked for, in the client's own spelling.
func (r *reply) one(rr dns.RR, hdr *dns.RR_Header, rrtype uint16, ttl uint32) []dns.RR {
	hdr.Name = r.question[0].Name
	hdr.Rrtype = rrtype
	hdr.Class = dns.ClassINET
	hdr.Ttl = ttl
	r.record[0] = rr
	return r.record[:]
}

// reply returns the message that answers q, whose result at n is res: success,
// nodata or nxdomain.
func (a *apex) reply(q *dns.Msg, z *zone, n *node, res result, serial uint32) *dns.Msg {
	if res != success {
		return a.negativeReply(q, z, res, serial)
	}
	switch qtype := q.Question[0].Qtype; {
	case qtype == dns.TypeA && n.owner != nil:
		if addrs := n.owner.Several(true); addrs != nil {
			return a.several(q, addrs)
		}
		m := new(aReply)
		m.to(q)
		m.octets, _ = n.owner.A()
		m.rr.A = m.octets[:]
		m.Answer = m.one(&m.rr, &m.rr.Hdr, qtype, a.ttl)
		return &m.Msg
	case qtype == dns.TypeAAAA && n.owner != nil:
		if addrs := n.owner.Several(false); addrs != nil {
			return a.several(q, addrs)
		}
		m := new(aaaaReply)
		m.to(q)
		m.octets, _ = n.owner.AAAA()
		m.rr.AAAA = m.octets[:]
		m.Answer = m.one(&m.rr, &m.rr.Hdr, qtype, a.ttl)
		return &m.Msg
	case qtype == dns.TypePTR:
		m := new(ptrReply)
		m.to(q)
		m.rr.Ptr = n.ptr
		m.Answer = m.one(&m.rr, &m.rr.Hdr, qtype, a.ttl)
		return &m.Msg
	case qtype == dns.TypeSRV:
		m := new(reply)
		m.to(q)
		m.Answer = a.services(m.question[0].Name, ports(n.owner.Row, n.view))
		m.Extra = a.hosts(m.question[0].Name, n.owner)
		return &m.Msg
	case qtype == dns.TypeSOA:
		m := &soaReply{rr: a.soa(z, serial)}
		m.to(q)
		m.Answer = m.one(&m.rr, &m.rr.Hdr, qtype, a.ttl)
		return &m.Msg
	case qtype == dns.TypeNS:
		m := new(reply)
		m.to(q)
		ns := &dns.NS{Ns: z.server}
		m.Answer = m.one(ns, &ns.Hdr, qtype, a.ttl)
		m.Extra = append(a.addresses(ns.Ns, dns.TypeA), a.addresses(ns.Ns, dns.TypeAAAA)...)
		return &m.Msg
	default: // the name server's own address
		m := new(reply)
		m.to(q)
		m.Answer = a.addresses(q.Question[0].Name, qtype)
		return &m.Msg
	}
}

// several returns the message that answers q with addresses of one family, in
// their order. The server cuts it to what the client can take.
func (a *apex) several(q *dns.Msg, addrs []netip.Addr) *dns.Msg {
	m := new(reply)
	m.to(q)
	m.Answer = a.appendHosts(make([]dns.RR, 0, len(addrs)), m.question[0].Name, addrs)
	return &m.Msg
}

// hosts returns the A and AAAA records of all addresses that r has, under the
// given name.
func (a *apex) hosts(owner string, r *names.Record) []dns.RR {
	return a.appendHosts(nil, owner, addressesOf(r))
}

// addressesOf returns all addresses that r has, v4 first, each family in the order
// of answers.
func addressesOf(r *names.Record) []netip.Addr {
	all := slices.Clone(r.Several(true))
	if addr, ok := r.A(); ok && all == nil {
		all = []netip.Addr{netip.AddrFrom4(addr)}
	}
	if six := r.Several(false); six != nil {
		return append(all, six...)
	}
	if addr, ok := r.AAAA(); ok {
		all = append(all, netip.AddrFrom16(addr))
	}
	return all
}

// appendHosts appends the A or AAAA record of each address, under the given
// name.
func (a *apex) appendHosts(rrs []dns.RR, owner string, addrs []netip.Addr) []dns.RR {
	for _, addr := range addrs {
		hdr := dns.RR_Header{Name: owner, Rrtype: dns.TypeAAAA, Class: dns.ClassINET, Ttl: a.ttl}
		if addr.Is4() {
			hdr.Rrtype = dns.TypeA
			rrs = append(rrs, &dns.A{Hdr: hdr, A: addr.AsSlice()})
		} else {
			rrs = append(rrs, &dns.AAAA{Hdr: hdr, AAAA: addr.AsSlice()})
		}
	}
	return rrs
}

// negativeReply returns NXDOMAIN or NODATA with the zone's SOA, whose TTL says
// how long a resolver may keep it (RFC 2308, 3 and 5).
func (a *apex) negativeReply(q *dns.Msg, z *zone, res result, serial uint32) *dns.Msg {
	m := &soaReply{rr: a.soa(z, serial)}
	m.to(q)
	if res == nxdomain {
		m.Rcode = dns.RcodeNameError
	}
	m.Ns = m.one(&m.rr, &m.rr.Hdr, dns.TypeSOA, min(a.negative, a.ttl))
	name := q.Question[0].Name
	m.rr.Hdr.Name = name[len(name)-len(z.name):]
	return &m.Msg
}
