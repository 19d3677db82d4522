package names

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

func TestAViewShowsItsMeshesOnly(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	a := row(t, "0:a.east", "240.0.0.1", "m1")
	x.Apply(adds(a, row(t, "0:b.west", "241.0.0.2", "m2"), row(t, "0:c.both", "242.0.0.3", "m1", "m2", "m3")))
	v := x.View([]string{"m1", "m1"})
	defer v.Close()
	wantForward(t, v, "a.east.mesh.", "mesh.", "0:a.east")
	wantForward(t, v, "b.west.mesh.", "mesh.", "none")
	wantForward(t, v, "west.mesh.", "mesh.", "none")
	wantForward(t, v, "c.both.mesh.", "mesh.", "0:c.both")
	hidden, shown := netip.MustParseAddr("241.0.0.2"), netip.MustParsePrefix("240.0.0.0/8")
	if v.Reverse(hidden) != nil || v.Below(netip.MustParsePrefix("241.0.0.0/8")) || v.Below(netip.PrefixFrom(hidden, 32)) {
		t.Error("the view shows the address of an entry that it hides")
	}
	if !v.Below(shown) || !v.Below(netip.PrefixFrom(a.V4, 32)) || v.Below(netip.Prefix{}) {
		t.Error("Below is mistaken about what the view shows")
	}
	x.Apply([]Change{{a, row(t, "0:a.east", "240.0.0.1", "m2")}})
	wantForward(t, v, "east.mesh.", "mesh.", "none")
	if v.Below(shown) {
		t.Error("an entry that left the view's mesh still counts")
	}
}

func TestAPTRIsConfirmedWhileItsEntryLeavesTheView(t *testing.T) {
	t.Parallel()
	was, is := row(t, "0:a", "240.0.0.1", "m1"), row(t, "0:a", "240.0.0.1", "m2")
	x, _ := indexOf(t, was)
	v := x.View([]string{"m1"})
	defer v.Close()
	steps := 0
	x.between = func() {
		steps++
		if ptr := v.PTR(was.V4, []string{"mesh."}); ptr != "" {
			wantForward(t, v, ptr, "mesh.", "0:a")
		}
	}
	x.Apply([]Change{{was, is}})
	if steps == 0 {
		t.Error("nothing was looked at")
	}
}

// A hidden winner's name is not answered for the loser, and what the loser
// would have below its ancestors is not there either.
func TestTheRuleOfOwnersComesBeforeTheFilter(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh.", "other."})
	loser := row(t, "0:a.b", "240.0.0.1", "m1")
	x.Apply(adds(loser, row(t, "2:a.b.mesh", "240.0.0.2", "m2"), row(t, "0:x_y", "240.0.0.3", "m1"), row(t, "0:x.y", "240.0.0.4", "m2")))
	v := x.View([]string{"m1"})
	defer v.Close()
	wantForward(t, v, "a.b.mesh.", "mesh.", "none")
	wantForward(t, v, "b.mesh.", "mesh.", "none")
	wantForward(t, v, "b.other.", "other.", "empty")
	wantForward(t, v, "x.y.mesh.", "mesh.", "none")
	wantForward(t, v, "y.mesh.", "mesh.", "none")
	wantForward(t, v, "x_y.mesh.", "mesh.", "0:x_y")
	if got := v.PTR(loser.V4, []string{"mesh."}); got != "" {
		t.Errorf("PTR is %q, which is not answered here", got)
	}
}

// A name that is another's in the zone, and hidden anyway, takes nothing from the
// others below its ancestors.
func TestAHiddenNameThatIsTakenIsNotCountedOut(t *testing.T) {
	t.Parallel()
	x, _ := indexOf(t, row(t, "0:c.b", "240.0.0.1", "m1"), row(t, "0:a.b", "240.0.0.2", "m2"), row(t, "2:a.b.mesh", "240.0.0.3", "m2"))
	v := x.View([]string{"m1"})
	defer v.Close()
	wantForward(t, v, "b.mesh.", "mesh.", "empty")
}

// The name server of a zone around the first one has a service's name there.
func TestAPTRNeverNamesANameServer(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"dns.mesh.", "mesh."})
	v := x.View(nil)
	defer v.Close()
	r := row(t, "0:ns", "240.0.0.1", "m1")
	x.Apply(adds(r))
	wantForward(t, v, "ns.dns.mesh.", "dns.mesh.", "none")
	if got := v.PTR(r.V4, []string{"dns.mesh.", "mesh."}); got != "" {
		t.Errorf("the PTR is %q, which is the name server's", got)
	}
	wantPTR(t, v, "240.0.0.1", "ns.mesh.")
}

