package meshvip

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

func TestTheLayoutOfACorefileHolds(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a", "b", "c", "d")
	s.start(with(`pool 240.0.0.0/24 {
			exclude 240.0.0.1 240.0.0.3-240.0.0.200
			reserve 240.0.0.201/32
		}
		pool 240.5.0.0/24 {
			drain
		}
		static C 240.0.0.201
		static 0:d 240.0.0.250`, ""))
	for name, want := range map[string]string{"a": "240.0.0.2", "b": "240.0.0.202", "c": "240.0.0.201", "d": "240.0.0.250"} {
		s.becomes(name+".mesh.", dns.TypeA, want)
		s.becomes(reverse(t, want), dns.TypePTR, name+".mesh.")
	}
	s.counts("pending_moves", 0)
	s.counts("refused_statics", 0)
}

func TestAPoolThatIsDrainedGivesNoNewAddressAndMovesNothing(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.services("b.yaml", "default", "b")
	s.start(good)
	a, b := s.resolves("a.mesh."), s.resolves("b.mesh.")
	s.mustReload(with("pool 240.0.0.0/24 {\n drain\n }\n pool 240.1.0.0/24", ""))
	s.services("c.yaml", "default", "c")
	s.becomes("c.mesh.", dns.TypeA, "240.1.0.1")
	s.becomes(reverse(t, a), dns.TypePTR, "a.mesh.")
	s.counts("pending_moves", 0)
	// Who had an address there comes back to it.
	if err := os.Remove(filepath.Join(s.dir, "src", "b.yaml")); err != nil {
		t.Fatal(err)
	}
	s.becomes("b.mesh.", dns.TypeA, "NXDOMAIN")
	s.services("d.yaml", "default", "b", "d")
	s.becomes("d.mesh.", dns.TypeA, "240.1.0.2")
	for name, want := range map[string]string{"a.mesh.": a, "b.mesh.": b} {
		if got := s.ask(name, dns.TypeA); got != want {
			t.Errorf("%s moved from %s to %s", name, want, got)
		}
	}
}

// Each kind of Corefile that would move a, b or both.
func TestNothingMovesUntilItsPlanIsConfirmed(t *testing.T) {
	for what, tc := range map[string]struct {
		properties string
		a, b       string // after the confirmation
		moves      float64
	}{
		"a pool is taken away":           {"pool 240.1.0.0/24", "240.1.0.1", "240.1.0.2", 2},
		"an address is excluded":         {"pool 240.0.0.0/24 {\n exclude 240.0.0.1\n }", "240.0.0.3", "240.0.0.2", 1},
		"an address is reserved":         {"pool 240.0.0.0/24 {\n reserve 240.0.0.2\n }", "240.0.0.1", "240.0.0.3", 1},
		"an entry has another static":    {"pool 240.0.0.0/24\n static a 240.0.0.77", "240.0.0.77", "240.0.0.2", 1},
		"drained, excluded and a static": {"pool 240.0.0.0/24 {\n drain\n exclude 240.0.0.1\n}\n pool 240.1.0.0/24\n static b 240.1.0.1", "240.1.0.2", "240.1.0.1", 2},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			s.services("a.yaml", "default", "a", "b")
			s.start(good)
			s.becomes("a.mesh.", dns.TypeA, "240.0.0.1")
			s.becomes("b.mesh.", dns.TypeA, "240.0.0.2")
			stays := func(when string) {
				t.Helper()
				for name, want := range map[string]string{"a.mesh.": "240.0.0.1", "b.mesh.": "240.0.0.2"} {
					if got := s.ask(name, dns.TypeA); got != want {
						t.Errorf("%s, %s is %s, and was %s", when, name, got, want)
					}
				}
				s.becomes(reverse(t, "240.0.0.1"), dns.TypePTR, "a.mesh.")
				s.counts("moves_total", 0)
			}
			out := logs(t)

			s.mustReload(with(tc.properties, ""))
			s.counts("pending_moves", tc.moves)
			stays("without a confirmation")
			plan := s.runtime().alloc.Moves().Name
			if !out.has("[WARNING]", "nothing is moved until the plan is confirmed", "confirm "+plan, "plan="+plan) {
				t.Errorf("nothing says that %q waits:\n%s", plan, out)
			}
			s.mustReload(with(tc.properties+"\n confirm 7-00000000", ""))
			s.settled()
			stays("with another plan confirmed")
			confirmed := tc.properties + "\n confirm " + plan
			if err := s.reload(with(confirmed, "example.:PORT {\n badstart\n}")); err == nil {
				t.Fatal("a Corefile that cannot start was taken")
			}
			s.services("c.yaml", "default", "c")
			s.resolves("c.mesh.")
			stays("after a reload that failed")

			s.mustReload(with(confirmed, ""))
			s.counts("moves_total", tc.moves)
			s.counts("pending_moves", 0)
			for name, want := range map[string]string{"a.mesh.": tc.a, "b.mesh.": tc.b} {
				was := map[string]string{"a.mesh.": "240.0.0.1", "b.mesh.": "240.0.0.2"}[name]
				got := s.ask(name, dns.TypeA)
				if (got == was) != (want == was) {
					t.Errorf("%s is %s, want %s", name, got, want)
				}
				s.becomes(reverse(t, got), dns.TypePTR, name)
				if got != was && !out.has("[WARNING]", "moved", "entry=0:"+name[:1], "from="+was, "to="+got) {
					t.Errorf("the move of %s is not in the log:\n%s", name, out)
				}
				if ptr := s.ask(reverse(t, was), dns.TypePTR); got != was && ptr == name {
					t.Errorf("%s, which %s had, still has its name", was, name)
				}
			}
			// The line may stay, or go.
			s.mustReload(with(tc.properties, ""))
			s.settled()
			s.counts("moves_total", tc.moves)
		})
	}
}

