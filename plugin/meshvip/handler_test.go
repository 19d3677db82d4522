package meshvip

import (
	"context"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// fakeTable is a table whose state a test sets.
type fakeTable struct {
	serial           atomic.Uint32
	loading, syncing atomic.Bool
	pools            atomic.Pointer[[]netip.Prefix]
}

func newFakeTable(pools ...string) *fakeTable {
	t := new(fakeTable)
	t.serial.Store(7)
	t.setPools(pools...)
	return t
}

func (t *fakeTable) setPools(pools ...string) { p := prefixes(pools...); t.pools.Store(&p) }
func (t *fakeTable) Serial() uint32           { return t.serial.Load() }
func (t *fakeTable) Loaded() bool             { return !t.loading.Load() }
func (t *fakeTable) Synced() bool             { return !t.syncing.Load() }
func (t *fakeTable) Pools() []netip.Prefix    { return *t.pools.Load() }

// row returns a row that each of meshes lists; addrs is "v4", "v6" or "v4 v6".
func row(entry, addrs string, meshes ...string) *vip.Row {
	e, err := vip.ParseEntry(entry)
	if err != nil {
		panic(err)
	}
	r := &vip.Row{Entry: e}
	for _, s := range strings.Fields(addrs) {
		if a := netip.MustParseAddr(s); a.Is4() {
			r.V4 = a
		} else {
			r.V6 = a
		}
	}
	for _, m := range meshes {
		r.Listings = append(r.Listings, vip.Listing{Mesh: m, Name: e.Name})
	}
	return r
}

// world is the table of these tests: two meshes, both families, every kind.
var world = []*vip.Row{
	row("0:backend", "240.0.0.1 fd00:6d76::1", "east"),
	row("0:v4only", "240.0.0.2", "east", "west"),
	row("0:v6only", "fd00:6d76::ab", "east"),
	row("0:Kiosk_kuma-demo_svc_5678", "240.0.0.3", "east"),
	row("1:httpbin.org", "240.0.0.4", "east"),
	row("2:api.payments.mesh", "240.0.1.5", "east"),
	row("0:hidden", "240.9.0.6", "west"),
	row("0:a.b", "240.0.0.7", "east"),
	row("0:top", "240.0.0.0", "east"),
	row("1:elsewhere.example", "240.0.0.8", "east"),
}

// fixture is one server block over the world.
type fixture struct {
	lines   string // the block's properties
	zones   string // default "mesh"
	pools   []string
	rows    []*vip.Row
	loading bool // the table is not loaded
	syncing bool // the source is not read
}

// handler returns the block's handler, whose next plugin says REFUSED, and
// nothing of ours does for an ordinary question.
func (s fixture) handler(t testing.TB) (*Handler, *fakeTable, *names.Index) {
	t.Helper()
	if s.zones == "" {
		s.zones = "mesh"
	}
	if s.pools == nil {
		s.pools = []string{"240.0.0.0/8", "fd00:6d76::/64"}
	}
	if s.rows == nil {
		s.rows = world
	}
	cfg, err := parseIn("", "meshvip "+s.zones+" {\n"+s.lines+"\n}")
	if err != nil {
		t.Fatal(err)
	}
	tab := newFakeTable(s.pools...)
	tab.loading.Store(s.loading)
	tab.syncing.Store(s.syncing)
	x := names.NewIndex()
	x.SetZones(cfg.Block.Forward)
	for _, r := range s.rows {
		x.Apply([]names.Change{{New: r}})
	}
	v := x.View(cfg.Block.Meshes.Value)
	t.Cleanup(v.Close)
	h := newHandler(cfg.Block, cfg.Runtime.Cooldown.Value, []string{"first.example."}, tab, x, v)
	h.Next = plugin.HandlerFunc(func(context.Context, dns.ResponseWriter, *dns.Msg) (int, error) {
		return rcodeNext, nil
	})
	return h, tab, x
}

// rcodeNext is what the next plugin of the tests says.
const rcodeNext = 4000

// answer is a reply in words.
type answer struct {
	Rcode             string // "NEXT" from the next plugin
	Answer, Ns, Extra []string
}

// ask sends one question. It fails the test if a reply that we make lacks AA,
// has flags or a question of its own, or cannot be packed.
func ask(t testing.TB, h plugin.Handler, name string, qtype uint16) answer {
	t.Helper()
	q := new(dns.Msg).SetQuestion(name, qtype)
	q.CheckingDisabled = true
	return exchange(t, h, q)
}

func exchange(t testing.TB, h plugin.Handler, q *dns.Msg) answer {
	t.Helper()
	name := q.Question[0].Name
	w := dnstest.NewRecorder(&test.ResponseWriter{})
	rcode, err := h.ServeDNS(context.Background(), w, q)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if rcode == rcodeNext {
		return answer{Rcode: "NEXT"}
	}
	m := w.Msg
	if m == nil {
		return answer{Rcode: dns.RcodeToString[rcode] + " unwritten"}
	}
	if rcode != dns.RcodeSuccess {
		t.Errorf("%s: a reply was written, and the server told to write %s", name, dns.RcodeToString[rcode])
	}
	want := dns.MsgHdr{Id: q.Id, Response: true, Opcode: q.Opcode, Authoritative: true, RecursionDesired: q.RecursionDesired, CheckingDisabled: q.CheckingDisabled, Rcode: m.Rcode}
	if m.MsgHdr != want {
		t.Errorf("%s: header %+v, want %+v", name, m.MsgHdr, want)
	}
	if len(m.Question) != 1 || m.Question[0] != q.Question[0] {
		t.Errorf("%s: question %v, want %v", name, m.Question, q.Question)
	}
	if _, err := m.Pack(); err != nil {
		t.Errorf("%s: packing: %v", name, err)
	}
	return answer{dns.RcodeToString[m.Rcode], texts(m.Answer), texts(m.Ns), texts(m.Extra)}
}

// texts returns records as a zone file has them, with single spaces.
func texts(rrs []dns.RR) []string {
	var s []string
	for _, rr := range rrs {
		s = append(s, strings.Join(strings.Fields(rr.String()), " "))
	}
	return s
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
			{"backend.mesh.", dns.TypeSRV, noData("mesh. " + soaMesh)},
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
			h, _, _ := block.handler(t)
			for _, tc := range block.cases {
				if diff := cmp.Diff(tc.want, ask(t, h, tc.name, tc.qtype)); diff != "" {
					t.Errorf("%s %s (-want +got):\n%s", tc.name, dns.TypeToString[tc.qtype], diff)
				}
			}
		})
	}
}

