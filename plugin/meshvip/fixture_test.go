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
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// fakeTable is a table whose state a test sets.
type fakeTable struct {
	serial           atomic.Uint32
	loading, syncing atomic.Bool
	stale, follows   atomic.Bool
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
func (t *fakeTable) Leads() bool              { return !t.follows.Load() }
func (t *fakeTable) Stale(time.Duration) bool { return t.stale.Load() }
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
