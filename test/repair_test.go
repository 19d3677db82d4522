package test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// contradiction is what no server writes: records that can all be read, and do
// not agree.
type contradiction struct {
	name string
	// write adds to a delta what makes it of the state.
	write func(s allocator.State, d *allocator.Delta)
	steps []string // what the log says of the repair
	// moves: the entry that has another address after the repair, "" for none.
	moves string
}

var contradictions = []contradiction{
	{"two entries with one address", func(s allocator.State, d *allocator.Delta) {
		d.Rows = append(d.Rows, withV4(s, "web", rowIn(s, "backend").V4))
	}, []string{"entry=0:web ", "0:backend has"}, "web.mesh"},
	{"an address that another entry holds", func(s allocator.State, d *allocator.Delta) {
		d.Addrs = append(d.Addrs, held(s, "backend", allocator.Holding{Owner: vip.Key{Name: "web"}}))
	}, []string{"entry=0:backend "}, ""},
	{"an address in use that is released", func(s allocator.State, d *allocator.Delta) {
		d.Addrs = append(d.Addrs, held(s, "backend", allocator.Holding{Owner: vip.Key{Name: "backend"}, Released: true, Mesh: "default"}))
	}, []string{"entry=0:backend "}, ""},
	{"an address in no pool", func(s allocator.State, d *allocator.Delta) {
		d.Rows = append(d.Rows, withV4(s, "web", netip.MustParseAddr("10.9.9.9")))
	}, []string{"entry=0:web ", "10.9.9.9"}, "web.mesh"},
	{"an address of nobody", func(_ allocator.State, d *allocator.Delta) {
		d.Addrs = append(d.Addrs, allocator.AddrChange{
			Addr: netip.MustParseAddr("240.200.0.1"), New: &allocator.Holding{Owner: vip.Key{Name: "ghost"}},
		})
	}, []string{"entry=0:ghost ", "240.200.0.1"}, ""},
	{"a pool that stands twice", func(_ allocator.State, d *allocator.Delta) {
		d.Meta.Pools = append(slices.Clone(d.Meta.Pools), d.Meta.Pools...)
	}, []string{"240.0.0.0/8"}, ""},
}

// rowIn returns the row of a service.
func rowIn(s allocator.State, service string) *vip.Row {
	return s.Rows[slices.IndexFunc(s.Rows, func(r *vip.Row) bool { return r.Entry.Name == service })]
}

// withV4 returns the change of a service's row to another address, of which the
// address keys know nothing.
func withV4(s allocator.State, service string, addr netip.Addr) allocator.RowChange {
	old := rowIn(s, service)
	row := *old
	row.V4 = addr
	return allocator.RowChange{Key: old.Key(), Old: old, New: &row}
}

// held returns the change of the key of a service's address, of which the rows
// know nothing.
func held(s allocator.State, service string, h allocator.Holding) allocator.AddrChange {
	row := rowIn(s, service)
	return allocator.AddrChange{Addr: row.V4, Old: &allocator.Holding{Owner: row.Key()}, New: &h}
}

// contradict writes contradictions into the store at path.
func contradict(t testing.TB, path string, what ...contradiction) {
	t.Helper()
	store, state := loaded(t, path)
	defer store.Close()
	d := allocator.Delta{Base: state.Meta.Revision, Meta: state.Meta}
	d.Meta.Revision++
	for _, c := range what {
		c.write(state, &d)
	}
	if err := store.Commit(context.Background(), d); err != nil {
		t.Fatal(err)
	}
}

// breaches returns what allocator.Check says of the store at path.
func breaches(t testing.TB, path string) error {
	t.Helper()
	store, state := loaded(t, path)
	defer store.Close()
	return allocator.Check(state)
}

// loaded opens the store at path, and returns it with what it holds.
func loaded(t testing.TB, path string) (*boltstore.Store, allocator.State) {
	t.Helper()
	store, _, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	state, err := store.Load(context.Background())
	if err != nil {
		store.Close()
		t.Fatal(err)
	}
	return store, state
}

func TestATableThatContradictsItselfIsRepaired(t *testing.T) {
	t.Parallel()
	for _, c := range contradictions {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, before := filled(t)
			contradict(t, p.store, c)
			if breaches(t, p.store) == nil {
				t.Fatal("nothing is wrong with the table")
			}
			s := p.start()
			s.logLine("[ERROR]", "the table breaks invariants, and is repaired", "steps=")
			s.logLine(append(c.steps, "plugin/meshvip: repair ", "done=true")...)
			after := s.resolveAll(exampleNames()...)
			s.unmoved(before.without(c.moves))
			s.named(after)
			s.wait("the repair to be counted", func() bool { return s.metric("repairs_total") > 0 })
			s.kill()
			verify(t, p.store)
			s = p.start() // and nothing is left to be done
			s.unmoved(after)
			s.unlogged("breaks invariants", "plugin/meshvip: repair ")
		})
	}
}

func TestARepairThatIsOnlyReportedChangesNothing(t *testing.T) {
	t.Parallel()
	p, before := filled(t)
	contradict(t, p.store, contradictions[0])
	wrong := breaches(t, p.store).Error()
	s := p.start("repair report")
	s.logLine("[ERROR]", "the table breaks invariants, and is served as it is", `"repair report"`)
	s.logLine("plugin/meshvip: repair ", "entry=0:web ", "done=false")
	s.unmoved(before.without("web.mesh"))
	if addr := s.addr4("web.mesh"); addr != before["backend.mesh"] {
		t.Errorf("web is at %v, and stands in the store at %v", addr, before["backend.mesh"])
	}
	if ptr := s.ptr(before["backend.mesh"]); ptr != "backend.mesh." && ptr != "web.mesh." {
		t.Errorf("the name of the address of two is %q", ptr)
	}
	// All else goes on.
	write(t, p.resources, "new.yaml", dataplane("default", "new", "new"))
	before["new.mesh"] = s.resolves("new.mesh")
	s.kill()
	if now := breaches(t, p.store); now == nil || now.Error() != wrong {
		t.Errorf("what is wrong with the table is now\n%v\nand was\n%s", now, wrong)
	}
	// By a reload it is repaired after all.
	s = p.start("repair report")
	s.logLine("is served as it is")
	p.reload(s, "repair")
	s.logLine("the table breaks invariants, and is repaired")
	s.wait("web to have an address of its own", func() bool { return s.addr4("web.mesh") != before["backend.mesh"] })
	s.unmoved(before.without("web.mesh"))
	s.named(s.resolveAll(append(exampleNames(), "new.mesh")...))
}

func TestADeathInTheMiddleOfARepairIsGotOver(t *testing.T) {
	t.Parallel()
	for _, point := range failpoints(t) {
		if !strings.HasPrefix(point, "store-") {
			continue
		}
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p, before := filled(t)
			contradict(t, p.store, contradictions[0], contradictions[4], contradictions[5])
			if died := p.launchMortal(point, 1, 20*time.Millisecond).dies(patience); died != point {
				t.Fatalf("the server died at %q, want %q", died, point)
			}
			s := p.start()
			s.wait("web to have an address", func() bool { return s.addr4("web.mesh").IsValid() })
			after := s.resolveAll(exampleNames()...)
			s.unmoved(before.without("web.mesh"))
			s.named(after)
		})
	}
}
