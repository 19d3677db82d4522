package meshvip

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/file"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// Plugin file serves the same zone from text: where nothing else is said, we
// answer as it does.
func TestANYAndOtherClassesAreAnsweredAsPluginFileDoes(t *testing.T) {
	t.Parallel()
	const text = `
mesh. 60 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 86340 5
mesh. 60 IN NS ns.dns.mesh.
ns.dns.mesh. 60 IN A 192.0.2.53
backend.mesh. 60 IN A 240.0.0.1
`
	z, err := file.Parse(strings.NewReader(text), "mesh.", "text", 0)
	if err != nil {
		t.Fatal(err)
	}
	peer := file.File{Zones: file.Zones{Z: map[string]*file.Zone{"mesh.": z}, Names: []string{"mesh."}}}
	h, _, _ := fixture{lines: "ns 192.0.2.53"}.handler(t)
	for _, name := range []string{"backend.mesh.", "mesh.", "nope.mesh.", "dns.mesh."} {
		for _, q := range []dns.Question{
			{Qtype: dns.TypeANY, Qclass: dns.ClassINET},
			{Qtype: dns.TypeA, Qclass: dns.ClassCHAOS},
			{Qtype: dns.TypeA, Qclass: dns.ClassANY},
			{Qtype: dns.TypeMX, Qclass: dns.ClassNONE},
		} {
			q.Name = name
			ours, theirs := outcome(t, h, q), outcome(t, peer, q)
			if ours != theirs {
				t.Errorf("%v: %s, plugin file: %s", q, ours, theirs)
			}
		}
	}
}

// outcome asks one question and tells the reply in short.
func outcome(t *testing.T, h plugin.Handler, q dns.Question) string {
	t.Helper()
	w := dnstest.NewRecorder(&test.ResponseWriter{})
	m := &dns.Msg{Question: []dns.Question{q}}
	rcode, err := h.ServeDNS(context.Background(), w, m)
	if err != nil || w.Msg == nil {
		t.Fatalf("%v: %d, %v", q, rcode, err)
	}
	soas := 0
	for _, rr := range w.Msg.Ns {
		if rr.Header().Rrtype == dns.TypeSOA {
			soas++
		}
	}
	return fmt.Sprintf("%s, %d answers, %d SOA beside, AA %v", dns.RcodeToString[w.Msg.Rcode], len(w.Msg.Answer), soas, w.Msg.Authoritative)
}

// The server fits every reply to the client: ours may be cut anywhere.
func TestRepliesAreFittedToTheClient(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{}.handler(t)
	for i := range 120 {
		h.apex.ns = append(h.apex.ns, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	for _, tc := range []struct {
		udpSize uint16 // 0: no EDNS
		tcp     bool
		limit   int
		whole   bool
	}{
		{0, false, 512, false},
		{512, false, 512, false},
		{1232, false, 1232, false},
		{4096, false, 4096, true},
		{0, true, dns.MaxMsgSize, true},
		{1232, true, dns.MaxMsgSize, true},
	} {
		q := new(dns.Msg).SetQuestion("ns.dns.mesh.", dns.TypeA)
		if tc.udpSize > 0 {
			q.SetEdns0(tc.udpSize, false)
		}
		rec := dnstest.NewRecorder(&test.ResponseWriter{TCP: tc.tcp})
		if _, err := h.ServeDNS(context.Background(), request.NewScrubWriter(q, rec), q); err != nil {
			t.Fatal(err)
		}
		wire, err := rec.Msg.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if len(wire) > tc.limit || rec.Msg.Truncated == tc.whole || (len(rec.Msg.Answer) == 120) != tc.whole {
			t.Errorf("%+v: %d octets, %d records, TC %v", tc, len(wire), len(rec.Msg.Answer), rec.Msg.Truncated)
		}
		if (rec.Msg.IsEdns0() != nil) != (tc.udpSize > 0) {
			t.Errorf("%+v: OPT %v", tc, rec.Msg.IsEdns0())
		}
	}
}