func TestAStaticIsNeverStolen(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(good)
	a := s.resolves("a.mesh.")
	out := logs(t)
	s.mustReload(with("pool 240.0.0.0/24\n static b "+a, ""))
	s.services("b.yaml", "default", "b")
	s.becomes("b.mesh.", dns.TypeA, "240.0.0.2")
	s.counts("refused_statics", 1)
	s.becomes("a.mesh.", dns.TypeA, a)
	if !out.has("[ERROR]", "static", "entry=0:b", a, "0:a has it") {
		t.Errorf("nothing says so:\n%s", out)
	}
}

// What falls due by itself is done then: a minute's tick would be too late for
// the patience of these tests.
func TestWhoWaitsIsServedWhenTheCooldownIsOver(t *testing.T) {
	for what, properties := range map[string]string{
		"for any address":      "pool 240.0.0.0/30",
		"for a static address": "pool 240.0.0.0/24\n static c 240.0.0.2",
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			out := logs(t)
			s.services("a.yaml", "default", "a", "b")
			s.start(with("pool 240.0.0.0/30\n cooldown 3s\n ttl 1", ""))
			b := s.resolves("b.mesh.")
			s.mustReload(with(properties+"\n cooldown 3s\n ttl 1", ""))
			s.settled()
			s.services("a.yaml", "default", "a", "c")
			s.counts("exhausted_entries", 1)
			s.becomes("c.mesh.", dns.TypeA, b)
			s.counts("exhausted_entries", 0)
			if !out.has("wait for an address") && !out.has("is waited for", "entry=0:c") {
				t.Errorf("nothing says that c waits:\n%s", out)
			}
		})
	}
}

func TestARepairIsMadeOnEachReloadThatStatesIt(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(good)
	s.resolves("a.mesh.")
	for _, properties := range []string{"repair", "repair", "repair report"} {
		out := logs(t)
		s.mustReload(with("pool 240.0.0.0/24\n "+properties, ""))
		s.wait(properties, func() bool { return out.has("[INFO]", "read back", "nothing to repair", "meshvip.db") })
		s.settled()
	}
	out := logs(t)
	s.mustReload(good)
	s.settled()
	if out.has("read back") {
		t.Errorf("a repair that nobody asked for:\n%s", out)
	}
	s.counts("repairs_total", 0)
}

// breakTable gives the entry of key in a store the address that another has.
func breakTable(t *testing.T, store allocator.Store, key vip.Key, addr string) {
	t.Helper()
	state, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := allocator.Delta{Base: state.Meta.Revision, Meta: state.Meta}
	for _, row := range state.Rows {
		if row.Key() == key {
			broken := *row
			broken.V4 = netip.MustParseAddr(addr)
			d.Rows = append(d.Rows, allocator.RowChange{Key: key, Old: row, New: &broken})
		}
	}
	if err := store.Commit(t.Context(), d); err != nil || len(d.Rows) == 0 {
		t.Fatal(err, d.Rows)
	}
}

func TestARepairIsCountedAndAnswered(t *testing.T) {
	store := memstore.New()
	r := on(t, store, "240.0.0.0/24")
	defer r.close()
	if err := r.apply(t.Context(), batch(2)); err != nil {
		t.Fatal(err)
	}
	first, second := vip.Key{Name: "s000000"}, vip.Key{Name: "s000001"}
	repaired := func() float64 {
		t.Helper()
		n, ok := sample(t, "repairs_total", "store", r.m.store)
		if !ok {
			t.Fatal("repairs are not counted")
		}
		return n
	}
	breakTable(t, store, second, "240.0.0.1")
	out := logs(t)
	layout := RuntimeConfig{Pools: []PoolConfig{{Prefix: netip.MustParsePrefix("240.0.0.0/24")}}}
	layout.Cooldown.Value = defaultCooldown
	r.reconfigure(settings{cfg: layout})
	layout.Repair = Stated[RepairMode]{RepairReport, "Corefile:2"}
	r.reconfigure(settings{cfg: layout})
	if n := repaired(); n != 0 || !out.has("[ERROR]", "breaks", "repair report") {
		t.Errorf("%v steps that were not to be made, and it says:\n%s", n, out)
	}
	layout.Repair = Stated[RepairMode]{RepairTable, "Corefile:2"}
	r.reconfigure(settings{cfg: layout})
	n := repaired()
	if n == 0 || !out.has("[WARNING]", "repair", "entry=0:s000001") {
		t.Errorf("%v steps, and it says:\n%s", n, out)
	}
	r.reconfigure(settings{cfg: layout}) // there is nothing left
	r.tick()
	if got := repaired(); got != n || !out.has("nothing to repair") {
		t.Errorf("%v steps, and then %v", n, got)
	}
	state, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := allocator.Check(state); err != nil {
		t.Error(err)
	}
	for _, row := range r.alloc.Rows() {
		if !row.V4.IsValid() || row.Key() == first && row.V4 != netip.MustParseAddr("240.0.0.1") {
			t.Errorf("%v is at %v", row.Key(), row.V4)
		}
	}
}
