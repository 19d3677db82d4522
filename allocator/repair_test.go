package allocator_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// broken returns a store of mesh m with rows and address keys as they are said,
// sound or not, and a pool that has given out its first addresses.
func broken(t *testing.T, rows map[string]string, keys map[string]allocator.Holding) *faulty {
	t.Helper()
	d := allocator.Delta{
		Meta: allocator.Meta{Revision: 1, Serial: 7, Clock: time.Hour, Synced: true, Pools: []allocator.Pool{
			{Prefix: prefixes("10.0.0.0/28")[0], Next: addr("10.0.0.6")},
		}},
		MeshesNew: []string{"m"},
	}
	for name, a := range rows {
		r := &vip.Row{Entry: vip.Entry{Name: name}, Listings: []vip.Listing{{Mesh: "m", Name: name, Outbounds: requests(name)[0].Outbounds}}}
		if a != "" {
			r.V4 = addr(a)
		}
		d.Rows = append(d.Rows, allocator.RowChange{Key: r.Key(), New: r})
	}
	for a, h := range keys {
		d.Addrs = append(d.Addrs, allocator.AddrChange{Addr: addr(a), New: &h})
	}
	store := memstore.New()
	if err := store.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return &faulty{Store: store}
}

func heldBy(name string) allocator.Holding { return allocator.Holding{Owner: vip.Key{Name: name}} }

// TestARepairMovesAsLittleAsItCan: each row of the table breaks an invariant,
// and after a start everybody has an address of its own again, the winner by
// rule the one that it had.
func TestARepairMovesAsLittleAsItCan(t *testing.T) {
	t.Parallel()
	release := func(name string, at time.Duration) allocator.Holding {
		return allocator.Holding{Owner: vip.Key{Name: name}, Released: true, At: at, Mesh: "m"}
	}
	statics := layout("10.0.0.0/28")
	statics.Statics = []allocator.Static{{Key: vip.Key{Name: "b"}, Addr: addr("10.0.0.1")}}
	for name, tc := range map[string]struct {
		rows   map[string]string
		keys   map[string]allocator.Holding
		layout allocator.Layout
		want   map[string]string
		logged string
	}{
		"two entries on one address: the present holder keeps it": {
			rows: map[string]string{"a": "10.0.0.1", "b": "10.0.0.1", "c": "10.0.0.2"},
			keys: map[string]allocator.Holding{"10.0.0.1": heldBy("b"), "10.0.0.2": heldBy("c")},
			want: map[string]string{"a": "10.0.0.6", "b": "10.0.0.1", "c": "10.0.0.2"}, logged: "it is the present holder",
		},
		"two entries on one address that nobody holds: the smaller key keeps it": {
			rows: map[string]string{"b": "10.0.0.1", "a": "10.0.0.1"},
			keys: map[string]allocator.Holding{},
			want: map[string]string{"a": "10.0.0.1", "b": "10.0.0.6"}, logged: "it is the smaller key",
		},
		"two entries on one address: a static one keeps it": {
			rows:   map[string]string{"a": "10.0.0.1", "b": "10.0.0.1"},
			keys:   map[string]allocator.Holding{"10.0.0.1": heldBy("a")},
			layout: statics,
			want:   map[string]string{"a": "10.0.0.6", "b": "10.0.0.1"}, logged: "it is static",
		},
		"an entry on two addresses keeps its row's, and the other cools down": {
			rows: map[string]string{"a": "10.0.0.1"},
			keys: map[string]allocator.Holding{"10.0.0.1": heldBy("a"), "10.0.0.2": heldBy("a")},
			want: map[string]string{"a": "10.0.0.1"}, logged: "besides",
		},
		"a row outside every pool is the only one that moves": {
			rows: map[string]string{"a": "192.0.2.1", "b": "10.0.0.2"},
			keys: map[string]allocator.Holding{"192.0.2.1": heldBy("a"), "10.0.0.2": heldBy("b")},
			want: map[string]string{"a": "10.0.0.6", "b": "10.0.0.2"}, logged: "lies in no pool",
		},
		"a key without a row": {
			rows: map[string]string{"a": "10.0.0.1"},
			keys: map[string]allocator.Holding{"10.0.0.1": heldBy("a"), "10.0.0.2": heldBy("gone")},
			want: map[string]string{"a": "10.0.0.1"}, logged: "has no row",
		},
		"a row without a key": {
			rows: map[string]string{"a": "10.0.0.1"},
			want: map[string]string{"a": "10.0.0.1"}, logged: "has no key",
		},
		"a row on an address that is said to be another's, who is gone": {
			rows: map[string]string{"a": "10.0.0.1"},
			keys: map[string]allocator.Holding{"10.0.0.1": release("gone", time.Minute)},
			want: map[string]string{"a": "10.0.0.1"}, logged: "it becomes the row's",
		},
		"an address released in the future": {
			rows: map[string]string{"a": "10.0.0.1"},
			keys: map[string]allocator.Holding{"10.0.0.1": heldBy("a"), "10.0.0.2": release("gone", 2*time.Hour)},
			want: map[string]string{"a": "10.0.0.1"}, logged: "it counts from now",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, c := broken(t, tc.rows, tc.keys), &clock{}
			var log bytes.Buffer
			cfg := allocator.Config{Layout: tc.layout, Cooldown: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			if cfg.Layout.Pools == nil {
				cfg.Layout = layout("10.0.0.0/28")
			}
			a := open(t, store, c, cfg)
			for e, want := range tc.want {
				if got := table(a)[e]; got != "" && got != want {
					t.Errorf("before the repair is durable, %s has %s", e, got)
				}
			}
			tick(t, a)
			wantTable(t, a, tc.want)
			if !strings.Contains(log.String(), tc.logged) {
				t.Errorf("%q is not logged:\n%s", tc.logged, &log)
			}
			for e, was := range tc.rows {
				if is := tc.want[e]; is != was && !strings.Contains(log.String(), "from="+was+" to="+is) {
					t.Errorf("the move of %s from %s to %s is not logged:\n%s", e, was, is, &log)
				}
			}
			if a.Stats().Repaired == 0 {
				t.Error("no step was counted")
			}
			s, err := store.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := allocator.Check(s); err != nil {
				t.Error(err)
			}
			// It is level-driven: a second time there is nothing to do.
			steps, err := a.Repair(t.Context())
			if err != nil || len(steps) > 0 {
				t.Errorf("repaired again: %v, %v", steps, err)
			}
			a = restart(t, a, store, c, cfg)
			wantTable(t, a, tc.want)
		})
	}
}

