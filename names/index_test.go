package names

import (
	"net/netip"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

// row returns a row of the entry "TYPE:NAME" that meshes list.
func row(t testing.TB, entry, v4 string, meshes ...string) *vip.Row {
	t.Helper()
	e, err := vip.ParseEntry(entry)
	if err != nil {
		t.Fatal(err)
	}
	r := &vip.Row{Entry: e}
	if v4 != "" {
		r.V4 = netip.MustParseAddr(v4)
	}
	if len(meshes) == 0 {
		meshes = []string{"default"}
	}
	for _, mesh := range meshes {
		r.Listings = append(r.Listings, vip.Listing{Mesh: mesh, Name: e.Name})
	}
	return r
}

// adds returns the changes by which rows appear.
func adds(rows ...*vip.Row) []Change {
	changes := make([]Change, len(rows))
	for i, r := range rows {
		changes[i].New = r
	}
	return changes
}

// wantForward fails unless name in zone is found and of the entry, or is
// "empty" or "none".
func wantForward(t testing.TB, v *View, name, zone, want string) {
	t.Helper()
	r, result := v.Forward(name, zone)
	got := result.String()
	if result == Found {
		got = r.Row.Entry.String()
	}
	if got != want {
		t.Errorf("Forward(%q, %q) is %s, want %s", name, zone, got, want)
	}
}

func TestBothSpellingsOfAServiceAnswer(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v := x.View(nil)
	defer v.Close()
	if ev := x.Apply(adds(row(t, "0:backend_kuma-demo_svc_5678", "240.0.0.1"))); len(ev) != 0 {
		t.Errorf("events: %v", ev)
	}
	wantForward(t, v, "backend_kuma-demo_svc_5678.mesh.", "mesh.", "0:backend_kuma-demo_svc_5678")
	wantForward(t, v, "backend.kuma-demo.svc.5678.mesh.", "mesh.", "0:backend_kuma-demo_svc_5678")
	wantForward(t, v, "kuma-demo.svc.5678.mesh.", "mesh.", "empty")
	wantForward(t, v, "svc_5678.mesh.", "mesh.", "none")
	r := v.Reverse(netip.MustParseAddr("240.0.0.1"))
	if got := v.PTR(r, []string{"mesh."}); got != "backend.kuma-demo.svc.5678.mesh." {
		t.Errorf("PTR is %q", got)
	}
}
