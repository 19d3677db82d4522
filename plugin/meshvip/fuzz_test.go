package meshvip

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// fuzzed are blocks that differ in all that decides about an answer.
func fuzzed(t testing.TB) []*Handler {
	rows := slices.Concat(world, given[:len(given)-1])
	rows[2] = offering(rows[2], "east", 1, 2, 0)
	rows = append(rows, offering(row("0:_tcp.ports", "240.0.0.99"), "west", 5, 6))
	pools := []string{"240.0.0.0/9", "fd00:6d76::/50"}
	var all []*Handler
	for _, f := range []fixture{
		{zones: "mesh . 240.0.0.0/8 240.0.0.0/24", lines: "ns 192.0.2.53"},
		{zones: "Svc.mesh mesh httpbin.org", lines: "meshes west\nfallthrough"},
		{zones: "mesh", lines: "negative_ttl 90\nttl 0", pools: []string{"240.0.0.0/29", "fd00:6d76::/125"}},
		{zones: "mesh", lines: "ns 2001:db8::53", syncing: true},
		{zones: "mesh .", loading: true},
		{zones: "240.0.0.0/8", pools: []string{"240.0.0.0/4"}},
	} {
		f.rows = rows
		if f.pools == nil {
			f.pools = pools
		}
		h, _, _ := f.handler(t)
		all = append(all, h)
	}
	return all
}

// fuzzNames are where fuzzing begins.
var fuzzNames = []string{
	"backend.mesh.", "Mesh.", ".", "1.0.0.240.in-addr.arpa.", "orders.svc.mesh.", "9.7.0.240.in-addr.arpa.", full6("1."),
	"\\000\\.\\\\.mesh.", "ns.dns.", "in-addr.arpa.", "_tcp.ports.mesh.", "kuma-demo.svc.5678.mesh.", "1.0.1.10.in-addr.arpa.",
}

// Any message that can come off the wire is answered or passed on.
func FuzzServeDNS(f *testing.F) {
	for _, name := range fuzzNames {
		for _, qtype := range []uint16{dns.TypeA, dns.TypePTR, dns.TypeSRV, dns.TypeANY, dns.TypeAXFR, dns.TypeNS} {
			q := new(dns.Msg).SetQuestion(name, qtype)
			wire, err := q.Pack()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(wire)
		}
	}
	blocks := fuzzed(f)
	f.Fuzz(func(t *testing.T, wire []byte) {
		for _, h := range blocks {
			q := new(dns.Msg)
			if q.Unpack(wire) != nil {
				return
			}
			checkServed(t, h, q)
		}
	})
}

// The same of messages that are put together of what decides about an answer, so
// that more of them get past the parser.
func FuzzQuestions(f *testing.F) {
	for _, name := range fuzzNames {
		for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypePTR, dns.TypeSRV, dns.TypeSOA} {
			f.Add(name, qtype, uint16(dns.ClassINET), uint8(0), uint16(1232), []byte("\x00\x0acookiecookie"))
		}
	}
	f.Add("backend.mesh.", uint16(1), uint16(dns.ClassCHAOS), uint8(0xf5), uint16(0), []byte{})
	blocks := fuzzed(f)
	f.Fuzz(func(t *testing.T, name string, qtype, class uint16, bits uint8, size uint16, option []byte) {
		q := new(dns.Msg).SetQuestion(dns.Fqdn(name), qtype)
		q.Question[0].Qclass = class
		q.Opcode = int(bits & 0xf)
		q.RecursionDesired, q.CheckingDisabled, q.AuthenticatedData, q.Zero = bits&0x10 > 0, bits&0x20 > 0, bits&0x40 > 0, bits&0x80 > 0
		if size > 0 {
			q.SetEdns0(size, size&1 > 0)
			if len(option) > 1 {
				code := uint16(option[0])<<8 | uint16(option[1])
				q.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_LOCAL{Code: code, Data: option[2:]}}
			}
		}
		wire, err := q.Pack()
		if err != nil {
			return
		}
		for _, h := range blocks {
			// As a server reads it: names are then in the form that they have off the wire.
			q := new(dns.Msg)
			if q.Unpack(wire) != nil {
				return
			}
			checkServed(t, h, q)
		}
	})
}