// cases are questions to one block.
type cases []struct {
	name  string
	qtype uint16
	want  answer
}

func TestOtherOpcodesAreNotAnsweredAsQuestions(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{}.handler(t)
	for opcode, want := range map[int]string{
		dns.OpcodeNotify: "NOERROR unwritten", // dropped, as plugin file drops it
		dns.OpcodeUpdate: "NOTIMP unwritten",
		dns.OpcodeStatus: "NOTIMP unwritten",
	} {
		q := new(dns.Msg).SetQuestion("mesh.", dns.TypeSOA)
		q.Opcode = opcode
		if got := exchange(t, h, q); got.Rcode != want {
			t.Errorf("%s of our zone: %s, want %s", dns.OpcodeToString[opcode], got.Rcode, want)
		}
		q.Question[0].Name = "example.org."
		if got := exchange(t, h, q); got.Rcode != "NEXT" {
			t.Errorf("%s of another zone: %s, want NEXT", dns.OpcodeToString[opcode], got.Rcode)
		}
	}
}

func TestPoolsThatChangeChangeTheReverseZones(t *testing.T) {
	t.Parallel()
	h, tab, _ := fixture{pools: []string{"240.0.0.0/8"}}.handler(t)
	if got := ask(t, h, "1.0.0.241.in-addr.arpa.", dns.TypePTR); got.Rcode != "NEXT" {
		t.Errorf("before: %+v", got)
	}
	tab.setPools("241.0.0.0/8")
	if got := ask(t, h, "1.0.0.241.in-addr.arpa.", dns.TypePTR); got.Rcode != "NXDOMAIN" {
		t.Errorf("a pool that has come: %+v", got)
	}
	if got := ask(t, h, "1.0.0.240.in-addr.arpa.", dns.TypePTR); got.Rcode != "NEXT" {
		t.Errorf("a pool that has gone: %+v", got)
	}
}

