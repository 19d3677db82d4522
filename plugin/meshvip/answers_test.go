package meshvip

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// cases are questions to one block.
type cases []struct {
	name  string
	qtype uint16
	want  answer
}

const (
	soaMesh = "5 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 86340 5"
	soa240  = "5 IN SOA ns.dns.240.in-addr.arpa. hostmaster.240.in-addr.arpa. 7 60 30 86340 5"
	zone6   = "0.0.0.0.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa."
	soa6    = "5 IN SOA ns.dns." + zone6 + " hostmaster." + zone6 + " 7 60 30 86340 5"
)

func found(rrs ...string) answer { return answer{Rcode: "NOERROR", Answer: rrs} }
func noData(soa string) answer   { return answer{Rcode: "NOERROR", Ns: []string{soa}} }
func noName(soa string) answer   { return answer{Rcode: "NXDOMAIN", Ns: []string{soa}} }

var (
	next     = answer{Rcode: "NEXT"}
	servfail = answer{Rcode: "SERVFAIL unwritten"}
)

// full6 is the reverse name of fd00:6d76::NN.
func full6(nibbles string) string { return nibbles + strings.Repeat("0.", 16-len(nibbles)/2) + zone6 }

func TestHowItAnswers(t *testing.T) {
	t.Parallel()
	ns := []string{"ns.dns.mesh. 60 IN A 192.0.2.53", "ns.dns.mesh. 60 IN AAAA 2001:db8::53"}
	for _, block := range []struct {
		what string
		fixture
		cases cases
	}{
		{"plain", fixture{lines: "ns 2001:db8::53 192.0.2.53"}, cases{
			{"backend.mesh.", dns.TypeA, found("backend.mesh. 60 IN A 240.0.0.1")},
			{"backend.mesh.", dns.TypeAAAA, found("backend.mesh. 60 IN AAAA fd00:6d76::1")},
			{"v4only.mesh.", dns.TypeAAAA, noData("mesh. " + soaMesh)},
			{"v6only.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"BaCkEnD.MeSh.", dns.TypeA, found("BaCkEnD.MeSh. 60 IN A 240.0.0.1")},
			{"BaCkEnD.MeSh.", dns.TypeTXT, noData("MeSh. " + soaMesh)},
			{"backend.mesh.", dns.TypeSRV, answer{
				Rcode: "NOERROR", Answer: []string{"backend.mesh. 60 IN SRV 0 100 80 backend.mesh."},
				Extra: []string{"backend.mesh. 60 IN A 240.0.0.1", "backend.mesh. 60 IN AAAA fd00:6d76::1"},
			}},
			{"backend.mesh.", dns.TypeTXT, noData("mesh. " + soaMesh)},
			{"backend.mesh.", dns.TypeMX, noData("mesh. " + soaMesh)},
			{"backend.mesh.", dns.TypeHTTPS, noData("mesh. " + soaMesh)},
			{"backend.mesh.", dns.TypeCNAME, noData("mesh. " + soaMesh)},
			{"backend.mesh.", dns.TypeSOA, noData("mesh. " + soaMesh)},
			{"backend.mesh.", dns.TypeNS, noData("mesh. " + soaMesh)},
			{"backend.mesh.", dns.TypeDS, noData("mesh. " + soaMesh)},
			{"backend.mesh.", dns.TypePTR, noData("mesh. " + soaMesh)},
			{"backend.mesh.", 65280, noData("mesh. " + soaMesh)},
			{"nope.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},
			{"nope.mesh.", dns.TypeHINFO, noName("mesh. " + soaMesh)},
			{"nope.mesh.", dns.TypeTXT, noName("mesh. " + soaMesh)},
			{"nope.mesh.", dns.TypeNS, noName("mesh. " + soaMesh)},
			{"nope.mesh.", dns.TypeANY, noName("mesh. " + soaMesh)},
			{"NoPe.MESH.", dns.TypeSRV, noName("MESH. " + soaMesh)},
			{"zz.backend.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},

			{"kiosk_kuma-demo_svc_5678.mesh.", dns.TypeA, found("kiosk_kuma-demo_svc_5678.mesh. 60 IN A 240.0.0.3")},
			{"kiosk.kuma-demo.svc.5678.mesh.", dns.TypeA, found("kiosk.kuma-demo.svc.5678.mesh. 60 IN A 240.0.0.3")},
			{"kuma-demo.svc.5678.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"5678.mesh.", dns.TypeTXT, noData("mesh. " + soaMesh)},
			{"b.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"zz.b.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},
			{"a\\.b.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},
			{"api.payments.mesh.", dns.TypeA, found("api.payments.mesh. 60 IN A 240.0.1.5")},
			{"payments.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},

			{"mesh.", dns.TypeSOA, found("mesh. 60 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 86340 5")},
			{"MESH.", dns.TypeSOA, found("MESH. 60 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 86340 5")},
			{"mesh.", dns.TypeNS, answer{Rcode: "NOERROR", Answer: []string{"mesh. 60 IN NS ns.dns.mesh."}, Extra: ns}},
			{"mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"mesh.", dns.TypePTR, noData("mesh. " + soaMesh)},
			{"mesh.", dns.TypeANY, noData("mesh. " + soaMesh)},
			{"ns.dns.mesh.", dns.TypeA, found("ns.dns.mesh. 60 IN A 192.0.2.53")},
			{"Ns.dns.mesh.", dns.TypeAAAA, found("Ns.dns.mesh. 60 IN AAAA 2001:db8::53")},
			{"ns.dns.mesh.", dns.TypeTXT, noData("mesh. " + soaMesh)},
			{"dns.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"x.dns.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},
			{"x.ns.dns.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},

			{"1.0.0.240.in-addr.arpa.", dns.TypePTR, found("1.0.0.240.in-addr.arpa. 60 IN PTR backend.mesh.")},
			{"1.0.0.240.IN-addr.ARPA.", dns.TypePTR, found("1.0.0.240.IN-addr.ARPA. 60 IN PTR backend.mesh.")},
			{"3.0.0.240.in-addr.arpa.", dns.TypePTR, found("3.0.0.240.in-addr.arpa. 60 IN PTR kiosk.kuma-demo.svc.5678.mesh.")},
			{"5.1.0.240.in-addr.arpa.", dns.TypePTR, found("5.1.0.240.in-addr.arpa. 60 IN PTR api.payments.mesh.")},
			{full6("1."), dns.TypePTR, found(full6("1.") + " 60 IN PTR backend.mesh.")},
			{full6("b.a."), dns.TypePTR, found(full6("b.a.") + " 60 IN PTR v6only.mesh.")},
			{full6("B.a."), dns.TypePTR, found(full6("B.a.") + " 60 IN PTR v6only.mesh.")},
			{full6("c.a."), dns.TypePTR, noName(zone6 + " " + soa6)},
			{"200.0.0.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
			{"4.0.0.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)}, // httpbin.org is in no zone of the block
			{"6.0.9.240.in-addr.arpa.", dns.TypePTR, found("6.0.9.240.in-addr.arpa. 60 IN PTR hidden.mesh.")},
			{"1.0.0.239.in-addr.arpa.", dns.TypePTR, next},
			{"in-addr.arpa.", dns.TypeSOA, next},
			{"arpa.", dns.TypeSOA, next},
			{"0.240.in-addr.arpa.", dns.TypePTR, noData("240.in-addr.arpa. " + soa240)},
			{"0.0.240.in-addr.arpa.", dns.TypeA, noData("240.in-addr.arpa. " + soa240)},
			{"77.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
			{"01.0.0.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
			{"1.1.0.0.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
			{"0x1.0.0.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
			{"257.0.0.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
			{"1.0.0.0.0.0.0.f.f.f.f.f." + strings.Repeat("0.", 20) + "ip6.arpa.", dns.TypePTR, next},
			{"1.0.0.240.in-addr.arpa.", dns.TypeA, noData("240.in-addr.arpa. " + soa240)},
			{"1.0.0.240.in-addr.arpa.", dns.TypeANY, noData("240.in-addr.arpa. " + soa240)},
			{"200.0.0.240.in-addr.arpa.", dns.TypeA, noName("240.in-addr.arpa. " + soa240)},
			{"240.IN-ADDR.arpa.", dns.TypeSOA, found("240.IN-ADDR.arpa. 60 IN SOA ns.dns.240.in-addr.arpa. hostmaster.240.in-addr.arpa. 7 60 30 86340 5")},
			{"240.in-addr.arpa.", dns.TypePTR, noData("240.in-addr.arpa. " + soa240)},
			{"240.in-addr.arpa.", dns.TypeNS, answer{Rcode: "NOERROR", Answer: []string{"240.in-addr.arpa. 60 IN NS ns.dns.240.in-addr.arpa."}, Extra: []string{
				"ns.dns.240.in-addr.arpa. 60 IN A 192.0.2.53", "ns.dns.240.in-addr.arpa. 60 IN AAAA 2001:db8::53",
			}}},
			{"ns.dns.240.in-addr.arpa.", dns.TypeA, found("ns.dns.240.in-addr.arpa. 60 IN A 192.0.2.53")},
			{"dns.240.in-addr.arpa.", dns.TypeA, noData("240.in-addr.arpa. " + soa240)},

			{"backend.mesh.example.", dns.TypeA, next},
			{"backendmesh.", dns.TypeA, next},
			{"backend\\.mesh.", dns.TypeA, next},
			{"httpbin.org.", dns.TypeA, next},
			{".", dns.TypeNS, next},
			{"backend.mesh.", dns.TypeAXFR, answer{Rcode: "REFUSED unwritten"}},
			{"mesh.", dns.TypeIXFR, answer{Rcode: "REFUSED unwritten"}},
		}},
		{"no v6 pool, own TTLs", fixture{lines: "ttl 3\nnegative_ttl 10\ncooldown 1h\nns 192.0.2.53", pools: []string{"240.0.0.0/8"}}, cases{
			{"v4only.mesh.", dns.TypeA, found("v4only.mesh. 3 IN A 240.0.0.2")},
			{"v4only.mesh.", dns.TypeAAAA, noData("mesh. 3 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 3597 10")},
			{"nope.mesh.", dns.TypeA, noName("mesh. 3 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 3597 10")},
			{"mesh.", dns.TypeSOA, found("mesh. 3 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 3597 10")},
			{"mesh.", dns.TypeNS, answer{Rcode: "NOERROR", Answer: []string{"mesh. 3 IN NS ns.dns.mesh."}, Extra: []string{"ns.dns.mesh. 3 IN A 192.0.2.53"}}},
			{"ns.dns.mesh.", dns.TypeAAAA, noData("mesh. 3 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 3597 10")},
			{full6("1."), dns.TypePTR, next},
		}},
		{"no address of its own", fixture{lines: "cooldown 10000h"}, cases{
			{"mesh.", dns.TypeNS, found("mesh. 60 IN NS ns.dns.mesh.")},
			{"ns.dns.mesh.", dns.TypeA, noData("mesh. 5 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 604800 5")},
		}},
		{"cooldown no longer than the ttl", fixture{lines: "ttl 60\ncooldown 60s"}, cases{
			{"mesh.", dns.TypeSOA, found("mesh. 60 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 0 5")},
		}},
		{"meshes", fixture{lines: "meshes east"}, cases{
			{"hidden.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},
			{"v4only.mesh.", dns.TypeA, found("v4only.mesh. 60 IN A 240.0.0.2")},
			{"6.0.9.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
			{"9.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
		}},
		{"fallthrough everywhere", fixture{lines: "meshes east\nfallthrough"}, cases{
			{"nope.mesh.", dns.TypeA, next},
			{"v4only.mesh.", dns.TypeAAAA, noData("mesh. " + soaMesh)},
			{"payments.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"dns.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"200.0.0.240.in-addr.arpa.", dns.TypePTR, next},
			{"6.0.9.240.in-addr.arpa.", dns.TypePTR, next},
			{"4.0.0.240.in-addr.arpa.", dns.TypePTR, next},
			{"77.240.in-addr.arpa.", dns.TypePTR, next},
			{"01.0.0.240.in-addr.arpa.", dns.TypePTR, next},
			{"1.0.0.240.in-addr.arpa.", dns.TypeA, noData("240.in-addr.arpa. " + soa240)},
		}},
		{"fallthrough by zone", fixture{lines: "fallthrough 240.0.0.0/16 Sub.mesh"}, cases{
			{"200.0.0.240.in-addr.arpa.", dns.TypePTR, next},
			{"200.0.1.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
			{"nope.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},
			{"nope.SUB.mesh.", dns.TypeA, next},
			{"nope.xsub.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},
		}},
		{"not loaded", fixture{lines: "fallthrough", loading: true, rows: []*vip.Row{}}, cases{
			{"backend.mesh.", dns.TypeA, servfail},
			{"mesh.", dns.TypeSOA, servfail},
			{"ns.dns.mesh.", dns.TypeA, servfail},
			{"1.0.0.240.in-addr.arpa.", dns.TypePTR, servfail},
			{"1.0.0.239.in-addr.arpa.", dns.TypePTR, next},
			{"elsewhere.", dns.TypeA, next},
		}},
		{"not synced", fixture{syncing: true}, cases{
			{"backend.mesh.", dns.TypeA, found("backend.mesh. 60 IN A 240.0.0.1")},
			{"v4only.mesh.", dns.TypeAAAA, noData("mesh. " + soaMesh)},
			{"payments.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"mesh.", dns.TypeSOA, found("mesh. 60 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 86340 5")},
			{"nope.mesh.", dns.TypeA, servfail},
			{"200.0.0.240.in-addr.arpa.", dns.TypePTR, servfail},
			{"77.240.in-addr.arpa.", dns.TypePTR, servfail},
			{"1.0.0.240.in-addr.arpa.", dns.TypePTR, found("1.0.0.240.in-addr.arpa. 60 IN PTR backend.mesh.")},
		}},
		{"not synced, with fallthrough", fixture{syncing: true, lines: "fallthrough"}, cases{
			{"backend.mesh.", dns.TypeA, found("backend.mesh. 60 IN A 240.0.0.1")},
			{"nope.mesh.", dns.TypeA, next},
			{"200.0.0.240.in-addr.arpa.", dns.TypePTR, next},
		}},
		{"several zones", fixture{zones: "Mesh httpbin.org deep.er.mesh"}, cases{
			{"httpbin.org.", dns.TypeA, found("httpbin.org. 60 IN A 240.0.0.4")},
			{"httpbin.org.", dns.TypeSOA, found("httpbin.org. 60 IN SOA ns.dns.httpbin.org. hostmaster.httpbin.org. 7 60 30 86340 5")},
			{"backend.deep.er.mesh.", dns.TypeA, found("backend.deep.er.mesh. 60 IN A 240.0.0.1")},
			{"nope.deep.er.mesh.", dns.TypeA, noName("deep.er.mesh. 5 IN SOA ns.dns.deep.er.mesh. hostmaster.deep.er.mesh. 7 60 30 86340 5")},
			{"er.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"x.er.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},
			{"4.0.0.240.in-addr.arpa.", dns.TypePTR, found("4.0.0.240.in-addr.arpa. 60 IN PTR httpbin.org.")},
			{"1.0.0.240.in-addr.arpa.", dns.TypePTR, found("1.0.0.240.in-addr.arpa. 60 IN PTR backend.mesh.")},
		}},
		{"a zone that takes the name server's place", fixture{zones: "mesh dns.mesh", lines: "ns 192.0.2.53"}, cases{
			{"ns.dns.mesh.", dns.TypeA, found("ns.dns.mesh. 60 IN A 192.0.2.53")},
			{"ns.dns.dns.mesh.", dns.TypeA, found("ns.dns.dns.mesh. 60 IN A 192.0.2.53")},
		}},
		{"the root", fixture{zones: ".", lines: "ns 192.0.2.53\nfallthrough org"}, cases{
			{"httpbin.org.", dns.TypeA, found("httpbin.org. 60 IN A 240.0.0.4")},
			{"org.", dns.TypeA, noData(". 5 IN SOA ns.dns. hostmaster. 7 60 30 86340 5")},
			{"google.org.", dns.TypeA, next},
			{"google.com.", dns.TypeA, noName(". 5 IN SOA ns.dns. hostmaster. 7 60 30 86340 5")},
			{"backend.", dns.TypeA, noName(". 5 IN SOA ns.dns. hostmaster. 7 60 30 86340 5")},
			{".", dns.TypeNS, answer{Rcode: "NOERROR", Answer: []string{". 60 IN NS ns.dns."}, Extra: []string{"ns.dns. 60 IN A 192.0.2.53"}}},
			{"ns.dns.", dns.TypeA, found("ns.dns. 60 IN A 192.0.2.53")},
			{"dns.", dns.TypeA, noData(". 5 IN SOA ns.dns. hostmaster. 7 60 30 86340 5")},
			{"4.0.0.240.in-addr.arpa.", dns.TypePTR, found("4.0.0.240.in-addr.arpa. 60 IN PTR httpbin.org.")},
			{"4.0.0.10.in-addr.arpa.", dns.TypePTR, next},
		}},
		{"listed reverse zones", fixture{zones: "mesh 240.0.0.0/16"}, cases{
			{"1.0.0.240.in-addr.arpa.", dns.TypePTR, found("1.0.0.240.in-addr.arpa. 60 IN PTR backend.mesh.")},
			{"6.0.9.240.in-addr.arpa.", dns.TypePTR, next},
			{"240.in-addr.arpa.", dns.TypeSOA, next},
			{full6("1."), dns.TypePTR, next},
			{"0.240.in-addr.arpa.", dns.TypeSOA, found("0.240.in-addr.arpa. 60 IN SOA ns.dns.0.240.in-addr.arpa. hostmaster.0.240.in-addr.arpa. 7 60 30 86340 5")},
		}},
		{"a zone inside a zone of the reverse tree", fixture{zones: "mesh 240.0.0.0/8 240.77.1.0/24"}, cases{
			{"77.240.in-addr.arpa.", dns.TypePTR, noData("240.in-addr.arpa. " + soa240)},
			{"1.77.240.in-addr.arpa.", dns.TypePTR, noData("1.77.240.in-addr.arpa. 5 IN SOA ns.dns.1.77.240.in-addr.arpa. hostmaster.1.77.240.in-addr.arpa. 7 60 30 86340 5")},
		}},
		{"reverse zones only", fixture{zones: "240.0.0.0/8"}, cases{
			{"backend.mesh.", dns.TypeA, next},
			{"1.0.0.240.in-addr.arpa.", dns.TypePTR, found("1.0.0.240.in-addr.arpa. 60 IN PTR backend.first.example.")},
		}},
		{"pools off the boundary", fixture{pools: []string{"240.0.0.0/29", "240.16.0.0/12", "fd00:6d76::/50"}}, cases{
			{"1.0.0.240.in-addr.arpa.", dns.TypePTR, found("1.0.0.240.in-addr.arpa. 60 IN PTR backend.mesh.")},
			{"1.0.0.240.in-addr.arpa.", dns.TypeSOA, found("1.0.0.240.in-addr.arpa. 60 IN SOA ns.dns.1.0.0.240.in-addr.arpa. hostmaster.1.0.0.240.in-addr.arpa. 7 60 30 86340 5")},
			{"5.0.0.240.in-addr.arpa.", dns.TypePTR, noData("5.0.0.240.in-addr.arpa. 5 IN SOA ns.dns.5.0.0.240.in-addr.arpa. hostmaster.5.0.0.240.in-addr.arpa. 7 60 30 86340 5")},
			{"8.0.0.240.in-addr.arpa.", dns.TypePTR, next},
			{"0.0.240.in-addr.arpa.", dns.TypePTR, next},
			{"1.0.31.240.in-addr.arpa.", dns.TypePTR, noName("31.240.in-addr.arpa. 5 IN SOA ns.dns.31.240.in-addr.arpa. hostmaster.31.240.in-addr.arpa. 7 60 30 86340 5")},
			{"1.0.32.240.in-addr.arpa.", dns.TypePTR, next},
			{full6("1."), dns.TypePTR, found(full6("1.") + " 60 IN PTR backend.mesh.")},
			{"4.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa.", dns.TypePTR, next},
		}},
		{"no pool", fixture{pools: []string{}}, cases{
			{"backend.mesh.", dns.TypeA, found("backend.mesh. 60 IN A 240.0.0.1")},
			{"1.0.0.240.in-addr.arpa.", dns.TypePTR, next},
		}},
	} {
		t.Run(block.what, func(t *testing.T) {
			t.Parallel()
			block.cases.check(t, block.fixture)
		})
	}
}

// told returns a row of a kind that is keyed by its mesh, "TYPE:MESH/NAME", with
// hostnames and given addresses, separated by spaces.
func told(entry, hostnames, given string) *vip.Row {
	r := row(entry, "")
	terms := &vip.Terms{Hostnames: strings.Fields(hostnames)}
	for _, s := range strings.Fields(given) {
		terms.Given = append(terms.Given, netip.MustParseAddr(s))
	}
	r.Listings = []vip.Listing{{Mesh: r.Entry.Mesh, Name: r.Entry.Name, Terms: terms}}
	return r
}

// given are rows whose addresses Kuma gave, or some of them.
var given = []*vip.Row{
	told("3:east/orders", "orders.svc.mesh orders.east.mesh orders.example", "10.1.0.1 240.0.7.1 240.0.7.2 2001:db8::7 fd00:6d76::71 fd00:6d76::72"),
	told("3:east/one4", "one4.mesh", "240.0.7.4"),
	told("3:east/four", "four.mesh", "240.0.7.5 240.0.7.6"),
	told("4:east/six", "six.mesh", "fd00:6d76::75 fd00:6d76::76"),
	told("5:east/abroad", "abroad.example abroad.mesh", "240.0.7.7"),
	told("3:west/twin", "twin.mesh twin.west.mesh", "240.0.7.9"),
	told("3:east/twin", "twin.mesh twin.east.mesh", "240.0.7.9"),
	told("3:east/guest", "guest.mesh", "240.0.0.1"),
	told("3:east/waits", "waits.mesh", ""),
	told("3:east/nameless", "", "240.0.7.10"),
	row("0:backend", "240.0.0.1 fd00:6d76::1", "east"),
}

func TestGivenAddressesAreAnsweredAsTheyStand(t *testing.T) {
	t.Parallel()
	for _, block := range []struct {
		what string
		fixture
		cases cases
	}{
		{"all meshes", fixture{rows: given}, cases{
			{"orders.svc.mesh.", dns.TypeA, found("orders.svc.mesh. 60 IN A 10.1.0.1", "orders.svc.mesh. 60 IN A 240.0.7.1", "orders.svc.mesh. 60 IN A 240.0.7.2")},
			{"Orders.East.mesh.", dns.TypeAAAA, found("Orders.East.mesh. 60 IN AAAA 2001:db8::7", "Orders.East.mesh. 60 IN AAAA fd00:6d76::71", "Orders.East.mesh. 60 IN AAAA fd00:6d76::72")},
			{"orders.svc.mesh.", dns.TypeTXT, noData("mesh. " + soaMesh)},
			{"svc.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"orders.mesh.", dns.TypeA, noName("mesh. " + soaMesh)}, // nobody told it that name
			{"orders.example.", dns.TypeA, next},
			{"one4.mesh.", dns.TypeA, found("one4.mesh. 60 IN A 240.0.7.4")},
			{"one4.mesh.", dns.TypeAAAA, noData("mesh. " + soaMesh)},
			{"four.mesh.", dns.TypeA, found("four.mesh. 60 IN A 240.0.7.5", "four.mesh. 60 IN A 240.0.7.6")},
			{"four.mesh.", dns.TypeAAAA, noData("mesh. " + soaMesh)},
			{"six.mesh.", dns.TypeA, noData("mesh. " + soaMesh)},
			{"six.mesh.", dns.TypeAAAA, found("six.mesh. 60 IN AAAA fd00:6d76::75", "six.mesh. 60 IN AAAA fd00:6d76::76")},
			{"waits.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},

			{"1.7.0.240.in-addr.arpa.", dns.TypePTR, found("1.7.0.240.in-addr.arpa. 60 IN PTR orders.svc.mesh.")},
			{"2.7.0.240.in-addr.arpa.", dns.TypePTR, found("2.7.0.240.in-addr.arpa. 60 IN PTR orders.svc.mesh.")},
			{full6("1.7."), dns.TypePTR, found(full6("1.7.") + " 60 IN PTR orders.svc.mesh.")},
			{full6("2.7."), dns.TypePTR, found(full6("2.7.") + " 60 IN PTR orders.svc.mesh.")},
			// In no zone of ours: but for its PTR it is somebody else's.
			{"1.0.1.10.in-addr.arpa.", dns.TypePTR, found("1.0.1.10.in-addr.arpa. 60 IN PTR orders.svc.mesh.")},
			{"1.0.1.10.in-addr.arpa.", dns.TypeTXT, next},
			{"2.0.1.10.in-addr.arpa.", dns.TypePTR, next},
			{"0.1.10.in-addr.arpa.", dns.TypePTR, next},
			{"7.7.0.240.in-addr.arpa.", dns.TypePTR, found("7.7.0.240.in-addr.arpa. 60 IN PTR abroad.mesh.")},
			{"10.7.0.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
			{"7.0.240.in-addr.arpa.", dns.TypePTR, noData("240.in-addr.arpa. " + soa240)},

			{"twin.mesh.", dns.TypeA, found("twin.mesh. 60 IN A 240.0.7.9")},
			{"twin.west.mesh.", dns.TypeA, found("twin.west.mesh. 60 IN A 240.0.7.9")},
			{"twin.east.mesh.", dns.TypeA, found("twin.east.mesh. 60 IN A 240.0.7.9")},
			{"9.7.0.240.in-addr.arpa.", dns.TypePTR, found("9.7.0.240.in-addr.arpa. 60 IN PTR twin.mesh.")},
			{"guest.mesh.", dns.TypeA, found("guest.mesh. 60 IN A 240.0.0.1")},
			{"1.0.0.240.in-addr.arpa.", dns.TypePTR, found("1.0.0.240.in-addr.arpa. 60 IN PTR backend.mesh.")},
		}},
		{"reverse ranges are listed, and have it", fixture{rows: given, zones: "mesh 240.0.0.0/8 10.1.0.0/16"}, cases{
			{"1.0.1.10.in-addr.arpa.", dns.TypePTR, found("1.0.1.10.in-addr.arpa. 60 IN PTR orders.svc.mesh.")},
			{"2.0.1.10.in-addr.arpa.", dns.TypePTR, next},
			{"1.7.0.240.in-addr.arpa.", dns.TypePTR, found("1.7.0.240.in-addr.arpa. 60 IN PTR orders.svc.mesh.")},
		}},
		{"reverse ranges are listed, and lack it", fixture{rows: given, zones: "mesh 240.0.0.0/8"}, cases{
			{"1.0.1.10.in-addr.arpa.", dns.TypePTR, next},
		}},
		{"one mesh", fixture{rows: given, lines: "meshes west"}, cases{
			{"1.0.1.10.in-addr.arpa.", dns.TypePTR, next},
			{"orders.svc.mesh.", dns.TypeA, noName("mesh. " + soaMesh)},
			{"2.7.0.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
			{"twin.mesh.", dns.TypeA, found("twin.mesh. 60 IN A 240.0.7.9")}, // east's is hidden
			{"twin.west.mesh.", dns.TypeA, found("twin.west.mesh. 60 IN A 240.0.7.9")},
			{"9.7.0.240.in-addr.arpa.", dns.TypePTR, found("9.7.0.240.in-addr.arpa. 60 IN PTR twin.mesh.")},
			{"7.0.240.in-addr.arpa.", dns.TypePTR, noData("240.in-addr.arpa. " + soa240)},
		}},
		{"a zone that covers the second hostname only", fixture{rows: given, zones: "east.mesh"}, cases{
			{"orders.east.mesh.", dns.TypeA, found("orders.east.mesh. 60 IN A 10.1.0.1", "orders.east.mesh. 60 IN A 240.0.7.1", "orders.east.mesh. 60 IN A 240.0.7.2")},
			{"1.7.0.240.in-addr.arpa.", dns.TypePTR, found("1.7.0.240.in-addr.arpa. 60 IN PTR orders.east.mesh.")},
			{"4.7.0.240.in-addr.arpa.", dns.TypePTR, noName("240.in-addr.arpa. " + soa240)},
		}},
	} {
		t.Run(block.what, func(t *testing.T) {
			t.Parallel()
			block.cases.check(t, block.fixture)
		})
	}
}

// check asks a block its questions.
func (c cases) check(t *testing.T, f fixture) {
	t.Helper()
	h, _, _ := f.handler(t)
	for _, tc := range c {
		if diff := cmp.Diff(tc.want, ask(t, h, tc.name, tc.qtype)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tc.name, dns.TypeToString[tc.qtype], diff)
		}
	}
}