func TestEqualSetsShareAViewUntilTheLastIsClosed(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v, w := x.View([]string{"m2", "m1"}), x.View([]string{"m1", "m2", "m2"})
	if v != w || x.View(nil) != x.View([]string{}) {
		t.Error("equal sets have views of their own")
	}
	v.Close()
	x.Apply(adds(row(t, "0:a.b", "240.0.0.1", "m1")))
	wantForward(t, w, "b.mesh.", "mesh.", "empty")
	w.Close()
	again := x.View([]string{"m1", "m2"})
	defer again.Close()
	if again == w {
		t.Error("a closed view was given out")
	}
	wantForward(t, again, "b.mesh.", "mesh.", "empty")
}

func TestQueriesAllocateNothing(t *testing.T) {
	x := NewIndex()
	x.SetZones([]string{"mesh.", "dns.mesh."})
	r := row(t, "0:Backend_ns_svc_80", "240.0.0.1", "m1", "m2", "m3")
	r.V6 = netip.MustParseAddr("fd00::1")
	x.Apply(adds(r, row(t, "2:api.pay.mesh", "240.0.0.2", "m1"), row(t, "0:api.pay", "240.0.0.3", "m2"), row(t, "0:ns.foo", "240.0.0.4", "m2")))
	zones := []string{"mesh."}
	for _, meshes := range [][]string{nil, {"m2"}, {"m2", "m4", "m5", "m6"}} {
		v := x.View(meshes)
		defer v.Close()
		for _, name := range []string{"backend.ns.svc.80.mesh.", "backend_ns_svc_80.mesh.", "nope.mesh.", "ns.svc.80.mesh.", "api.pay.mesh.", "pay.mesh.", "ns.dns.mesh.", "mesh."} {
			if n := testing.AllocsPerRun(100, func() { v.Forward(name, "mesh.") }); n != 0 {
				t.Errorf("Forward(%q) allocates %v times", name, n)
			}
		}
		for _, addr := range []netip.Addr{r.V4, r.V6, netip.MustParseAddr("::ffff:240.0.0.1"), netip.MustParseAddr("fe80::1%eth0"), {}} {
			if n := testing.AllocsPerRun(100, func() { v.Reverse(addr) }); n != 0 {
				t.Errorf("Reverse(%v) allocates %v times", addr, n)
			}
		}
		for _, p := range []string{"240.0.0.0/8", "240.0.0.1/32", "0.0.0.0/0", "fd00::/60", "fd00::/64", "::/0", "fd00::1/128"} {
			p := netip.MustParsePrefix(p)
			if n := testing.AllocsPerRun(100, func() { v.Below(p) }); n != 0 {
				t.Errorf("Below(%v) allocates %v times", p, n)
			}
		}
		if n := testing.AllocsPerRun(100, func() { v.PTR(r.V4, zones) }); n > 1 {
			t.Errorf("PTR allocates %v times", n)
		}
	}
}

func TestAMappedAddressIsNotTheV4Address(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	v := x.View(nil)
	defer v.Close()
	x.Apply([]Change{{New: &vip.Row{Entry: vip.Entry{Name: "a"}, V4: netip.MustParseAddr("240.0.0.1"), Listings: []vip.Listing{{Mesh: "m", Name: "a"}}}}})
	if v.Reverse(netip.MustParseAddr("::ffff:240.0.0.1")) != nil || v.Below(netip.MustParsePrefix("::/0")) {
		t.Error("a v4 address answers for its mapped form")
	}
}

func TestAViewShowsWhatItsMeshesSay(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	for _, tc := range []struct {
		meshes        []string
		shown, hidden string
	}{
		{nil, "m1 m9", ""},
		{[]string{"m2", "m1"}, "m1 m2", "m m3 M1 m10"},
	} {
		v := x.View(tc.meshes)
		defer v.Close()
		for _, mesh := range strings.Fields(tc.shown) {
			if !v.Shows(mesh) {
				t.Errorf("a view of %q hides %q", tc.meshes, mesh)
			}
		}
		for _, mesh := range append(strings.Fields(tc.hidden), "") {
			if tc.meshes != nil && v.Shows(mesh) {
				t.Errorf("a view of %q shows %q", tc.meshes, mesh)
			}
		}
	}
}
