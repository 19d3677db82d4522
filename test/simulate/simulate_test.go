package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// small returns the settings of flags, with a directory of the test's own.
func small(t *testing.T, flags string) settings {
	t.Helper()
	s, err := parse(strings.Fields(flags), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s.Dir = t.TempDir()
	return s
}

// simulate lets the days pass and calls each after every one. The store is held to
// the fleet at the end.
func simulate(t *testing.T, flags string, each func(*simulation, today)) *simulation {
	t.Helper()
	s := small(t, flags)
	sim, err := newSimulation(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.alloc.Close() })
	if _, err := sim.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range s.Days {
		d, err := sim.spend(t.Context(), n+1)
		if err != nil {
			t.Fatalf("day %d: %v", n+1, err)
		}
		if d.live+d.cooling+d.past+d.unused() != d.size || d.unused() < 0 {
			t.Errorf("day %d: %d live, %d cooling, %d past and %d unused addresses of %d", n+1, d.live, d.cooling, d.past, d.unused(), d.size)
		}
		each(sim, d)
	}
	if err := sim.auditStore(t.Context(), sim.meter); err != nil {
		t.Error(err)
	}
	return sim
}

// goneSince counts, one by one, the services that are in no mesh and went after at.
func goneSince(f *fleet, at time.Duration) int {
	here := make(map[uint32]bool)
	for _, m := range f.meshes {
		for _, id := range m.live {
			here[id] = true
		}
	}
	went := make(map[uint32]time.Duration) // the last time
	for _, d := range f.gone.list {
		if !here[d.id] {
			went[d.id] = d.at
		}
	}
	n := 0
	for _, when := range went {
		if when > at {
			n++
		}
	}
	return n
}

// TestWhatCoolsIsWhatWentWithinTheCooldown holds the addresses of the table, in a
// pool that is never short, to a slow count of what the fleet let go.
func TestWhatCoolsIsWhatWentWithinTheCooldown(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"memory", "bolt"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			sim := simulate(t, "-entries 1000 -meshes 20 -days 5 -churn 0.3 -turnover 0.1 -cooldown 30h -tick 1h -store "+store, func(s *simulation, d today) {
				if want := goneSince(s.fleet, s.now-s.Cooldown); d.cooling != want {
					t.Errorf("day %d: %d addresses cool, %d services went within the cooldown", d.day, d.cooling, want)
				}
				if want := goneSince(s.fleet, -1); d.cooling+d.past != want {
					t.Errorf("day %d: %d past owners, %d services that are gone", d.day, d.cooling+d.past, want)
				}
				if d.live != d.entries || d.entries != s.Entries {
					t.Errorf("day %d: %d addresses for %d entries, want %d", d.day, d.live, d.entries, s.Entries)
				}
			})
			if want := sim.sum.soon + sim.sum.late; sim.returned != want || sim.sum.soon == 0 || sim.sum.late == 0 {
				t.Errorf("%d got their address back, want %+v", sim.returned, sim.sum)
			}
			// 30 % a day of 1000, of which 100 by whole meshes.
			if went := sim.sum.went / sim.Days; went < 250 || went > 350 || sim.sum.came() != sim.sum.went {
				t.Errorf("%+v in %d days", sim.sum, sim.Days)
			}
			if sim.total.reused > 0 {
				t.Errorf("%d addresses went to others, while there are some that nobody had", sim.total.reused)
			}
		})
	}
}

// TestAPoolOfTheFormulaIsEnough: entries * (1 + churn a day * days of cooldown), and
// a little for what goes at once.
func TestAPoolOfTheFormulaIsEnough(t *testing.T) {
	t.Parallel()
	sim := simulate(t, "-entries 200 -meshes 20 -days 12 -churn 0.2 -tick 10m -pool 240.0.0.0/24 -store memory", func(s *simulation, d today) {
		if d.meanWaiting() > 0 || s.waited {
			t.Errorf("day %d: entries wait", d.day)
		}
	})
	if sim.total.reused == 0 {
		t.Error("no address had to be given again")
	}
}

// TestInAPoolThatIsTooSmallEntriesWait, and no cooldown is cut short.
func TestInAPoolThatIsTooSmallEntriesWait(t *testing.T) {
	t.Parallel()
	waiting := 0.0
	sim := simulate(t, "-entries 240 -meshes 20 -days 8 -churn 0.3 -tick 10m -pool 240.0.0.0/24 -store memory", func(_ *simulation, d today) {
		waiting = d.meanWaiting()
	})
	// 240 and what cools, some 65, are more than 254.
	if waiting < 20 || waiting > 80 || sim.total.reused == 0 {
		t.Errorf("%.0f entries wait, %d addresses were given again", waiting, sim.total.reused)
	}
}

