package admin_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

func TestExactlyThePlanThatWaitsIsConfirmed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(full(set("m", "0:web", "0:db")))
	if m := must[admin.Moves](t)(r.Moves(t.Context())); m.Plan != "" || m.Count != 0 || len(m.Moves) != 0 {
		t.Errorf("moves %+v", m)
	}
	_, err := r.ConfirmMoves(t.Context(), "0-12345678")
	wantCode(t, err, http.StatusConflict, admin.Conflict, "no move waits")

	planned := must[admin.Moves](t)(r.Plan(t.Context(), admin.Layout{
		Pools:   []admin.LayoutPool{{Prefix: netip.MustParsePrefix("240.0.0.0/24"), Exclude: []string{"240.0.0.1"}}, {Prefix: netip.MustParsePrefix("fd00::/120")}},
		Statics: []admin.LayoutStatic{{Entry: "0:web", Address: addr("240.0.0.77")}},
	}))
	if planned.Count != 2 || planned.Moves[0].Entry != "0:db" || planned.Moves[1].To != addr("240.0.0.77") || planned.Plan == "" {
		t.Errorf("planned %+v", planned)
	}
	if m := must[admin.Moves](t)(r.Moves(t.Context())); m.Plan != "" {
		t.Errorf("planning has changed something: %+v", m)
	}
	r.configure(func(c *allocator.Config) {
		c.Layout.Pools[0].Exclude = ranges("240.0.0.1-240.0.0.1")
		c.Layout.Statics = []allocator.Static{{Key: vip.Key{Name: "web"}, Addr: addr("240.0.0.77")}}
	})
	waits := must[admin.Moves](t)(r.Moves(t.Context()))
	if waits.Plan != planned.Plan || !slices.Equal(waits.Moves, planned.Moves) || waits.Moves[0].Why == "" {
		t.Errorf("planned %+v, and what waits is %+v", planned, waits)
	}
	_, err = r.ConfirmMoves(t.Context(), "0-12345678")
	wantCode(t, err, http.StatusConflict, admin.Conflict, waits.Plan)
	done := must[admin.Confirmed](t)(r.ConfirmMoves(t.Context(), waits.Plan))
	if done.Plan != waits.Plan || !slices.Equal(done.Moves, waits.Moves) || done.Generation != 1 {
		t.Errorf("confirmed %+v", done)
	}
	_, err = r.ConfirmMoves(t.Context(), waits.Plan)
	wantCode(t, err, http.StatusConflict, admin.Conflict, "no move waits")
}

func TestAPlanForALayoutThatCannotBeIsABadRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := admin.LayoutPool{Prefix: netip.MustParsePrefix("10.0.0.0/24")}
	for text, l := range map[string]admin.Layout{
		"has no pool":      {},
		"overlaps":         {Pools: []admin.LayoutPool{pool, pool}},
		"is not a range":   {Pools: []admin.LayoutPool{{Prefix: pool.Prefix, Reserve: []string{"10.0.0.1/24"}}}},
		"does not lie in":  {Pools: []admin.LayoutPool{{Prefix: pool.Prefix, Exclude: []string{"10.0.1.1-10.0.1.2"}}}},
		"not of the form":  {Pools: []admin.LayoutPool{pool}, Statics: []admin.LayoutStatic{{Entry: "web", Address: addr("10.0.0.1")}}},
		"lies in no pool":  {Pools: []admin.LayoutPool{pool}, Statics: []admin.LayoutStatic{{Entry: "0:web", Address: addr("10.0.1.1")}}},
		"not an address r": {Pools: []admin.LayoutPool{{}}},
	} {
		_, err := r.Plan(t.Context(), l)
		wantCode(t, err, http.StatusBadRequest, admin.BadRequest, text)
	}
}

func TestExactlyTheNamedHoldsAreReleased(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(full(set("a", many(30)...), set("b", "0:x", "0:y")))
	r.apply(full(set("a", many(5)...)))
	h := must[admin.Held](t)(r.Held(t.Context())).Holds
	if len(h) != 2 || h[0].Mesh != "a" || len(h[0].Entries) != 25 || h[0].Gone || !h[1].Gone || h[1].Reason == "" {
		t.Fatalf("held %+v", h)
	}
	_, err := r.ReleaseHeld(t.Context(), h[0].Name, "0123456789ab")
	wantCode(t, err, http.StatusConflict, admin.Conflict, "0123456789ab")
	done := must[admin.Released](t)(r.ReleaseHeld(t.Context(), h[0].Name))
	if done.Addresses != 50 || !slices.Equal(done.Holds, []string{h[0].Name}) {
		t.Errorf("released %+v", done)
	}
	left := must[admin.Held](t)(r.Held(t.Context())).Holds
	if len(left) != 1 || left[0].Name != h[1].Name {
		t.Errorf("held %+v", left)
	}
	r.apply(vip.Batch{Full: true, Incomplete: "a.yaml: half a document", Meshes: []vip.MeshUpdate{set("a", many(5)...)}})
	_, err = r.ReleaseHeld(t.Context(), left[0].Name)
	wantCode(t, err, http.StatusConflict, admin.Conflict, "half a document")
	if s := must[admin.Sources](t)(r.Sources(t.Context())); s.Incomplete == "" || s.Sources[0].Name != "file /etc/meshvip" || s.Sources[0].Problems[0].Place != "a.yaml:3" {
		t.Errorf("sources %+v", s)
	}
}

func TestConflictsAreAllThatIsNotAsAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *allocator.Config) { c.Layout = allocator.Ranges(netip.MustParsePrefix("240.0.0.0/29")) })
	asks := set("m", "0:wants").Set[0]
	asks.Terms = &vip.Terms{Static: []netip.Addr{addr("192.0.2.1")}}
	u := set("m", append(many(8), "0:a_b", "0:a.b")...)
	u.Set = append(u.Set, asks)
	r.apply(full(u, set("gone", "0:a_b")))
	r.apply(full(u))
	r.configure(func(c *allocator.Config) { c.Layout.Pools[0].Exclude = ranges("240.0.0.3-240.0.0.3") })
	x := must[admin.Conflicts](t)(r.Conflicts(t.Context(), 2))
	if x.WaitingCount != 5 || len(x.Waiting) != 2 || x.Waiting[0].Family != "v4" || !strings.Contains(x.Waiting[0].Reason, "add a pool") {
		t.Errorf("waiting %d: %+v", x.WaitingCount, x.Waiting)
	}
	if x.RefusedCount != 1 || x.Refused[0].Entry != "0:wants" || x.Refused[0].Address != addr("192.0.2.1") || !strings.Contains(x.Refused[0].Reason, "no pool") {
		t.Errorf("refused %d: %+v", x.RefusedCount, x.Refused)
	}
	if x.HeldCount != 1 || x.Held[0].Mesh != "gone" || x.Moves.StuckCount != 1 || x.DamagedCount != 0 || len(x.Unknown) != 0 {
		t.Errorf("conflicts %+v", x)
	}
	if x.NamesCount != 1 || x.Names[0].Name != "a.b" || x.Names[0].Winner != "0:a.b" || !slices.Equal(x.Names[0].Losers, []string{"0:a_b"}) {
		t.Errorf("names %d: %+v", x.NamesCount, x.Names)
	}
}

func TestVerifyReadsTheStoreBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(full(set("m", "0:web")))
	v := must[admin.Verified](t)(r.Verify(t.Context()))
	if !v.OK || len(v.Breaches) != 0 || v.Revision != 1 || v.Serial == 0 {
		t.Errorf("verified %+v", v)
	}
}

func TestABackupHasTheWholeTable(t *testing.T) {
	t.Parallel()
	r := explained(t)
	b, err := r.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := allocator.ReadBackup(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Rows) != len(r.alloc.Rows()) || s.Meta.Revision != 2 || s.Meta.ID != r.alloc.Stats().Meta.ID {
		t.Errorf("the backup has %d rows, %+v", len(s.Rows), s.Meta)
	}
	if err := allocator.Check(s); err != nil {
		t.Error(err)
	}
}

func TestWhatNobodyKnowsIsSaidToBeUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(full(set("m", "0:web")))
	offline := admin.InProcess(admin.Observed(admin.Handler(&admin.Table{Alloc: r.alloc, Offline: true})))
	_, err := offline.Sources(t.Context())
	wantCode(t, err, http.StatusServiceUnavailable, admin.Unavailable, "sources are unknown: no server runs")
	_, err = offline.Changes(t.Context(), "", 0)
	wantCode(t, err, http.StatusServiceUnavailable, admin.Unavailable, "changes are unknown")
	err = offline.Watch(t.Context(), "", nil)
	wantCode(t, err, http.StatusServiceUnavailable, admin.Unavailable, "changes are unknown")
	if x := must[admin.Conflicts](t)(offline.Conflicts(t.Context(), 0)); x.Names != nil || !slices.Equal(x.Unknown, []string{"names"}) {
		t.Errorf("conflicts %+v", x)
	}
	e := must[admin.Explanation](t)(offline.Explain(t.Context(), "0:web"))
	if !slices.Equal(e.Unknown, []string{"names", "resources"}) || e.Entries[0].Names != nil || e.Entries[0].Resources != nil || e.Entries[0].Row.Names != nil {
		t.Errorf("explained %+v", e)
	}
	if p := must[admin.TablePage](t)(offline.Table(t.Context(), admin.TableQuery{})); p.Rows[0].Names != nil || len(p.Unknown) != 1 {
		t.Errorf("table %+v", p)
	}
}