// checkServed asks h, and fails the test unless what it says holds together: the
// reply is q's, packs, fits, has the sections of its result, and its addresses
// and names confirm one another.
func checkServed(t *testing.T, h *Handler, q *dns.Msg) {
	t.Helper()
	asked := q.Copy()
	w := dnstest.NewRecorder(&test.ResponseWriter{})
	rcode, err := h.ServeDNS(context.Background(), w, q)
	if err != nil {
		if len(asked.Question) == 0 {
			return // the server lets none through
		}
		t.Fatalf("%v: %v", asked, err)
	}
	if len(asked.Question) > 0 {
		for _, v := range values(collected(h, q)) {
			if v != "" && !h.table.Loaded() {
				t.Fatalf("%q of %v is told before the table is loaded", v, asked.Question)
			}
		}
	}
	m := w.Msg
	if m == nil {
		dropped := rcode == dns.RcodeSuccess
		if rcode == dns.RcodeNameError || dropped && asked.Opcode != dns.OpcodeNotify {
			t.Fatalf("%v: %s was not written", asked, dns.RcodeToString[rcode])
		}
		return
	}
	want := dns.MsgHdr{
		Id: asked.Id, Response: true, Authoritative: true, Rcode: m.Rcode,
		RecursionDesired: asked.RecursionDesired, CheckingDisabled: asked.CheckingDisabled,
	}
	if rcode != dns.RcodeSuccess || m.MsgHdr != want || asked.Opcode != dns.OpcodeQuery ||
		len(m.Question) != 1 || m.Question[0] != asked.Question[0] || !h.table.Loaded() {
		t.Fatalf("%v is answered by %d %v", asked, rcode, m)
	}
	checkSections(t, h, m)
	state := request.Request{Req: q, W: w}
	size := state.Size()
	state.SizeAndDo(m)
	state.Scrub(m)
	wire, err := m.Pack()
	if err != nil || len(wire) > size {
		t.Fatalf("%d octets for a client of %d, %v: %v", len(wire), size, err, m)
	}
	if err := new(dns.Msg).Unpack(wire); err != nil {
		t.Fatalf("unpacking %v: %v", m, err)
	}
}

// checkSections fails the test unless the records of m answer its question.
func checkSections(t *testing.T, h *Handler, m *dns.Msg) {
	t.Helper()
	q := m.Question[0]
	if len(m.Answer) == 0 {
		if len(m.Ns) != 1 || len(m.Extra) > 0 || m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError {
			t.Fatalf("negative without its SOA alone: %v", m)
		}
		soa, ok := m.Ns[0].(*dns.SOA)
		if !ok || !strings.HasSuffix(q.Name, soa.Hdr.Name) || soa.Hdr.Ttl != min(soa.Minttl, h.block.TTL.Value) {
			t.Fatalf("negative with %v: %v", m.Ns[0], m)
		}
		return
	}
	if m.Rcode != dns.RcodeSuccess || len(m.Ns) > 0 {
		t.Fatalf("positive with %v", m)
	}
	for _, rr := range m.Answer {
		if *rr.Header() != (dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET, Ttl: h.block.TTL.Value}) {
			t.Fatalf("%v answers %v", rr, q)
		}
	}
	for _, rr := range slices.Concat(m.Answer, m.Extra) {
		switch rr := rr.(type) {
		case *dns.A:
			checkConfirmed(t, h, rr.A.String(), "")
		case *dns.AAAA:
			checkConfirmed(t, h, rr.AAAA.String(), "")
		case *dns.PTR:
			rn, _ := parseReverse(strings.ToLower(q.Name))
			checkConfirmed(t, h, rn.prefix.Addr().String(), rr.Ptr)
		case *dns.SRV:
			if rr.Target != q.Name || rr.Port == 0 || rr.Weight == 0 || len(m.Extra) == 0 {
				t.Fatalf("%v of %v", rr, m)
			}
		case *dns.SOA, *dns.NS:
		default:
			t.Fatalf("%v is none of our types", rr)
		}
	}
}

// checkConfirmed fails the test unless the PTR of an address, if it has one, is a
// name that has the address. want is the PTR, where it must have one.
func checkConfirmed(t *testing.T, h *Handler, address, want string) {
	t.Helper()
	name, err := dns.ReverseAddr(address)
	if err != nil {
		t.Fatal(err)
	}
	ptr := ask(t, h, name, dns.TypePTR)
	if len(ptr.Answer) == 0 {
		if want != "" {
			t.Fatalf("%s is %s, and has no PTR: %+v", address, want, ptr)
		}
		return
	}
	_, target, _ := strings.Cut(ptr.Answer[0], " PTR ")
	if want != "" && target != want {
		t.Fatalf("%s is %s, and %s", address, target, want)
	}
	if len(h.block.Forward) == 0 {
		return // another block has the names
	}
	qtype := dns.TypeA
	if netip.MustParseAddr(address).Is6() {
		qtype = dns.TypeAAAA
	}
	got := ask(t, h, target, qtype)
	if !slices.ContainsFunc(got.Answer, func(rr string) bool { return strings.HasSuffix(rr, " "+address) }) {
		t.Fatalf("the PTR of %s is %s, which is %+v", address, target, got)
	}
}
