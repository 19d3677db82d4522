package meshvip

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/coredns/coredns/plugin/any"
	_ "github.com/coredns/coredns/plugin/chaos"
	"github.com/miekg/dns"
)

// wired is a server block as an operator writes it: several zones, one of many
// labels, in mixed case, with pools of both families and a plugin behind.
const wired = `
Svc.CORP.Mesh:PORT Example.org.:PORT 240.0.0.0/8:PORT fd00:6d76::/64:PORT {
	%s
	meshvip {
		pool 240.0.0.0/9 fd00:6d76::/64
		source file DIR/src
		store memory
		ns 192.0.2.53
	}
	whoami
}
`

// asks sends q as it is and returns the reply with what was read of it.
func (s *site) asks(network string, q *dns.Msg) (*dns.Msg, error) {
	for try := 0; ; try++ {
		c := &dns.Client{Net: network, Timeout: 3 * time.Second, UDPSize: dns.MaxMsgSize}
		r, _, err := c.Exchange(q, "127.0.0.1:"+s.port)
		if err == nil || network == "tcp" || try == 2 {
			return r, err
		}
	}
}

func TestFlagsAndSectionsOnTheWire(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "east", "Web_shop_svc_80")
	s.start(fmt.Sprintf(wired, ""))
	addr := s.resolves("web.shop.svc.80.svc.corp.mesh.")
	name := "WEB.shop.svc.80.Svc.Corp.MESH."
	for _, tc := range []struct {
		name       string
		qtype      uint16
		rcode      int
		an, ns, ex int
	}{
		{name, dns.TypeA, dns.RcodeSuccess, 1, 0, 0},
		{name, dns.TypeAAAA, dns.RcodeSuccess, 1, 0, 0},
		{name, dns.TypeSRV, dns.RcodeSuccess, 1, 0, 2},
		{"web_shop_svc_80.example.ORG.", dns.TypeA, dns.RcodeSuccess, 1, 0, 0},
		{name, dns.TypeTXT, dns.RcodeSuccess, 0, 1, 0},
		{"shop.svc.80.svc.corp.mesh.", dns.TypeA, dns.RcodeSuccess, 0, 1, 0},
		{"nope.svc.corp.mesh.", dns.TypeA, dns.RcodeNameError, 0, 1, 0},
		{"Svc.corp.mesh.", dns.TypeSOA, dns.RcodeSuccess, 1, 0, 0},
		{"svc.corp.mesh.", dns.TypeNS, dns.RcodeSuccess, 1, 0, 1},
		{"svc.corp.mesh.", dns.TypeDS, dns.RcodeSuccess, 0, 1, 0},
		{reverse(t, addr), dns.TypePTR, dns.RcodeSuccess, 1, 0, 0},
		{strings.ToUpper(reverse(t, addr)), dns.TypePTR, dns.RcodeSuccess, 1, 0, 0},
		{"9.9.9.240.in-addr.arpa.", dns.TypePTR, dns.RcodeNameError, 0, 1, 0},
	} {
		for bits := range 32 {
			q := new(dns.Msg).SetQuestion(tc.name, tc.qtype)
			q.RecursionDesired, q.CheckingDisabled, q.AuthenticatedData = bits&1 > 0, bits&2 > 0, bits&4 > 0
			q.RecursionAvailable = bits&8 > 0
			network := "udp"
			if bits&16 > 0 {
				network = "tcp"
			}
			r, err := s.asks(network, q)
			if err != nil {
				t.Fatal(err)
			}
			want := dns.MsgHdr{Id: q.Id, Response: true, Authoritative: true, RecursionDesired: q.RecursionDesired, CheckingDisabled: q.CheckingDisabled, Rcode: tc.rcode}
			if r.MsgHdr != want {
				t.Errorf("%s: header %+v, want %+v", tc.name, r.MsgHdr, want)
			}
			if len(r.Question) != 1 || r.Question[0] != q.Question[0] {
				t.Errorf("%s: question %v", tc.name, r.Question)
			}
			if len(r.Answer) != tc.an || len(r.Ns) != tc.ns || len(r.Extra) != tc.ex {
				t.Errorf("%s: sections %v", tc.name, r)
			}
			for _, rr := range r.Answer {
				if rr.Header().Name != tc.name || rr.Header().Ttl != defaultTTL {
					t.Errorf("%v answers %s", rr, tc.name)
				}
			}
			for _, rr := range r.Ns {
				if soa := rr.(*dns.SOA); soa.Hdr.Ttl != min(soa.Minttl, defaultTTL) || soa.Minttl != 5 {
					t.Errorf("%s: negative with %v", tc.name, soa)
				}
			}
		}
	}
	// Inside the server block and outside the pool: the next plugin's.
	if r, err := s.asks("udp", new(dns.Msg).SetQuestion("1.0.128.240.in-addr.arpa.", dns.TypePTR)); err != nil || len(r.Extra) == 0 {
		t.Errorf("outside the pool: %v %v", r, err)
	}
}

