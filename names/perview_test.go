package names

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

func TestAHostnameOfSeveralMeshesIsAnsweredFromTheMeshesThatAViewShows(t *testing.T) {
	t.Parallel()
	const name = "backend.svc.mesh."
	a, b, c := told(t, "3:a/backend", name, "10.0.0.1"), told(t, "3:b/backend", name, "10.0.0.2"), told(t, "3:c/backend", name, "10.0.0.3")
	x, all := indexOf(t, c)
	views := map[string]*View{}
	open := func(meshes ...string) {
		v := x.View(meshes)
		t.Cleanup(v.Close)
		views[fmt.Sprint(meshes)] = v
	}
	want := func(want map[string]string) {
		t.Helper()
		for meshes, v := range views {
			entry, ok := want[meshes]
			if !ok {
				entry = "none"
			}
			wantForward(t, v, name, "mesh.", entry)
			ancestor := "empty"
			if !ok {
				ancestor = "none"
			}
			wantForward(t, v, "svc.mesh.", "mesh.", ancestor)
			for addr, e := range map[string]string{"10.0.0.1": "3:a/backend", "10.0.0.2": "3:b/backend", "10.0.0.3": "3:c/backend"} {
				ptr := ""
				if e == entry {
					ptr = name
				}
				wantPTR(t, v, addr, ptr)
			}
		}
	}
	views["all"] = all
	open("b")
	open("b", "c")
	want(map[string]string{"all": "3:c/backend", "[b c]": "3:c/backend"})
	x.Apply(adds(a, b))
	open("c") // a view that comes late
	open("a", "c")
	open("d")
	everywhere := map[string]string{"all": "3:a/backend", "[b]": "3:b/backend", "[b c]": "3:b/backend", "[c]": "3:c/backend", "[a c]": "3:a/backend"}
	want(everywhere)

	// A change of another name disturbs nothing.
	other := told(t, "3:b/other", "other.mesh", "10.0.0.9")
	x.Apply(adds(other))
	want(everywhere)
	x.Apply([]Change{{Old: b}})
	want(map[string]string{"all": "3:a/backend", "[b c]": "3:c/backend", "[c]": "3:c/backend", "[a c]": "3:a/backend"})
	x.Apply([]Change{{Old: a}, {New: b}})
	want(map[string]string{"all": "3:b/backend", "[b]": "3:b/backend", "[b c]": "3:b/backend", "[c]": "3:c/backend", "[a c]": "3:c/backend"})
	x.Apply([]Change{{Old: b}, {Old: c}, {New: a}})
	want(map[string]string{"all": "3:a/backend", "[a c]": "3:a/backend"})
	x.Apply([]Change{{Old: a}})
	want(nil)
	for meshes, v := range views {
		if v.meshes != nil && v.hosts.n.Load() != 0 {
			t.Errorf("view %s: %d records stand in for nobody", meshes, v.hosts.n.Load())
		}
	}
}

// What somebody wrote for all meshes has its place in the order, whatever a view
// hides: before hostnames an fqdn, behind them a host and a service.
func TestNamesOfAllMeshesKeepTheirPlaceAmongHostnames(t *testing.T) {
	t.Parallel()
	host, service := row(t, "1:a.mesh", "240.0.0.1", "m2"), row(t, "0:a", "240.0.0.2", "m2")
	x, all := indexOf(t, told(t, "3:m1/a", "a.mesh x.a.mesh", "10.0.0.1"), host, service)
	v := x.View([]string{"m2"})
	defer v.Close()
	wantForward(t, v, "a.mesh.", "mesh.", "none")
	told2 := told(t, "4:m2/a", "a.mesh y.a.mesh", "10.0.0.2")
	x.Apply(adds(told2))
	wantForward(t, v, "a.mesh.", "mesh.", "4:m2/a")
	wantPTR(t, v, "10.0.0.2", "a.mesh.")
	wantPTR(t, all, "10.0.0.2", "y.a.mesh.")
	fqdn := row(t, "2:a.mesh", "240.0.0.3", "m3")
	x.Apply(adds(fqdn))
	wantForward(t, all, "a.mesh.", "mesh.", "2:a.mesh")
	wantForward(t, v, "a.mesh.", "mesh.", "empty") // y.a.mesh. lies below
	wantPTR(t, v, "10.0.0.2", "y.a.mesh.")
	x.Apply([]Change{{Old: fqdn}})
	wantForward(t, v, "a.mesh.", "mesh.", "4:m2/a")
	// The name of the zone's name server is nobody's in any view.
	x.Apply([]Change{{Old: told2}, {New: told(t, "3:m1/ns", "ns.dns.mesh", "10.0.1.1")}, {New: told(t, "3:m2/ns", "ns.dns.mesh", "10.0.1.2")}})
	wantForward(t, v, "ns.dns.mesh.", "mesh.", "none")
	x.SetZones([]string{"svc.mesh."})
	wantForward(t, v, "ns.dns.mesh.", "mesh.", "3:m2/ns")
	x.SetZones([]string{"mesh."})
	wantForward(t, v, "ns.dns.mesh.", "mesh.", "none")
}

