package names

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvip/coredns-meshvip/vip"
)

// wantAddrs fails unless name in "mesh." is answered with these addresses, v4
// first.
func wantAddrs(t *testing.T, v *View, name string, want ...string) {
	t.Helper()
	r, result := v.Forward(name, "mesh.")
	if result != Found {
		t.Errorf("%s is %v", name, result)
		return
	}
	var got []string
	for _, addr := range answersOf(r) {
		got = append(got, addr.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// wantPTR fails unless addr has the PTR want in a block with zone "mesh.".
func wantPTR(t *testing.T, v *View, addr, want string) {
	t.Helper()
	if got := v.PTR(netip.MustParseAddr(addr), []string{"mesh."}); got != want {
		t.Errorf("the PTR of %s is %q, want %q", addr, got, want)
	}
}

// indexOf returns an index with zone "mesh." and these rows, and a view of all.
func indexOf(t *testing.T, rows ...*vip.Row) (*Index, *View) {
	t.Helper()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v := x.View(nil)
	t.Cleanup(v.Close)
	x.Apply(adds(rows...))
	return x, v
}

func TestEveryGivenAddressIsAnsweredAndHasThePTR(t *testing.T) {
	t.Parallel()
	given := []string{"10.0.0.1", "10.0.0.2", "240.0.0.9", "2001:db8::1", "2001:db8::2"}
	r := told(t, "3:m1/backend", "backend.svc.mesh", "10.0.0.1 10.0.0.2 240.0.0.9 2001:db8::1 2001:db8::2")
	x, v := indexOf(t, r)
	wantAddrs(t, v, "backend.svc.mesh.", given...)
	for _, addr := range given {
		wantPTR(t, v, addr, "backend.svc.mesh.")
	}
	if x.Len() != 1 {
		t.Errorf("one entry is %d records", x.Len())
	}
	fewer := told(t, "3:m1/backend", "backend.svc.mesh", "10.0.0.2 240.0.0.10")
	x.Apply([]Change{{r, fewer}})
	wantAddrs(t, v, "backend.svc.mesh.", "10.0.0.2", "240.0.0.10")
	for addr, want := range map[string]string{"10.0.0.1": "", "10.0.0.2": "backend.svc.mesh.", "240.0.0.9": "", "240.0.0.10": "backend.svc.mesh.", "2001:db8::1": ""} {
		wantPTR(t, v, addr, want)
	}
	if v.Below(netip.MustParsePrefix("2001:db8::/32")) {
		t.Error("given addresses that went still count below their prefix")
	}
	x.Apply([]Change{{Old: fewer}})
	if x.Len() != 0 || v.Below(netip.MustParsePrefix("0.0.0.0/0")) {
		t.Errorf("%d records are left", x.Len())
	}
}

func TestAGivenAddressBesideAnAllocatedOneIsAnsweredAfterIt(t *testing.T) {
	t.Parallel()
	r := told(t, "3:m1/a", "a.mesh", "10.0.0.1 240.0.0.7 2001:db8::1")
	r.V4 = netip.MustParseAddr("240.0.0.7")
	_, v := indexOf(t, r)
	wantAddrs(t, v, "a.mesh.", "240.0.0.7", "10.0.0.1", "2001:db8::1")
}

func TestAddressesThatNoReplyCanCarryAreLeftOut(t *testing.T) {
	t.Parallel()
	odd := told(t, "3:m1/odd", "odd.mesh", "fe80::1%eth0 10.0.0.2 10.0.0.1 10.0.0.2")
	none := told(t, "3:m1/none", "none.mesh", "fe80::1%eth0")
	x, v := indexOf(t, odd, none)
	wantAddrs(t, v, "odd.mesh.", "10.0.0.1", "10.0.0.2")
	wantForward(t, v, "none.mesh.", "mesh.", "none")
	wantPTR(t, v, "fe80::1", "")
	x.Apply([]Change{{Old: odd}, {Old: none}})
	if x.Len() != 0 || v.Below(netip.MustParsePrefix("0.0.0.0/0")) {
		t.Errorf("%d records are left", x.Len())
	}
}

// A resolver that gets the addresses in another order each time would take that
// for a change.
func TestTheOrderOfAddressesIsStable(t *testing.T) {
	t.Parallel()
	a, b := told(t, "3:m1/a", "a.mesh", "10.0.0.1 10.0.0.3 10.0.0.2"), told(t, "3:m1/a", "a.mesh", "10.0.0.2 10.0.0.1 10.0.0.3")
	if !slices.Equal(answersOf(newRecord(a, nil)), answersOf(newRecord(b, nil))) {
		t.Errorf("%v and %v", answersOf(newRecord(a, nil)), answersOf(newRecord(b, nil)))
	}
}

func TestOneGivenAddressAndOneHostnameTakeNoMoreThanAnOrdinaryRecord(t *testing.T) {
	t.Parallel()
	x, v := indexOf(t, told(t, "3:m1/a", "a.mesh", "10.0.0.1 2001:db8::1"))
	rival := row(t, "2:a.mesh", "240.0.0.1")
	for range 2 {
		if r, _ := v.Forward("a.mesh.", "mesh."); r == nil || r.more != nil {
			t.Errorf("record %+v", r)
		}
		// Nor does it when it has lost its name and got it back.
		x.Apply(adds(rival))
		x.Apply([]Change{{Old: rival}})
	}
}

// A Kuma that allocates by itself gives addresses to services and hosts, too.
func TestAServiceWithGivenAddressesAnswersUnderItsUsualNames(t *testing.T) {
	t.Parallel()
	service, host := row(t, "0:backend_ns_svc_80", "", "m1", "m2"), row(t, "1:db.mesh", "", "m1")
	for r, given := range map[*vip.Row][]string{service: {"10.0.0.1", "10.0.0.2", "2001:db8::1"}, host: {"10.0.0.3"}} {
		terms := new(vip.Terms)
		for _, addr := range given {
			terms.Given = append(terms.Given, netip.MustParseAddr(addr))
		}
		r.Listings[0].Terms = terms
	}
	for _, build := range []func(x *Index){
		func(x *Index) { x.Apply(adds(service, host)) },
		func(x *Index) { x.Fill([]*vip.Row{host, service}) },
	} {
		x, v := indexOf(t)
		build(x)
		for _, name := range []string{"backend.ns.svc.80.mesh.", "backend_ns_svc_80.mesh."} {
			wantAddrs(t, v, name, "10.0.0.1", "10.0.0.2", "2001:db8::1")
		}
		wantAddrs(t, v, "db.mesh.", "10.0.0.3")
		for _, addr := range []string{"10.0.0.1", "10.0.0.2", "2001:db8::1"} {
			wantPTR(t, v, addr, "backend.ns.svc.80.mesh.")
		}
		wantPTR(t, v, "10.0.0.3", "db.mesh.")
		// Kuma takes them back, and the entry waits.
		waits := row(t, "0:backend_ns_svc_80", "", "m1", "m2")
		x.Apply([]Change{{service, waits}})
		wantForward(t, v, "backend.ns.svc.80.mesh.", "mesh.", "none")
		wantPTR(t, v, "10.0.0.2", "")
		if v.Below(netip.MustParsePrefix("2001:db8::/32")) || x.Len() != 1 {
			t.Errorf("%d records", x.Len())
		}
	}
}
