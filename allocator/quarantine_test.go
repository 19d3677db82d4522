package allocator_test

import (
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// quarantined returns a store of 10.0.0.0/29 whose addresses up to .5 are
// quarantined for an hour; the cursor is at .4, and old had .2.
func quarantined(t *testing.T) *faulty {
	t.Helper()
	store := memstore.New()
	owner := vip.Entry{Name: "old"}.Key()
	if err := store.Commit(t.Context(), allocator.Delta{
		Meta: allocator.Meta{
			Serial: 1, Revision: 1, Pools: []allocator.Pool{{Prefix: prefixes("10.0.0.0/29")[0], Next: addr("10.0.0.4")}},
			Quarantine: []allocator.Quarantine{{Range: netipx.MustParseIPRange("10.0.0.1-10.0.0.5"), Until: time.Hour}},
		},
		Addrs: []allocator.AddrChange{{Addr: addr("10.0.0.2"), New: &allocator.Holding{Owner: owner, Released: true, Mesh: "m"}}},
	}); err != nil {
		t.Fatal(err)
	}
	return &faulty{Store: store}
}

// TestAQuarantinedAddressIsNobodysUntilItsTime, asked for or not, and however
// long ago its owner gave it back; but its owner has it again.
func TestAQuarantinedAddressIsNobodysUntilItsTime(t *testing.T) {
	t.Parallel()
	store, c := quarantined(t), &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Minute, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	c.running = 50 * time.Minute
	apply(t, a, full(with("m", []vip.Request{asks("wants2", "10.0.0.2"), asks("wants3", "10.0.0.3")}, "a", "b")))
	tick(t, a)
	want := map[string]string{"a": "10.0.0.6", "b": "", "wants2": "", "wants3": ""}
	wantTable(t, a, want)
	if d, ok := a.Due(); !ok || d != 10*time.Minute-2 {
		t.Errorf("due in %v, %v", d, ok)
	}
	apply(t, a, part(set("m", "old")))
	want["old"] = "10.0.0.2"
	wantTable(t, a, want)

	a = restart(t, a, store, c, cfg)
	c.running += 11 * time.Minute
	tick(t, a)
	want["b"], want["wants2"], want["wants3"] = "10.0.0.1", "10.0.0.4", "10.0.0.3"
	wantTable(t, a, want)
	apply(t, a, part(set("m", "c", "d")))
	want["c"], want["d"] = "10.0.0.5", ""
	wantTable(t, a, want)
	if q := a.Stats().Meta.Quarantine; len(q) > 0 {
		t.Errorf("the table still says %v", q)
	}
}

// TestAQuarantineOutlivesItsPool: it is there when the pool comes back.
func TestAQuarantineOutlivesItsPool(t *testing.T) {
	t.Parallel()
	store, c := quarantined(t), &clock{}
	cfg := allocator.Config{Layout: layout("10.1.0.0/29"), Cooldown: time.Minute, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	c.running = 30 * time.Minute
	apply(t, a, full(set("m", "a")))
	if n := len(a.Pools()); n != 1 {
		t.Fatalf("%d pools, want the configured one alone", n)
	}
	cfg.Layout = layout("10.0.0.0/29")
	a = restart(t, a, store, c, cfg)
	apply(t, a, part(set("m", "b", "c")))
	wantTable(t, a, map[string]string{"a": "10.1.0.1", "b": "10.0.0.6", "c": ""})
}

// TestAQuarantineThatEndsInDoubtEnds: the store has it, and nobody was told.
func TestAQuarantineThatEndsInDoubtEnds(t *testing.T) {
	t.Parallel()
	store, c := quarantined(t), &clock{}
	a := open(t, store, c, allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Minute, MaxRelease: anyRelease})
	apply(t, a, full(set("m", "a", "b")))
	c.running = 2 * time.Hour
	store.after = true
	if err := a.Tick(t.Context()); err == nil {
		t.Fatal("the store did not fail")
	}
	store.after = false
	tick(t, a)
	wantTable(t, a, map[string]string{"a": "10.0.0.6", "b": "10.0.0.1"})
}
