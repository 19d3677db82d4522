package names

import (
	"net/netip"
	"strings"
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

// told returns a row of the entry "TYPE:MESH/NAME" with these hostnames and given
// addresses, both separated by spaces.
func told(t testing.TB, entry, hostnames, given string) *vip.Row {
	t.Helper()
	r := row(t, entry, "")
	terms := &vip.Terms{Hostnames: strings.Fields(hostnames)}
	for _, s := range strings.Fields(given) {
		terms.Given = append(terms.Given, netip.MustParseAddr(s))
	}
	r.Listings = []vip.Listing{{Mesh: r.Entry.Mesh, Name: r.Entry.Name, Terms: terms}}
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
	if got := v.PTR(netip.MustParseAddr("240.0.0.1"), []string{"mesh."}); got != "backend.kuma-demo.svc.5678.mesh." {
		t.Errorf("PTR is %q", got)
	}
}

func TestAnAncestorIsEmptyAndItsOtherChildrenAreNot(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v := x.View(nil)
	defer v.Close()
	x.Apply(adds(row(t, "0:a.b", "240.0.0.1"), row(t, "2:api.payments.mesh", "240.0.0.2")))
	wantForward(t, v, "a.b.mesh.", "mesh.", "0:a.b")
	wantForward(t, v, "b.mesh.", "mesh.", "empty")
	wantForward(t, v, "zz.b.mesh.", "mesh.", "none")
	wantForward(t, v, "zz.a.b.mesh.", "mesh.", "none")
	wantForward(t, v, "mesh.", "mesh.", "empty")
	wantForward(t, v, "payments.mesh.", "mesh.", "empty")
	wantForward(t, v, "b.mesh.", ".", "none")
	wantForward(t, v, "payments.mesh.", ".", "empty")
	wantForward(t, v, "a.b.mesh.", "other.", "none")
}

func TestNamesCompareWithoutCase(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v := x.View(nil)
	defer v.Close()
	x.Apply(adds(row(t, "0:BaCkEnD_X", "240.0.0.1"), row(t, "1:HTTPbin.ORG", "240.0.0.2")))
	wantForward(t, v, "backend.x.mesh.", "mesh.", "0:BaCkEnD_X")
	wantForward(t, v, "httpbin.org.", ".", "1:HTTPbin.ORG")
	if got := v.PTR(netip.MustParseAddr("240.0.0.1"), []string{"mesh."}); got != "backend.x.mesh." {
		t.Errorf("PTR is %q", got)
	}
}

func TestInTheRootZoneOnlyHostsAndFQDNsAreServed(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"."})
	v := x.View(nil)
	defer v.Close()
	x.Apply(adds(row(t, "0:google_com", "240.0.0.1"), row(t, "1:example.com", "240.0.0.2")))
	wantForward(t, v, "google.com.", ".", "none")
	wantForward(t, v, "example.com.", ".", "1:example.com")
	wantForward(t, v, "com.", ".", "empty")
	if got := v.PTR(netip.MustParseAddr("240.0.0.1"), []string{"."}); got != "" {
		t.Errorf("PTR of a service in the root zone is %q", got)
	}
}

func TestAnEntryThatWaitsClaimsNothing(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v := x.View(nil)
	defer v.Close()
	waits := row(t, "0:a.b", "")
	x.Apply(adds(waits, row(t, "0:a_b", "240.0.0.1")))
	wantForward(t, v, "a.b.mesh.", "mesh.", "0:a_b")
	ev := x.Apply([]Change{{waits, row(t, "0:a.b", "240.0.0.2")}})
	wantForward(t, v, "a.b.mesh.", "mesh.", "0:a.b")
	if len(ev) != 1 || ev[0].Kind != NameMoved {
		t.Errorf("events %v", ev)
	}
}

// Renaming or deleting one of many names changes no other one's record.
func TestARenameTouchesNoOtherRecord(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v := x.View(nil)
	defer v.Close()
	one, two := row(t, "0:one_x", "240.0.0.1"), row(t, "0:two_x", "240.0.0.2")
	x.Apply(adds(one, two))
	kept := v.Reverse(two.V4)
	x.Apply([]Change{{Old: one}, {New: row(t, "0:uno_x", "240.0.0.3")}})
	if r, _ := v.Forward("two.x.mesh.", "mesh."); r != kept || v.Reverse(two.V4) != kept {
		t.Error("the other entry has a new record")
	}
}
