package allocator_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

func TestOnlyThePlanThatIsNamedIsCarriedOut(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour}
	a := open(t, memstore.New(), &clock{}, cfg)
	apply(t, a, full(set("m", "a", "b")))
	if _, err := a.ConfirmMoves(t.Context(), "0-12345678"); !errors.Is(err, allocator.ErrOtherPlan) || !strings.Contains(err.Error(), "no move waits") {
		t.Errorf("confirming where nothing waits: %v", err)
	}
	cfg.Layout = layout("10.0.1.0/29")
	configure(t, a, cfg)
	name := wantMoves(t, a, "a 10.0.0.1 10.0.1.1", "b 10.0.0.2 10.0.1.2")
	for _, other := range []string{"", "0-12345678"} {
		if _, err := a.ConfirmMoves(t.Context(), other); !errors.Is(err, allocator.ErrOtherPlan) || !strings.Contains(err.Error(), name) {
			t.Errorf("confirming %q: %v, want the name of the other", other, err)
		}
	}
	wantTable(t, a, map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"})
	done, err := a.ConfirmMoves(t.Context(), name)
	if err != nil || done.Name != name || len(done.List) != 2 {
		t.Errorf("confirmed %+v, %v", done, err)
	}
	wantTable(t, a, map[string]string{"a": "10.0.1.1", "b": "10.0.1.2"})
	wantMoves(t, a)
	if _, err := a.ConfirmMoves(t.Context(), name); !errors.Is(err, allocator.ErrOtherPlan) {
		t.Errorf("confirming twice: %v", err)
	}
}

func TestExactlyTheNamedHoldsAreReleased(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/16")})
	apply(t, a, full(set("a", "web"), set("b", "web", "db"), set("c", "x")))
	apply(t, a, full(set("c", "x")))
	held := a.Held()
	if holdsOf(held) != "a!:1 b!:2" || held[0].Name == held[1].Name || held[0].Name == "" {
		t.Fatalf("held %+v", held)
	}
	if _, err := a.ReleaseHeld(t.Context(), held[1].Name, "0123456789ab"); !errors.Is(err, allocator.ErrOtherHold) || !strings.Contains(err.Error(), "0123456789ab") {
		t.Errorf("releasing one that is not: %v", err)
	}
	if holdsOf(a.Held()) != "a!:1 b!:2" {
		t.Errorf("a refused release has released: %+v", a.Held())
	}
	r, err := a.ReleaseHeld(t.Context(), held[1].Name)
	if err != nil || r.Released != 1 || holdsOf(r.Held) != "a!:1" {
		t.Errorf("released: %+v, %v", r, err)
	}
	wantTable(t, a, map[string]string{"web": "240.0.0.2", "x": "240.0.0.3"})
	if again := a.Held(); again[0].Name != held[0].Name {
		t.Errorf("the same hold has another name: %+v, %+v", held, again)
	}
	// With one entry more it is another hold.
	apply(t, a, part(set("d", names(30)...)))
	apply(t, a, part(drop("d", names(12)...)))
	before := a.Held()[1]
	apply(t, a, part(drop("d", names(13)...)))
	if after := a.Held()[1]; after.Mesh != "d" || len(after.Entries) != 13 || after.Name == before.Name {
		t.Errorf("held %+v, then %+v", before, after)
	}
	if _, err := a.ReleaseHeld(t.Context(), before.Name); !errors.Is(err, allocator.ErrOtherHold) {
		t.Errorf("a hold was released that is another by now: %v", err)
	}
}

func TestNothingIsReleasedByHandWhileASourceIsIncomplete(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/16")})
	apply(t, a, full(set("m", "web")))
	apply(t, a, vip.Batch{Full: true, Incomplete: "m.yaml: half a document"})
	_, err := a.ReleaseHeld(t.Context(), a.Held()[0].Name)
	if !errors.Is(err, allocator.ErrIncomplete) || !strings.Contains(err.Error(), "m.yaml") {
		t.Errorf("released: %v", err)
	}
	wantTable(t, a, map[string]string{"web": "240.0.0.1"})
}

func TestPlanningForALayoutThatCannotBeSaysWhy(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29")})
	apply(t, a, full(set("m", "web")))
	if _, err := a.PlanFor(layout("10.0.0.0/29", "10.0.0.0/30")); err == nil || !strings.Contains(err.Error(), "overlaps") {
		t.Errorf("planned: %v", err)
	}
	// One address for two.
	apply(t, a, part(set("m", "web", "db")))
	m, err := a.PlanFor(layout("10.0.1.0/32"))
	if err != nil || len(m.List) != 1 || len(m.Stuck) != 1 {
		t.Errorf("planned %+v, %v", m, err)
	}
	wantMoves(t, a)
}

func TestAllBreachesAreNamed(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	a, err := allocator.Open(t.Context(), store, allocator.Config{Layout: layout("240.0.0.0/16"), ReportOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, a, full(set("m", names(50)...)))
	if errs, meta, err := a.Breaches(t.Context()); err != nil || len(errs) > 0 || meta.Serial == 0 {
		t.Errorf("breaches of a sound table: %v, %+v, %v", errs, meta, err)
	}
	// Somebody else takes the addresses of thirty entries.
	d := allocator.Delta{Base: 1, Meta: a.Stats().Meta}
	d.Meta.Revision++
	for _, row := range a.Rows()[:30] {
		without := *row
		without.V4 = addr("192.0.2.1")
		d.Rows = append(d.Rows, allocator.RowChange{Key: row.Key(), Old: row, New: &without})
	}
	if err := store.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	errs, _, err := a.Breaches(t.Context())
	for _, row := range a.Rows()[:30] {
		if !strings.Contains(fmt.Sprint(errs), row.Key().String()) {
			t.Errorf("%v is not named", row.Key())
		}
	}
	if all := a.Verify(t.Context()); err != nil || all == nil || len(errs) < 60 || strings.Contains(fmt.Sprint(errs), "more") {
		t.Errorf("%d breaches, %v; Verify: %v", len(errs), err, all)
	}
}