// The server itself refuses what no plugin of it is for, and lets it pass where
// chaos is loaded: we answer then as CoreDNS's own plugins do, whatever the class.
func TestOtherClassesAreAnsweredAsCoreDNSDoes(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "east", "a")
	s.start(fmt.Sprintf(wired, ""))
	addr := s.resolves("a.example.org.")
	classes := []uint16{0, 2, dns.ClassCHAOS, dns.ClassHESIOD, dns.ClassNONE, dns.ClassANY, 65535}
	ask := func(class, qtype uint16) *dns.Msg {
		t.Helper()
		q := new(dns.Msg).SetQuestion("a.example.org.", qtype)
		q.Question[0].Qclass = class
		r, err := s.asks("udp", q)
		if err != nil || r.Question[0] != q.Question[0] {
			t.Fatalf("class %d: %v %v", class, r, err)
		}
		return r
	}
	for _, class := range classes {
		if r := ask(class, dns.TypeA); r.Rcode != dns.RcodeRefused || len(r.Answer)+len(r.Ns) > 0 {
			t.Errorf("class %d: %v", class, r)
		}
	}
	s.mustReload(fmt.Sprintf(wired, "chaos"))
	for _, class := range classes {
		r := ask(class, dns.TypeA)
		if len(r.Answer) != 1 || r.Answer[0].(*dns.A).A.String() != addr || r.Answer[0].Header().Class != dns.ClassINET {
			t.Errorf("class %d with chaos: %v", class, r)
		}
		if r := ask(class, dns.TypeTXT); r.Rcode != dns.RcodeSuccess || len(r.Answer) > 0 || len(r.Ns) != 1 {
			t.Errorf("class %d with chaos: %v", class, r)
		}
	}
}

func TestOtherOpcodesOnTheWire(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "east", "a")
	s.start(fmt.Sprintf(wired, ""))
	s.resolves("a.example.org.")
	for opcode := range 16 {
		if opcode == dns.OpcodeQuery {
			continue
		}
		for _, name := range []string{"a.example.org.", "example.org.", "nope.example.org.", "0.240.in-addr.arpa."} {
			q := new(dns.Msg).SetQuestion(name, dns.TypeSOA)
			q.Opcode = opcode
			if opcode == dns.OpcodeNotify { // dropped, as plugin file does: the next reply is the next question's
				conn, err := dns.Dial("tcp", "127.0.0.1:"+s.port)
				if err != nil {
					t.Fatal(err)
				}
				after := new(dns.Msg).SetQuestion(name, dns.TypeSOA)
				for _, m := range []*dns.Msg{q, after} {
					if err := conn.WriteMsg(m); err != nil {
						t.Fatal(err)
					}
				}
				if r, err := conn.ReadMsg(); err != nil || r.Id != after.Id {
					t.Errorf("NOTIFY of %s: %v %v", name, r, err)
				}
				conn.Close()
				continue
			}
			r, err := s.asks("udp", q)
			if err != nil || r.Rcode != dns.RcodeNotImplemented || len(r.Answer)+len(r.Ns) > 0 {
				t.Errorf("opcode %d of %s: %v %v", opcode, name, r, err)
			}
		}
	}
}

