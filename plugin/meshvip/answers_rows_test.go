package meshvip

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// soa returns the SOA record that a zone has in negative answers of these tests,
// under the given spelling of its name.
func soa(spelling string, ttl, minimum int) string {
	zone := strings.ToLower(spelling)
	prefix := func(labels string) string { return below(labels, zone) }
	return fmt.Sprintf("%s %d IN SOA %s %s 7 60 30 86340 %d", spelling, ttl, prefix("ns.dns."), prefix("hostmaster."), minimum)
}

// shape is a way to write a block's zones, and where the names of services then are.
type shape struct {
	zones  string
	suffix string // in the spelling of the question
	zone   string // of the SOA, in that spelling
}

// shapes are the ways to name a zone that must all answer alike.
var shapes = []shape{
	{"mesh", "mesh.", "mesh."},
	{"mesh.", "mesh.", "mesh."},
	{"MESH", "mesh.", "mesh."},
	{"Mesh. mesh MESH.", "MesH.", "MesH."},
	{"svc.corp.mesh", "svc.corp.mesh.", "svc.corp.mesh."},
	{"Svc.CORP.Mesh.", "svc.corp.mesh.", "svc.corp.mesh."},
	{"svc.corp.mesh", "SVC.corp.MESH.", "SVC.corp.MESH."},
	{"other.example mesh", "mesh.", "mesh."},
	{"mesh other.example", "OTHER.example.", "OTHER.example."},
	{"mesh svc.mesh deep.svc.mesh", "deep.svc.mesh.", "deep.svc.mesh."},
	{"deep.svc.mesh mesh svc.mesh", "svc.mesh.", "svc.mesh."},
	{". mesh", "mesh.", "mesh."},
	{"mesh 240.0.0.0/8 fd00:6d76::/64", "mesh.", "mesh."},
}

// Each row of what the plugin promises holds in each way to name a zone.
func TestEveryRowHoldsInEveryZone(t *testing.T) {
	t.Parallel()
	for _, s := range shapes {
		negative := soa(s.zone, 5, 5)
		at := func(labels string) string { return labels + s.suffix }
		for row, cases := range map[string]cases{
			"A": {
				{at("backend."), dns.TypeA, found(at("backend.") + " 60 IN A 240.0.0.1")},
				{at("BackEnd."), dns.TypeA, found(at("BackEnd.") + " 60 IN A 240.0.0.1")},
				{at("kiosk_KUMA-demo_svc_5678."), dns.TypeA, found(at("kiosk_KUMA-demo_svc_5678.") + " 60 IN A 240.0.0.3")},
				{at("kiosk.KUMA-demo.svc.5678."), dns.TypeA, found(at("kiosk.KUMA-demo.svc.5678.") + " 60 IN A 240.0.0.3")},
			},
			"AAAA": {
				{at("backend."), dns.TypeAAAA, found(at("backend.") + " 60 IN AAAA fd00:6d76::1")},
				{at("v6only."), dns.TypeAAAA, found(at("v6only.") + " 60 IN AAAA fd00:6d76::ab")},
			},
			"an address of the other family only": {
				{at("v4only."), dns.TypeAAAA, noData(negative)},
				{at("v6only."), dns.TypeA, noData(negative)},
			},
			"SRV": {
				{at("backend."), dns.TypeSRV, srv(at("backend."), 100, []uint16{80}, "240.0.0.1", "fd00:6d76::1")},
				{at("v6only."), dns.TypeSRV, srv(at("v6only."), 100, []uint16{80}, "fd00:6d76::ab")},
			},
			"another type": {
				{at("backend."), dns.TypeTXT, noData(negative)},
				{at("backend."), dns.TypeMX, noData(negative)},
				{at("backend."), dns.TypeHTTPS, noData(negative)},
			},
			"ANY": {
				{at("backend."), dns.TypeANY, noData(negative)},
				{at("nope."), dns.TypeANY, noName(negative)},
			},
			"no such name": {
				{at("nope."), dns.TypeA, noName(negative)},
				{at("nope."), dns.TypeSRV, noName(negative)},
				{at("Zz.backend."), dns.TypeAAAA, noName(negative)},
				{at("*."), dns.TypeA, noName(negative)},
			},
			"an ancestor": {
				{at("kuma-demo.svc.5678."), dns.TypeA, noData(negative)},
				{at("svc.5678."), dns.TypeSRV, noData(negative)},
				{at("5678."), dns.TypeANY, noData(negative)},
				{at("dns."), dns.TypeA, noData(negative)},
			},
			"the apex": {
				{s.suffix, dns.TypeSOA, found(soa(s.suffix, 60, 5))},
				{s.suffix, dns.TypeNS, answer{
					Rcode: "NOERROR", Answer: []string{s.suffix + " 60 IN NS " + strings.ToLower(at("ns.dns."))},
					Extra: []string{strings.ToLower(at("ns.dns.")) + " 60 IN A 192.0.2.53"},
				}},
				{at("ns.dns."), dns.TypeA, found(at("ns.dns.") + " 60 IN A 192.0.2.53")},
				{at("Ns.DNS."), dns.TypeAAAA, noData(negative)},
				{s.suffix, dns.TypeA, noData(negative)},
				{s.suffix, dns.TypeAAAA, noData(negative)},
				{s.suffix, dns.TypeDS, noData(negative)},
				{s.suffix, dns.TypeDNSKEY, noData(negative)},
			},
			"PTR of a forward name": {
				{at("backend."), dns.TypePTR, noData(negative)},
				{s.suffix, dns.TypePTR, noData(negative)},
			},
			"a transfer that reaches us": {
				{s.suffix, dns.TypeAXFR, answer{Rcode: "REFUSED unwritten"}},
				{s.suffix, dns.TypeIXFR, answer{Rcode: "REFUSED unwritten"}},
			},
		} {
			t.Run(row+" in "+s.zones+" as "+s.suffix, func(t *testing.T) {
				t.Parallel()
				cases.check(t, fixture{zones: s.zones, lines: "ns 192.0.2.53"})
			})
		}
	}
}

