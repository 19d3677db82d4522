package meshvip

import (
	"context"
	"fmt"
	"testing"

	_ "github.com/coredns/coredns/plugin/log"
	"github.com/coredns/coredns/plugin/metadata"
	_ "github.com/coredns/coredns/plugin/rewrite"
	"github.com/coredns/coredns/plugin/test"
	_ "github.com/coredns/coredns/plugin/view"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// values are what plugin metadata says of a question: entry, meshes, addresses.
func values(ctx context.Context) [3]string {
	var v [3]string
	for i, label := range []string{"meshvip/entry", "meshvip/mesh", "meshvip/vip"} {
		v[i] = metadata.ValueFunc(ctx, label)()
	}
	return v
}

// collected returns a context with what h tells plugin metadata of q.
func collected(h *Handler, q *dns.Msg) context.Context {
	return h.Metadata(metadata.ContextWithMetadata(context.Background()), request.Request{Req: q, W: &test.ResponseWriter{}})
}

func TestMetadataTellsWhichEntryIsAskedFor(t *testing.T) {
	t.Parallel()
	rows := append(given[:len(given)-1:len(given)-1], world...)
	none := [3]string{}
	backend := [3]string{"0:backend", "east", "240.0.0.1,fd00:6d76::1"}
	kiosk := [3]string{"0:Kiosk_kuma-demo_svc_5678", "east", "240.0.0.3"}
	shared := [3]string{"0:v4only", "east,west", "240.0.0.2"}
	orders := [3]string{"3:east/orders", "east", "10.1.0.1,240.0.7.1,240.0.7.2,2001:db8::7,fd00:6d76::71,fd00:6d76::72"}
	for _, block := range []struct {
		fixture
		want map[string][3]string // by "NAME TYPE"
	}{
		{fixture{zones: "mesh ."}, map[string][3]string{
			"backend.mesh. A":                  backend,
			"BackEnd.MESH. AAAA":               backend,
			"backend.mesh. SRV":                backend,
			"backend.mesh. TXT":                backend, // NODATA, of this entry
			"1.0.0.240.in-addr.arpa. PTR":      backend,
			"1.0.0.240.in-addr.arpa. A":        backend,
			full6("1.") + " PTR":               backend,
			"kiosk.kuma-demo.svc.5678.mesh. A": kiosk,
			"kiosk_kuma-demo_svc_5678.mesh. A": kiosk,
			"httpbin.org. A":                   {"1:httpbin.org", "east", "240.0.0.4"},
			"api.payments.mesh. A":             {"2:api.payments.mesh", "east", "240.0.1.5"},
			"v4only.mesh. AAAA":                shared,
			"orders.svc.mesh. A":               orders,
			"1.0.1.10.in-addr.arpa. PTR":       orders,
			"1.0.1.10.in-addr.arpa. TXT":       none, // somebody else's zone
			"mesh. SOA":                        none,
			"ns.dns.mesh. A":                   none,
			"payments.mesh. A":                 none,
			"nope.mesh. A":                     none,
			"example. A":                       none,
			"200.0.0.240.in-addr.arpa. PTR":    none,
			"0.0.240.in-addr.arpa. PTR":        none,
			"1.1.0.0.240.in-addr.arpa. PTR":    none,
			"1.0.0.239.in-addr.arpa. PTR":      none,
			"kuma-demo.svc.5678.mesh. SRV":     none,
			"10.7.0.240.in-addr.arpa. PTR":     none, // an entry that has no name
			"twin.mesh. A":                     {"3:east/twin", "east", "240.0.7.9"},
			"\\000\\.\\\\.mesh. A":             none,
			"zz.backend.mesh. A":               none,
			"backend.mesh.example. A":          none,
			"4.0.0.240.in-addr.arpa. PTR":      {"1:httpbin.org", "east", "240.0.0.4"},
			"v6only.mesh. A":                   {"0:v6only", "east", "fd00:6d76::ab"},
			"elsewhere.example. A":             {"1:elsewhere.example", "east", "240.0.0.8"},
			"hidden.mesh. A":                   {"0:hidden", "west", "240.9.0.6"},
		}},
		{fixture{lines: "meshes west"}, map[string][3]string{
			"v4only.mesh. A":                {"0:v4only", "west", "240.0.0.2"},
			"2.0.0.240.in-addr.arpa. PTR":   {"0:v4only", "west", "240.0.0.2"},
			"twin.mesh. A":                  {"3:west/twin", "west", "240.0.7.9"},
			"backend.mesh. A":               none,
			"1.0.0.240.in-addr.arpa. PTR":   none,
			"httpbin.org. A":                none,
			"4.0.0.240.in-addr.arpa. PTR":   none,
			"hidden.mesh. A":                {"0:hidden", "west", "240.9.0.6"},
			"6.0.9.240.in-addr.arpa. PTR":   {"0:hidden", "west", "240.9.0.6"},
			"200.0.0.240.in-addr.arpa. PTR": none,
		}},
		{fixture{loading: true}, map[string][3]string{"backend.mesh. A": none}},
	} {
		block.rows = rows
		h, _, _ := block.handler(t)
		for question, want := range block.want {
			var name, qtype string
			if _, err := fmt.Sscan(question, &name, &qtype); err != nil {
				t.Fatal(err)
			}
			q := new(dns.Msg).SetQuestion(name, dns.StringToType[qtype])
			if got := values(collected(h, q)); got != want {
				t.Errorf("%+v, %s: %q, want %q", block.fixture.lines, question, got, want)
			}
		}
	}
}

// A value that nobody asks for is not looked up.
func TestMetadataThatNobodyAsksForCostsNoLookup(t *testing.T) {
	h, _, _ := fixture{}.handler(t)
	q := new(dns.Msg).SetQuestion("backend.mesh.", dns.TypeA)
	ctx := metadata.ContextWithMetadata(context.Background())
	state := request.Request{Req: q, W: &test.ResponseWriter{}}
	h.Metadata(ctx, state)
	// One closure for each label.
	if n := testing.AllocsPerRun(100, func() { h.Metadata(ctx, state) }); n > 3 {
		t.Errorf("%v allocations, at most 3 wanted", n)
	}
	h.table, h.view = nil, nil // a lookup would not survive that
	h.Metadata(ctx, state)
}

func TestMetadataFollowsAQuestionThatIsRewritten(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{}.handler(t)
	q := new(dns.Msg).SetQuestion("backend.example.", dns.TypeA)
	ctx := collected(h, q)
	q.Question[0].Name = "backend.mesh."
	if got := values(ctx)[0]; got != "0:backend" {
		t.Errorf("behind a rewrite the entry is %q", got)
	}
	q.Question = nil
	if got := values(ctx); got != [3]string{} {
		t.Errorf("without a question: %q", got)
	}
}

func TestTheLogHasTheEntry(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "east", "a", "shared")
	s.services("b.yaml", "west", "shared")
	l := logs(t)
	s.start(`
mesh.:PORT alias.:PORT 240.0.0.0/8:PORT {
	metadata
	log . "{name} is ({/meshvip/entry}) of ({/meshvip/mesh}) at ({/meshvip/vip})"
	rewrite name exact a.alias a.mesh
	meshvip mesh 240.0.0.0/8 {
		pool 240.0.0.0/24
		source file DIR/src
		store memory
	}
}`)
	addr, shared := s.resolves("a.mesh."), s.resolves("shared.mesh.")
	for q, want := range map[string]string{
		"a.mesh.":             "a.mesh. is (0:a) of (east) at (" + addr + ")",
		"A.mesh.":             "a.mesh. is (0:a) of (east) at (" + addr + ")",
		"shared.mesh.":        "shared.mesh. is (0:shared) of (east,west) at (" + shared + ")",
		"nope.mesh.":          "nope.mesh. is () of () at ()",
		"a.alias.":            "a.alias. is (0:a) of (east) at (" + addr + ")",
		reverse(t, addr):      reverse(t, addr) + " is (0:a) of (east) at (" + addr + ")",
		"9.9.9.9.other.mesh.": "9.9.9.9.other.mesh. is () of () at ()",
	} {
		s.ask(q, dns.TypePTR)
		s.wait("the log of "+q, func() bool { return l.has(want) })
	}
}

// Plugin view asks for metadata to choose a server block.
func TestAViewCanChooseByMesh(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "east", "a")
	s.services("b.yaml", "west", "b")
	s.start(`
mesh.:PORT {
	metadata
	view east {
		expr metadata('meshvip/mesh') == 'east'
	}
	meshvip {
		pool 240.0.0.0/24
		source file DIR/src
		store memory
		ttl 7
	}
}
mesh.:PORT {
	meshvip {
		store memory
	}
}`)
	s.resolves("a.mesh.")
	s.resolves("b.mesh.")
	for name, want := range map[string]uint32{"a.mesh.": 7, "b.mesh.": defaultTTL} {
		if r, err := s.query(name, dns.TypeA); err != nil || len(r.Answer) != 1 || r.Answer[0].Header().Ttl != want {
			t.Errorf("%s: %v %v, want the TTL %d", name, r, err, want)
		}
	}
}

var _ metadata.Provider = (*Handler)(nil)