// A service whose name another mesh's hostname takes shows nothing below its
// ancestors in a view that shows the hostname, and neither in one that does not.
func TestAViewCountsWhatStandsInOnce(t *testing.T) {
	t.Parallel()
	x, _ := indexOf(t, row(t, "0:a.b", "240.0.0.1", "m2"), told(t, "3:m1/a", "a.b.mesh", "10.0.0.1"))
	v := x.View([]string{"m2"})
	defer v.Close()
	wantForward(t, v, "b.mesh.", "mesh.", "none")
	mine := told(t, "3:m2/a", "a.b.mesh", "10.0.0.2")
	for range 2 {
		x.Apply(adds(mine))
		wantForward(t, v, "a.b.mesh.", "mesh.", "3:m2/a")
		wantForward(t, v, "b.mesh.", "mesh.", "empty")
		x.Apply([]Change{{Old: mine}})
		wantForward(t, v, "a.b.mesh.", "mesh.", "none")
		wantForward(t, v, "b.mesh.", "mesh.", "none")
	}
}

// The name of a service's PTR is known without a lookup, but not while it changes.
func TestTheNameOfWhatStandsInIsLookedUpWhileItChanges(t *testing.T) {
	t.Parallel()
	first, service := row(t, "0:first", "240.0.0.1", "m1"), row(t, "0:x_y", "", "m2")
	service.Listings[0].Terms = &vip.Terms{Given: []netip.Addr{first.V4}}
	x, _ := indexOf(t, first, service)
	v := x.View([]string{"m2"})
	defer v.Close()
	wantPTR(t, v, "240.0.0.1", "x.y.mesh.")
	x.between = func() {
		if name := v.PTR(first.V4, []string{"mesh."}); name != "" {
			if r, result := v.Forward(name, "mesh."); result != Found || !r.Has(first.V4) {
				t.Errorf("the PTR %s leads to %v", name, r)
			}
		}
	}
	x.Apply(adds(row(t, "0:x.y", "240.0.0.2", "m2")))
	wantPTR(t, v, "240.0.0.1", "x_y.mesh.")
}

func TestWhatStandsInIsFoundWithoutAllocation(t *testing.T) {
	x, _ := indexOf(t, told(t, "3:m1/a", "a.mesh", "10.0.0.1"), told(t, "3:m2/a", "a.mesh", "10.0.0.1"))
	v := x.View([]string{"m2"})
	defer v.Close()
	addr := netip.MustParseAddr("10.0.0.1")
	wantForward(t, v, "a.mesh.", "mesh.", "3:m2/a")
	if n := testing.AllocsPerRun(100, func() { v.Forward("a.mesh.", "mesh.") }); n != 0 {
		t.Errorf("Forward allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { v.Reverse(addr) }); n != 0 {
		t.Errorf("Reverse allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { v.PTR(addr, []string{"mesh."}) }); n > 1 {
		t.Errorf("PTR allocates %v times", n)
	}
}