func TestTheSerialIsTheTables(t *testing.T) {
	t.Parallel()
	h, tab, _ := fixture{}.handler(t)
	tab.serial.Store(4294967295)
	if got := ask(t, h, "mesh.", dns.TypeSOA); !strings.Contains(got.Answer[0], " 4294967295 ") {
		t.Errorf("SOA %v", got.Answer)
	}
	tab.serial.Store(1)
	if got := ask(t, h, "nope.mesh.", dns.TypeA); !strings.Contains(got.Ns[0], " 1 ") {
		t.Errorf("SOA %v", got.Ns)
	}
}

// A later plugin changes the records of a reply in place, and appends others.
func TestRepliesShareNothing(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{lines: "ns 192.0.2.53"}.handler(t)
	for _, q := range []struct {
		name  string
		qtype uint16
	}{
		{"backend.mesh.", dns.TypeA},
		{"backend.mesh.", dns.TypeAAAA},
		{"1.0.0.240.in-addr.arpa.", dns.TypePTR},
		{"mesh.", dns.TypeSOA},
		{"mesh.", dns.TypeNS},
		{"ns.dns.mesh.", dns.TypeA},
		{"nope.mesh.", dns.TypeA},
	} {
		want := ask(t, h, q.name, q.qtype)
		w := dnstest.NewRecorder(&test.ResponseWriter{})
		if _, err := h.ServeDNS(context.Background(), w, new(dns.Msg).SetQuestion(q.name, q.qtype)); err != nil {
			t.Fatal(err)
		}
		opt := &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
		answered := len(w.Msg.Answer)
		w.Msg.Answer = append(w.Msg.Answer, opt)
		w.Msg.Ns = append(w.Msg.Ns, opt)
		w.Msg.Extra = append(w.Msg.Extra, opt)
		if answered > 0 && w.Msg.Answer[0] == dns.RR(opt) {
			t.Errorf("%s: appending to one section changes another", q.name)
		}
		for _, rr := range append(w.Msg.Answer, w.Msg.Ns...) {
			*rr.Header() = dns.RR_Header{Name: "changed."}
			switch rr := rr.(type) {
			case *dns.A:
				clear(rr.A)
			case *dns.AAAA:
				clear(rr.AAAA)
			}
		}
		if diff := cmp.Diff(want, ask(t, h, q.name, q.qtype)); diff != "" {
			t.Errorf("%s: the next reply (-want +got):\n%s", q.name, diff)
		}
	}
}

func TestAnswersTakeFewAllocations(t *testing.T) {
	h, _, _ := fixture{}.handler(t)
	w := &discard{}
	for _, tc := range []struct {
		name  string
		qtype uint16
		max   float64
	}{
		{"backend.mesh.", dns.TypeA, 1},
		{"BACKEND.mesh.", dns.TypeA, 3}, // the folded name, twice its size while it is made
		{"backend.mesh.", dns.TypeAAAA, 1},
		{"1.0.0.240.in-addr.arpa.", dns.TypePTR, 2}, // with the target
		{full6("1."), dns.TypePTR, 2},
		{"nope.mesh.", dns.TypeA, 1},
		{"v4only.mesh.", dns.TypeAAAA, 1},
	} {
		q := new(dns.Msg).SetQuestion(tc.name, tc.qtype)
		ctx := context.Background()
		if n := testing.AllocsPerRun(200, func() { _, _ = h.ServeDNS(ctx, w, q) }); n > tc.max {
			t.Errorf("%s %s: %v allocations, at most %v wanted", tc.name, dns.TypeToString[tc.qtype], n, tc.max)
		}
	}
}