// What a PTR names is, in the block's own answers, at the address.
func TestPTRsAreConfirmedInEveryZone(t *testing.T) {
	t.Parallel()
	for _, s := range shapes {
		h, _, _ := fixture{zones: s.zones}.handler(t)
		for _, r := range world {
			for _, addr := range r.Addrs() {
				name := reverse(t, addr.String())
				got := ask(t, h, name, dns.TypePTR)
				if got.Rcode == "NXDOMAIN" && r.Entry.Kind != vip.Service { // no zone covers it
					continue
				}
				if got.Rcode != "NOERROR" || len(got.Answer) != 1 {
					t.Errorf("%s: PTR of %v: %+v", s.zones, addr, got)
					continue
				}
				target := got.Answer[0][strings.LastIndexByte(got.Answer[0], ' ')+1:]
				qtype := dns.TypeA
				if addr.Is6() {
					qtype = dns.TypeAAAA
				}
				want := found(fmt.Sprintf("%s 60 IN %s %v", target, dns.TypeToString[qtype], addr))
				if diff := cmp.Diff(want, ask(t, h, target, qtype)); diff != "" {
					t.Errorf("%s: %v is %s, and that is (-want +got):\n%s", s.zones, addr, target, diff)
				}
			}
		}
	}
}

// Whatever type is asked for, the name's existence decides, and only what it has
// is answered.
func TestEveryTypeIsAnsweredByWhatStandsAtTheName(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{zones: "mesh .", lines: "ns 192.0.2.53"}.handler(t)
	for name, has := range map[string]string{
		"backend.mesh.":            "A AAAA SRV",
		"v4only.mesh.":             "A SRV",
		"httpbin.org.":             "A SRV",
		"api.payments.mesh.":       "A",
		"mesh.":                    "SOA NS",
		".":                        "SOA NS",
		"240.in-addr.arpa.":        "SOA NS",
		"ns.dns.mesh.":             "A",
		"payments.mesh.":           "",
		"1.0.0.240.in-addr.arpa.":  "PTR",
		"0.0.240.in-addr.arpa.":    "",
		full6("1."):                "PTR",
		"nope.mesh.":               "no such name",
		"77.240.in-addr.arpa.":     "no such name",
		"01.0.0.240.in-addr.arpa.": "no such name",
	} {
		types := " " + has + " "
		for n := range 1 << 16 {
			qtype := uint16(n)
			if qtype > 300 && qtype < dns.TypeTA-2 || qtype > dns.TypeDLV+2 && qtype < 65270 {
				continue // IANA has assigned none of these
			}
			text := dns.TypeToString[qtype]
			want := "NOERROR with nothing"
			switch {
			case qtype == dns.TypeAXFR, qtype == dns.TypeIXFR:
				want = "REFUSED unwritten with nothing"
			case has == "no such name":
				want = "NXDOMAIN with nothing"
			case text != "" && strings.Contains(types, " "+text+" "):
				want = "NOERROR with records"
			}
			a := ask(t, h, name, qtype)
			got := a.Rcode + " with nothing"
			if len(a.Answer) > 0 {
				got = a.Rcode + " with records"
			}
			negative := a.Rcode == "NXDOMAIN" || a.Rcode == "NOERROR" && len(a.Answer) == 0
			if got != want || len(a.Ns) > 1 || negative != (len(a.Ns) == 1) {
				t.Errorf("%s, type %d %s: %s, want %s: %+v", name, qtype, text, got, want, a)
				break
			}
		}
	}
}
