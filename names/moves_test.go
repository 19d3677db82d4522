package names

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvip/coredns-meshvip/vip"
)

func TestAMovedAddressLeavesItsOldPTR(t *testing.T) {
	t.Parallel()
	a1, b1 := row(t, "0:a", "240.0.0.1"), row(t, "0:b", "240.0.1.1")
	x, v := indexOf(t, a1, b1)
	a2, b2 := row(t, "0:a", "240.0.1.1"), row(t, "0:b", "240.2.0.1")
	wantLines(t, x.Apply([]Change{{a1, a2}, {b1, b2}}))
	for addr, want := range map[string]*vip.Row{"240.0.0.1": nil, "240.0.1.1": a2, "240.2.0.1": b2} {
		r := v.Reverse(netip.MustParseAddr(addr))
		if r == nil && want != nil || r != nil && r.Row != want {
			t.Errorf("Reverse(%s) is %v, want %v", addr, r, want)
		}
	}
	if v.Below(netip.MustParsePrefix("240.0.0.0/24")) {
		t.Error("the old address still counts below its prefix")
	}
	if x.Len() != 2 {
		t.Errorf("Len is %d", x.Len())
	}
}

// Two entries change places in one batch, whatever the order in it and whatever
// their kinds: neither address is lost, or taken for a shared one.
func TestTwoEntriesSwapTheirAddresses(t *testing.T) {
	t.Parallel()
	const one, two = "240.0.0.1", "240.1.0.1"
	fqdn := func(addr string) *vip.Row { return row(t, "2:a.mesh", addr) }
	service := func(addr string) *vip.Row { return row(t, "0:b", addr) }
	mesh := func(addr string) *vip.Row { return told(t, "3:m1/c", "c.mesh", addr) }
	names := []string{"a.mesh.", "b.mesh.", "c.mesh."}
	kinds := []func(string) *vip.Row{fqdn, service, mesh}
	for i := range kinds {
		for j := range kinds {
			if i == j {
				continue
			}
			p1, q1, p2, q2 := kinds[i](one), kinds[j](two), kinds[i](two), kinds[j](one)
			x, v := indexOf(t, p1, q1)
			wantLines(t, x.Apply([]Change{{p1, p2}, {q1, q2}}))
			wantAddrs(t, v, names[i], two)
			wantAddrs(t, v, names[j], one)
			wantPTR(t, v, two, names[i])
			wantPTR(t, v, one, names[j])
			if len(x.shared) > 0 || x.Len() != 2 {
				t.Errorf("%d records, shared: %v", x.Len(), x.shared)
			}
			// And back, one leaving its address to the other and going.
			x.Apply([]Change{{Old: p2}, {q2, q1}})
			wantPTR(t, v, two, names[j])
			wantPTR(t, v, one, "")
			if v.Below(netip.MustParsePrefix("240.0.0.0/16")) || !v.Below(netip.MustParsePrefix("240.1.0.0/16")) {
				t.Error("the prefixes do not count what is there")
			}
		}
	}
}

// An address that two entries have, and a third gets, in the batch in which the
// first two leave it.
func TestASharedAddressIsHandedOn(t *testing.T) {
	t.Parallel()
	a1, b1 := told(t, "3:m1/a", "a.mesh", "240.0.0.1"), told(t, "3:m1/b", "b.mesh", "240.0.0.1 240.0.0.2")
	x, v := indexOf(t, a1, b1)
	a2, b2, c := told(t, "3:m1/a", "a.mesh", "240.0.0.3"), told(t, "3:m1/b", "b.mesh", "240.0.0.2"), row(t, "0:c", "240.0.0.1")
	x.Apply([]Change{{New: c}, {a1, a2}, {b1, b2}})
	for addr, want := range map[string]string{"240.0.0.1": "c.mesh.", "240.0.0.2": "b.mesh.", "240.0.0.3": "a.mesh."} {
		wantPTR(t, v, addr, want)
	}
	if len(x.shared) > 0 {
		t.Errorf("shared: %v", x.shared)
	}
}

// What readers see between the steps of a move: the old PTR goes, then the name
// is stored, then the new PTR comes. What stays is there at each of them.
func TestAMoveTakesThePTRThenChangesTheNameThenBringsThePTR(t *testing.T) {
	t.Parallel()
	const old, fresh, stays = "240.0.0.1", "240.1.0.1", "fd00::1"
	both := func(entry, v4 string) *vip.Row {
		r := row(t, entry, v4)
		r.V6 = netip.MustParseAddr(stays)
		return r
	}
	for _, tt := range []struct {
		name     string
		was, now *vip.Row
	}{
		{"a.b.mesh.", both("0:a_b", old), both("0:a_b", fresh)},
		{"a.b.mesh.", both("2:a.b.mesh", old), both("2:a.b.mesh", fresh)},
		{"a.b.mesh.", told(t, "3:m1/a", "a.b.mesh", old+" "+stays), told(t, "3:m1/a", "a.b.mesh", fresh+" "+stays)},
		{"a.b.mesh.", told(t, "3:m1/a", "a.b.mesh c.mesh", old+" "+stays), told(t, "3:m1/a", "x.mesh a.b.mesh", "10.0.0.1 "+fresh+" "+stays)},
	} {
		x, v := indexOf(t, tt.was)
		type seen struct{ Old, Name, Fresh bool }
		var steps []seen
		x.between = func() {
			r, _ := v.Forward(tt.name, "mesh.")
			has := func(addr string) bool { return v.Reverse(netip.MustParseAddr(addr)) != nil }
			steps = append(steps, seen{has(old), r.Has(netip.MustParseAddr(fresh)), has(fresh)})
			if ptr := v.PTR(netip.MustParseAddr(stays), []string{"mesh."}); ptr == "" {
				t.Errorf("%v: at step %d the address that stays has no PTR", tt.now.Entry, len(steps))
			}
			if _, result := v.Forward("b.mesh.", "mesh."); result != Empty || !v.Below(netip.MustParsePrefix("fd00::/64")) {
				t.Errorf("%v: at step %d what is above the name and the address that stay is %v", tt.now.Entry, len(steps), result)
			}
		}
		x.Apply([]Change{{tt.was, tt.now}})
		if diff := cmp.Diff([]seen{{false, false, false}, {false, true, false}, {false, true, true}}, steps); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.now.Entry, diff)
		}
	}
}

// The name of an address goes to another entry, which stands elsewhere: between
// the steps it is the PTR of neither, or of the one that has it.
func TestANameThatChangesHandsIsNotThePTROfTheLoser(t *testing.T) {
	t.Parallel()
	dotted, literal := row(t, "0:a_b", "240.0.0.1"), row(t, "0:a.b", "240.0.0.2")
	x, v := indexOf(t, dotted)
	steps := 0
	x.between = func() {
		steps++
		for _, addr := range []netip.Addr{dotted.V4, literal.V4} {
			name := v.PTR(addr, []string{"mesh."})
			if r, _ := v.Forward(name, "mesh."); name != "" && !r.Has(addr) {
				t.Errorf("at step %d, %v has the PTR %s, which gives %v", steps, addr, name, r)
			}
		}
	}
	x.Apply(adds(literal))
	x.Apply([]Change{{Old: literal}})
	if steps != 6 {
		t.Errorf("%d steps were looked at", steps)
	}
	wantPTR(t, v, "240.0.0.1", "a.b.mesh.")
}