// discard is a writer that costs nothing.
type discard struct {
	test.ResponseWriter
	written int
}

func (d *discard) WriteMsg(*dns.Msg) error { d.written++; return nil }

// Any message that can come off the wire is answered or passed on, and what is
// answered is packed again, names the question, and gives no address that the
// table does not have for the name.
func FuzzServeDNS(f *testing.F) {
	for _, name := range []string{"backend.mesh.", "Mesh.", ".", "1.0.0.240.in-addr.arpa.", full6("1."), "\\000\\.\\\\.mesh.", "ns.dns.", "in-addr.arpa."} {
		for _, qtype := range []uint16{dns.TypeA, dns.TypePTR, dns.TypeANY, dns.TypeAXFR, dns.TypeNS} {
			wire, err := new(dns.Msg).SetQuestion(name, qtype).Pack()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(wire)
		}
	}
	h, _, _ := fixture{zones: "mesh . 240.0.0.0/8 240.0.0.0/24", lines: "ns 192.0.2.53", pools: []string{"240.0.0.0/9", "fd00:6d76::/50"}}.handler(f)
	addrs := make(map[string]bool)
	for _, r := range world {
		for _, a := range r.Addrs() {
			addrs[a.String()] = true
		}
	}
	addrs["192.0.2.53"] = true
	f.Fuzz(func(t *testing.T, wire []byte) {
		q := new(dns.Msg)
		if q.Unpack(wire) != nil {
			return
		}
		w := dnstest.NewRecorder(&test.ResponseWriter{})
		rcode, err := h.ServeDNS(context.Background(), w, q)
		if err != nil || w.Msg == nil {
			if rcode == dns.RcodeNameError {
				t.Fatal("NXDOMAIN was not written")
			}
			return
		}
		m := w.Msg
		if _, err := m.Pack(); err != nil {
			t.Fatalf("packing %v: %v", m, err)
		}
		if !m.Authoritative || !m.Response || m.Id != q.Id || m.Question[0] != q.Question[0] {
			t.Fatalf("reply %v", m)
		}
		if len(m.Answer) == 0 && len(m.Ns) != 1 {
			t.Fatalf("a negative reply without its SOA: %v", m)
		}
		for _, rr := range m.Answer {
			if rr.Header().Rrtype != q.Question[0].Qtype || rr.Header().Name != q.Question[0].Name {
				t.Fatalf("%v answers %v", rr, q.Question[0])
			}
			switch rr := rr.(type) {
			case *dns.A:
				if !addrs[rr.A.String()] {
					t.Fatalf("nobody has %v", rr)
				}
			case *dns.PTR:
				if got := ask(t, h, rr.Ptr, dns.TypeA); got.Rcode != "NOERROR" {
					t.Fatalf("%v is not a name: %+v", rr, got)
				}
			}
		}
	})
}

func TestReadersAndWritersDoNotMeet(t *testing.T) {
	t.Parallel()
	h, tab, x := fixture{}.handler(t)
	ctx, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		old := world[0]
		for i := uint32(8); ctx.Err() == nil; i++ {
			fresh := row("0:backend", netip.AddrFrom4([4]byte{240, 5, byte(i >> 8), byte(i)}).String(), "east")
			x.Apply([]names.Change{{Old: old, New: fresh}})
			old = fresh
			tab.serial.Store(i)
			if i%8 == 0 {
				tab.setPools("240.0.0.0/8", "fd00:6d76::/64")
			}
		}
	}()
	for ctx.Err() == nil {
		got := ask(t, h, "backend.mesh.", dns.TypeA)
		if got.Rcode != "NOERROR" || len(got.Answer) != 1 {
			t.Fatalf("while its address changes, backend is %+v", got)
		}
		ask(t, h, "1.0.5.240.in-addr.arpa.", dns.TypePTR)
	}
	<-done
}
