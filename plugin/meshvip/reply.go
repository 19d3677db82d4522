package meshvip

import (
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

// to makes r an authoritative reply to q.
func (r *reply) to(q *dns.Msg) {
	r.Id = q.Id
	r.Response = true
	r.Opcode = q.Opcode
	r.Authoritative = true
	r.RecursionDesired = q.RecursionDesired
	r.CheckingDisabled = q.CheckingDisabled
	r.question[0] = q.Question[0]
	r.Question = r.question[:]
}

// one returns the section that holds the record rr alone.
func (r *reply) one(rr dns.RR) []dns.RR {
	r.record[0] = rr
	return r.record[:]
}

// reply returns the message that answers q, whose result at n is res: success,
// nodata or nxdomain.
func (a *apex) reply(q *dns.Msg, z *zone, n *node, res result, serial uint32) *dns.Msg {
	if res != success {
		return a.negativeReply(q, z, res, serial)
	}
	hdr := dns.RR_Header{
		Name:   q.Question[0].Name, // in the client's own spelling
		Rrtype: q.Question[0].Qtype,
		Class:  dns.ClassINET,
		Ttl:    a.ttl,
	}
	switch {
	case hdr.Rrtype == dns.TypeA && n.v4.IsValid():
		m := &aReply{octets: n.v4.As4()}
		m.to(q)
		m.rr = dns.A{Hdr: hdr, A: m.octets[:]}
		m.Answer = m.one(&m.rr)
		return &m.Msg
	case hdr.Rrtype == dns.TypeAAAA && n.v6.IsValid():
		m := &aaaaReply{octets: n.v6.As16()}
		m.to(q)
		m.rr = dns.AAAA{Hdr: hdr, AAAA: m.octets[:]}
		m.Answer = m.one(&m.rr)
		return &m.Msg
	case hdr.Rrtype == dns.TypePTR:
		m := &ptrReply{rr: dns.PTR{Hdr: hdr, Ptr: n.ptr}}
		m.to(q)
		m.Answer = m.one(&m.rr)
		return &m.Msg
	case hdr.Rrtype == dns.TypeSOA:
		m := &soaReply{rr: a.soa(z, hdr.Name, a.ttl, serial)}
		m.to(q)
		m.Answer = m.one(&m.rr)
		return &m.Msg
	}
	m := new(reply)
	m.to(q)
	if hdr.Rrtype == dns.TypeNS {
		ns := z.nsName()
		m.Answer = m.one(&dns.NS{Hdr: hdr, Ns: ns})
		m.Extra = append(a.addresses(ns, dns.TypeA), a.addresses(ns, dns.TypeAAAA)...)
	} else {
		m.Answer = a.addresses(hdr.Name, hdr.Rrtype)
	}
	return &m.Msg
}

// negativeReply returns NXDOMAIN or NODATA with the zone's SOA, whose TTL says
// how long a resolver may keep it (RFC 2308, 3 and 5).
func (a *apex) negativeReply(q *dns.Msg, z *zone, res result, serial uint32) *dns.Msg {
	name := q.Question[0].Name
	owner := name[len(name)-len(z.name):]
	m := &soaReply{rr: a.soa(z, owner, min(a.negative, a.ttl), serial)}
	m.to(q)
	if res == nxdomain {
		m.Rcode = dns.RcodeNameError
	}
	m.Ns = m.one(&m.rr)
	return &m.Msg
}