func TestEDNSIsAnsweredWithEDNS(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "east", "a")
	s.start(fmt.Sprintf(wired, ""))
	s.resolves("a.example.org.")
	options := map[string][]dns.EDNS0{
		"none":       nil,
		"cookie":     {&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "24a5ac1223344556"}},
		"bad cookie": {&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "24"}},
		"nsid":       {&dns.EDNS0_NSID{Code: dns.EDNS0NSID}},
		"padding":    {&dns.EDNS0_PADDING{Padding: make([]byte, 300)}},
		"subnet":     {&dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: 24, Address: []byte{192, 0, 2, 0}}},
		"local":      {&dns.EDNS0_LOCAL{Code: 65001, Data: []byte{1, 2, 3}}},
		"unknown":    {&dns.EDNS0_LOCAL{Code: 4711, Data: nil}},
		"many":       slices.Repeat([]dns.EDNS0{&dns.EDNS0_LOCAL{Code: 65001, Data: []byte("x")}}, 50),
	}
	for what, opts := range options {
		for _, size := range []uint16{0, 511, 512, 1232, 4096, 65535} {
			for _, version := range []uint8{0, 1, 255} {
				for _, do := range []bool{false, true} {
					for _, name := range []string{"a.example.org.", "nope.example.org."} {
						q := new(dns.Msg).SetQuestion(name, dns.TypeA)
						opt := &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}, Option: opts}
						opt.SetUDPSize(size)
						opt.SetVersion(version)
						if do {
							opt.SetDo()
						}
						q.Extra = []dns.RR{opt}
						r, err := s.asks("udp", q)
						if err != nil {
							t.Fatalf("%s, size %d, version %d: %v", what, size, version, err)
						}
						back := r.IsEdns0()
						switch {
						case back == nil || back.Version() != 0 || len(r.Extra) != 1 || len(back.Option) > 0:
							t.Errorf("%s, size %d, version %d: %v", what, size, version, r)
						case version > 0:
							if r.Rcode != dns.RcodeBadVers || len(r.Answer)+len(r.Ns) > 0 {
								t.Errorf("%s, version %d: %v", what, version, r)
							}
						case back.Do() != do || !r.Authoritative || len(r.Answer)+len(r.Ns) != 1:
							t.Errorf("%s, size %d: %v", what, size, r)
						}
					}
				}
			}
		}
	}
}

// One after the other over one connection: every type there is.
func TestEveryTypeIsAnsweredOnTheWire(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "east", "a")
	s.start(fmt.Sprintf(wired, ""))
	s.resolves("a.example.org.")
	conn, err := dns.Dial("tcp", "127.0.0.1:"+s.port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	has := map[uint16]bool{dns.TypeA: true, dns.TypeAAAA: true, dns.TypeSRV: true}
	const batch = 256 // what is on its way at once
	for first := 0; first < 1<<16; first += batch {
		for n := range batch {
			q := new(dns.Msg).SetQuestion("a.example.org.", uint16(first+n))
			q.Id = uint16(first + n)
			if err := conn.WriteMsg(q); err != nil {
				t.Fatal(err)
			}
		}
		for range batch {
			r, err := conn.ReadMsg()
			if err != nil {
				t.Fatal(err)
			}
			qtype := r.Question[0].Qtype
			refused := qtype == dns.TypeAXFR || qtype == dns.TypeIXFR
			if r.Id != qtype || refused != (r.Rcode == dns.RcodeRefused) || r.Authoritative == refused ||
				has[qtype] != (len(r.Answer) == 1) || (!has[qtype] && !refused) != (len(r.Ns) == 1) {
				t.Errorf("type %d: %v", qtype, r)
			}
		}
	}
}

func TestAnyIsAnsweredByRFC8482WherePluginAnyIsLoaded(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "east", "a")
	s.start(fmt.Sprintf(wired, "any"))
	s.resolves("a.example.org.")
	for _, name := range []string{"a.example.org.", "nope.example.org.", "example.org."} {
		r, err := s.query(name, dns.TypeANY)
		if err != nil || len(r.Answer) != 1 || r.Answer[0].Header().Rrtype != dns.TypeHINFO || r.Answer[0].(*dns.HINFO).Os != "See RFC 8482" {
			t.Errorf("%s: %v %v", name, r, err)
		}
	}
}