// TestPastOwnersAreForgotten: the table does not grow for ever.
func TestPastOwnersAreForgotten(t *testing.T) {
	t.Parallel()
	last := today{}
	simulate(t, "-entries 200 -days 30 -churn 0.3 -tick 1h -forget 100 -store memory", func(_ *simulation, d today) {
		last = d
	})
	// As many as there are entries, and those of the last tick.
	if last.past > 210 || last.past < 190 {
		t.Errorf("%d past owners are remembered, want some 200", last.past)
	}
}

func TestASeedCountsTheSameInEveryRun(t *testing.T) {
	t.Parallel()
	const flags = "-entries 300 -days 3 -churn 0.2 -tick 1h -seed 7 -store "
	nothing := func(*simulation, today) {}
	a, b := simulate(t, flags+"memory", nothing), simulate(t, flags+"bolt", nothing)
	a.total.took, b.total.took = 0, 0
	if a.total != b.total || a.sum != b.sum || a.sum.went == 0 {
		t.Errorf("%+v %+v, and then %+v %+v", a.total, a.sum, b.total, b.sum)
	}
	if c := simulate(t, flags+"memory -seed 8", nothing); c.total.keys == a.total.keys && c.sum == a.sum {
		t.Errorf("another seed gives the same: %+v", c.sum)
	}
}

func TestARunIsPrintedAndFoundSound(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), small(t, "-entries 200 -days 2 -tick 1h"), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"200 entries in 2 meshes", "first sync:", "\n   2 ", "= 220 of", "restart:", "the store is sound"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// TestTheAuditSeesWhatIsWrong: what it holds to each other is told apart.
func TestTheAuditSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*simulation){
		"the fleet has one more":     func(s *simulation) { s.fleet.come(0, s.now, 1, 0) },
		"the fleet has one less":     func(s *simulation) { s.fleet.live-- },
		"one went that still cools":  func(s *simulation) { s.fleet.gone.add(0, s.now) },
		"one came back without word": func(s *simulation) { s.fleet.gone.take(s.fleet.r, s.now-s.Cooldown, true) },
		"too few got theirs back":    func(s *simulation) { s.returned = s.sum.soon - 1 },
		"given within the cooldown": func(s *simulation) {
			old := allocator.Holding{Owner: vip.Key{Name: "a"}, Released: true, At: s.now - s.Cooldown + 1}
			s.meter.watch(allocator.AddrChange{Addr: s.Pool.Addr(), Old: &old, New: &allocator.Holding{Owner: vip.Key{Name: "b"}}}, s.now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := simulate(t, "-entries 100 -days 1 -churn 0.3 -tick 1h -store memory", func(*simulation, today) {})
			if err := sim.audit(); err != nil {
				t.Fatal(err)
			}
			if spoil(sim); sim.audit() == nil {
				t.Error("nobody noticed")
			}
		})
	}
}

// TestTheAuditOfTheStoreSeesWhatIsWrong: an entry that the store lacks, and a table
// that is not sound.
func TestTheAuditOfTheStoreSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	sim := simulate(t, "-entries 100 -days 1 -tick 1h -store memory", func(*simulation, today) {})
	if err := sim.auditStore(t.Context(), memstore.New()); err == nil || !strings.Contains(err.Error(), "lacks 100 of") {
		t.Errorf("an empty store: %v", err)
	}
	key := vip.Key{Name: "not listed"}
	err := sim.meter.Commit(t.Context(), allocator.Delta{
		Base: sim.alloc.Stats().Meta.Revision, Meta: sim.alloc.Stats().Meta,
		Rows: []allocator.RowChange{{Key: key, New: &vip.Row{Entry: vip.Entry(key)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.auditStore(t.Context(), sim.meter); err == nil || !strings.Contains(err.Error(), "listed by no mesh") {
		t.Errorf("a row that nobody lists: %v", err)
	}
}

func TestServicesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for id := range uint32(100_000) {
		names[service(id)] = true
	}
	if len(names) != 100_000 {
		t.Errorf("%d names", len(names))
	}
}

func TestSettingsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{
		"-entries 0", "-meshes -1", "-entries 5 -meshes 6", "-days 0", "-churn 1.1", "-churn 0.1 -turnover 0.2", "-returns -1",
		"-cooldown 0s", "-tick 1ms", "-pool fd00::/64", "-pool 240.0.0.1/8", "-pool 240.0.0.1/32", "-store etcd",
		"-forget -1", "-store memory -server x", "extra", "-no-such-flag",
	} {
		if s, err := parse(strings.Fields(flags), io.Discard); err == nil {
			t.Errorf("%q is taken for %+v", flags, s)
		}
	}
}