// TestARepairReportChangesNothing: the table is served as it stands, with both
// entries on their address, nobody gets one that is in question, and the store
// is not touched. Taking the word back repairs.
func TestARepairReportChangesNothing(t *testing.T) {
	t.Parallel()
	rows := map[string]string{"a": "10.0.0.1", "b": "10.0.0.1", "c": "10.0.0.2"}
	store := broken(t, rows, map[string]allocator.Holding{
		"10.0.0.1": heldBy("b"), "10.0.0.2": heldBy("c"), "10.0.0.3": heldBy("c"),
	})
	var log bytes.Buffer
	cfg := allocator.Config{
		Layout: layout("10.0.0.0/28"), Cooldown: time.Nanosecond, ReportOnly: true, MaxRelease: anyRelease,
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	a, err := allocator.Open(t.Context(), store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	tick(t, a)
	wantTable(t, a, rows)
	if n := strings.Count(log.String(), "done=false"); n != 2 {
		t.Errorf("%d steps reported, want 2:\n%s", n, &log)
	}
	if s, _ := store.Load(t.Context()); s.Meta.Revision != 1 {
		t.Error("the store was written to")
	}
	if steps, err := a.Repair(t.Context()); err != nil || len(steps) != 2 {
		t.Errorf("on demand: %v, %v", steps, err)
	}
	// Others come and go meanwhile, and so does one of the two.
	apply(t, a, part(set("m", "d", "e")))
	apply(t, a, part(drop("m", "a")))
	apply(t, a, part(set("m", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o")))
	got := table(a)
	taken := make(map[string]string)
	for e, at := range got {
		if at == "10.0.0.3" {
			t.Errorf("%s got %s, which is in question", e, at)
		}
		if taken[at] != "" && at != "" {
			t.Errorf("%s and %s both have %s", taken[at], e, at)
		}
		taken[at] = e
	}
	cfg.ReportOnly = false
	if err := a.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestARepairThatIsNotDurableIsDoneAgain: its commit fails, or its answer is
// lost.
func TestARepairThatIsNotDurableIsDoneAgain(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"before", "after"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			store := broken(t, map[string]string{"a": "10.0.0.1", "b": "10.0.0.1"}, map[string]allocator.Holding{"10.0.0.1": heldBy("b")})
			a := open(t, store, &clock{}, allocator.Config{Layout: layout("10.0.0.0/28")})
			store.before, store.after = fault == "before", fault == "after"
			if err := a.Tick(t.Context()); err == nil {
				t.Fatal("the fault was not met")
			}
			store.before, store.after = false, false
			tick(t, a)
			wantTable(t, a, map[string]string{"a": "10.0.0.6", "b": "10.0.0.1"})
		})
	}
}