// meshService makes file list a MeshService with these ports and one address.
func (s *site) meshService(file, name, hostname string, ports int) {
	s.t.Helper()
	var doc strings.Builder
	fmt.Fprintf(&doc, "type: Mesh\nname: default\n---\ntype: MeshService\nmesh: default\nname: %s\nspec:\n  ports:\n", name)
	for p := range ports {
		fmt.Fprintf(&doc, "  - port: %d\n    targetPort: %d\n", 10000+p, 10000+p)
	}
	fmt.Fprintf(&doc, "status:\n  addresses:\n  - hostname: %s\n  vips:\n  - ip: 241.0.0.1\n  - ip: fd00:fd01::1\n", hostname)
	if err := os.WriteFile(filepath.Join(s.dir, "src", file), []byte(doc.String()), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// An answer that does not fit is cut, says so, and is whole over TCP.
func TestManyPortsAreCutToWhatTheClientTakes(t *testing.T) {
	s := newSite(t)
	const ports = 300
	s.meshService("a.yaml", "wide", "wide.example.org", ports)
	s.start(fmt.Sprintf(wired, ""))
	s.becomes("wide.example.org.", dns.TypeA, "241.0.0.1")
	for _, client := range []struct {
		network string
		edns    uint16
		size    int
	}{{"udp", 0, 512}, {"udp", 100, 512}, {"udp", 512, 512}, {"udp", 1232, 1232}, {"udp", 4096, 4096}, {"tcp", 0, dns.MaxMsgSize}, {"tcp", 1232, dns.MaxMsgSize}} {
		q := new(dns.Msg).SetQuestion("wide.example.org.", dns.TypeSRV)
		if client.edns > 0 {
			q.SetEdns0(client.edns, false)
		}
		r, err := s.asks(client.network, q)
		if err != nil {
			t.Fatal(err)
		}
		r.Compress = true
		whole := client.network == "tcp"
		if r.Truncated == whole || r.Len() > client.size || !r.Authoritative || len(r.Answer) == 0 || (len(r.Answer) == ports) != whole {
			t.Errorf("%+v: TC %v, AA %v, %d octets, %d ports", client, r.Truncated, r.Authoritative, r.Len(), len(r.Answer))
		}
		for i, rr := range r.Answer {
			if srv := rr.(*dns.SRV); srv.Port != uint16(10000+i) || srv.Weight != 1 || srv.Priority != 0 || srv.Target != "wide.example.org." {
				t.Fatalf("%+v: %v at %d", client, rr, i)
			}
		}
		extra := slices.DeleteFunc(r.Extra, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeOPT })
		if whole && (len(extra) != 2 || extra[0].(*dns.A).A.String() != "241.0.0.1" || extra[1].(*dns.AAAA).AAAA.String() != "fd00:fd01::1") {
			t.Errorf("%+v: additional %v", client, extra)
		}
	}
}

// In the root, what is nobody's of ours falls through, and what is ours does not.
func TestTheRootFallsThroughToTheNextPlugin(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "east", "a", "google_com")
	s.start(`
.:PORT {
	meshvip mesh . {
		pool 240.0.0.0/9
		source file DIR/src
		store memory
		ns 192.0.2.53
		fallthrough
	}
	whoami
}
`)
	addr := s.resolves("a.mesh.")
	for question, ours := range map[string]bool{
		"a.mesh. A": true, "a.mesh. TXT": true, "mesh. SOA": true, ". SOA": true, ". NS": true, "com.mesh. A": true,
		reverse(t, addr) + " PTR": true, "240.in-addr.arpa. SOA": false, "0.240.in-addr.arpa. SOA": true,
		"nope.mesh. A": false, "google.com. A": false, "com. A": false, "example.org. ANY": false,
		"9.9.9.240.in-addr.arpa. PTR": false, "1.0.0.10.in-addr.arpa. PTR": false,
	} {
		var name, qtype string
		if _, err := fmt.Sscan(question, &name, &qtype); err != nil {
			t.Fatal(err)
		}
		r, err := s.query(name, dns.StringToType[qtype])
		if err != nil {
			t.Fatal(err)
		}
		// Plugin whoami says in the additional section who asks.
		fell := len(r.Answer)+len(r.Ns) == 0 && len(r.Extra) > 0
		if fell == ours || r.Rcode != dns.RcodeSuccess || !r.Authoritative {
			t.Errorf("%s: %v", question, r)
		}
	}
}
