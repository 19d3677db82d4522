package names

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

// sharers are entries that have 240.0.0.1, the one that is to have its PTR
// first, with the names that they have.
func sharers(t *testing.T) (rows []*vip.Row, names []string) {
	rows = []*vip.Row{
		row(t, "0:b", "240.0.0.1"), // as in a damaged table
		row(t, "0:c", "240.0.0.1"),
		row(t, "2:a.mesh", "240.0.0.1"),
		told(t, "3:m2/a", "d.mesh", "240.0.0.1"),
		told(t, "3:m1/b", "e.mesh", "10.0.0.1 240.0.0.1 240.0.0.2"),
		told(t, "5:m1/a", "f.mesh", "240.0.0.1"),
	}
	return rows, []string{"b.mesh.", "c.mesh.", "a.mesh.", "d.mesh.", "e.mesh.", "f.mesh."}
}

// Whatever the order in which entries come and go, also inside one batch.
func TestASharedAddressHasOneStablePTR(t *testing.T) {
	t.Parallel()
	rows, names := sharers(t)
	for range 200 {
		x, v := indexOf(t)
		live := make([]bool, len(rows))
		for range 12 {
			var batch []Change
			for _, i := range rand.Perm(len(rows))[:1+rand.IntN(3)] {
				c := Change{New: rows[i]}
				if live[i] = !live[i]; !live[i] {
					c = Change{Old: rows[i]}
				}
				batch = append(batch, c)
			}
			x.Apply(batch)
			want, n := "", 0
			for i := range rows {
				if live[i] {
					n++
					if want == "" {
						want = names[i]
					}
					wantForward(t, v, names[i], "mesh.", rows[i].Entry.String())
				} else {
					wantForward(t, v, names[i], "mesh.", "none")
				}
			}
			wantPTR(t, v, "240.0.0.1", want)
			if x.Len() != n || v.Below(netip.MustParsePrefix("240.0.0.0/24")) != (n > 0) {
				t.Fatalf("%d records of %d; below the prefix: %v", x.Len(), n, v.Below(netip.MustParsePrefix("240.0.0.0/24")))
			}
			if n < 2 && len(x.shared) > 0 {
				t.Fatalf("with %d entries %v is still kept", n, x.shared)
			}
		}
	}
}

func TestAnEntryWithoutItsPTRChangesLikeAnyOther(t *testing.T) {
	t.Parallel()
	owner, guest := row(t, "0:owner", "240.0.0.1"), told(t, "3:m1/guest", "guest.mesh", "240.0.0.1")
	x, v := indexOf(t, owner, guest)
	w := x.View([]string{"m1"}) // built while the guest has no slot
	defer w.Close()
	wantForward(t, w, "guest.mesh.", "mesh.", "3:m1/guest")

	again := told(t, "3:m1/guest", "x.guest.mesh", "240.0.0.1")
	x.Apply([]Change{{guest, again}})
	for _, view := range []*View{v, w} {
		wantForward(t, view, "guest.mesh.", "mesh.", "empty")
		wantForward(t, view, "x.guest.mesh.", "mesh.", "3:m1/guest")
	}
	wantPTR(t, v, "240.0.0.1", "owner.mesh.")
	// The name that it loses is gone from its record, though no slot leads there.
	x.Apply(adds(row(t, "2:x.guest.mesh", "240.0.0.9")))
	wantForward(t, v, "x.guest.mesh.", "mesh.", "2:x.guest.mesh")
	x.Apply([]Change{{Old: owner}})
	wantPTR(t, v, "240.0.0.1", "")
	if v.Reverse(netip.MustParseAddr("240.0.0.1")) == nil || x.Len() != 2 {
		t.Errorf("%d records", x.Len())
	}
	x.Apply([]Change{{Old: again}})
	if v.Reverse(netip.MustParseAddr("240.0.0.1")) != nil || x.Len() != 1 {
		t.Errorf("%d records", x.Len())
	}
}

// A zone that makes names too long finds the entries that have no PTR, too.
func TestALongZoneShortensTheNamesOfAnEntryWithoutItsPTR(t *testing.T) {
	t.Parallel()
	name := strings.ReplaceAll(octetsOf(248), "_", ".")
	x, v := indexOf(t, row(t, "0:"+name, "240.0.0.1"), row(t, "0:a", "240.0.0.1"))
	wantForward(t, v, name+".mesh.", "mesh.", "0:"+name)
	if ev := x.SetZones([]string{"mesh.", "meshes."}); len(ev) != 1 || ev[0].Kind != Unservable {
		t.Errorf("events %v", ev)
	}
	wantForward(t, v, name+".mesh.", "mesh.", "none")
	wantForward(t, v, "a.mesh.", "mesh.", "0:a")
}

// Kuma counts the addresses of its newer kinds mesh by mesh: the same one is
// given again and again.
func TestAViewShowsTheFirstOfItsOwnAtASharedAddress(t *testing.T) {
	t.Parallel()
	prefix := netip.MustParsePrefix("240.0.0.0/24")
	first, next := told(t, "3:m1/a", "one.mesh", "240.0.0.1"), told(t, "3:m2/a", "two.mesh", "240.0.0.1")
	x, all := indexOf(t, first, next)
	early := x.View([]string{"m2"})
	defer early.Close()
	late := next // its row, as it is listed now
	for range 3 {
		wantPTR(t, early, "240.0.0.1", "two.mesh.")
		wantPTR(t, all, "240.0.0.1", "one.mesh.")
		x.Apply([]Change{{Old: late}})
		wantPTR(t, early, "240.0.0.1", "")
		if early.Below(prefix) {
			t.Error("an address of which nothing shows counts below its prefix")
		}
		late = told(t, "3:m2/a", "two.mesh", "240.0.0.1 240.0.1.1")
		x.Apply(adds(late))
		if !early.Below(prefix) {
			t.Error("an address that is shown does not count below its prefix")
		}
		x.Apply([]Change{{Old: first}})
		wantPTR(t, early, "240.0.0.1", "two.mesh.")
		wantPTR(t, all, "240.0.0.1", "two.mesh.")
		x.Apply(adds(first))
	}
	x.Apply([]Change{{Old: first}, {Old: late}})
	if early.guests.n.Load() != 0 || early.Below(prefix) {
		t.Error("something is left of what stood in")
	}
}

// What the table gave comes first where both are shown, whatever the keys.
func TestAGivenAddressIsAnsweredInItsOwnViewThoughTheTableGaveItToAnother(t *testing.T) {
	t.Parallel()
	ours, theirs := row(t, "2:ours.mesh", "240.0.0.1", "m1"), row(t, "0:theirs", "", "m2")
	theirs.Listings[0].Terms = &vip.Terms{Given: []netip.Addr{ours.V4}}
	x, all := indexOf(t, ours, theirs)
	v := x.View([]string{"m2"})
	defer v.Close()
	wantPTR(t, all, "240.0.0.1", "ours.mesh.")
	wantPTR(t, v, "240.0.0.1", "theirs.mesh.")
}

// The table gives the entry the address that it had been given, and takes that
// back: its place among the others follows.
func TestWhoGaveTheAddressDecidesFirst(t *testing.T) {
	t.Parallel()
	first, second := told(t, "3:m1/a", "a.mesh", "240.0.0.1"), told(t, "3:m1/b", "b.mesh", "240.0.0.1")
	ours := told(t, "3:m1/b", "b.mesh", "")
	ours.V4 = netip.MustParseAddr("240.0.0.1")
	x, v := indexOf(t, first, second)
	wantPTR(t, v, "240.0.0.1", "a.mesh.")
	x.Apply([]Change{{second, ours}})
	wantPTR(t, v, "240.0.0.1", "b.mesh.")
	x.Apply([]Change{{ours, second}})
	wantPTR(t, v, "240.0.0.1", "a.mesh.")
}

func TestOrdinaryAddressesLeaveNoTraceAmongTheShared(t *testing.T) {
	t.Parallel()
	var changes []Change
	for i := range 5000 {
		changes = append(changes, Change{New: benchRow(i)})
	}
	x, v := indexOf(t)
	x.Apply(changes)
	if len(x.shared) > 0 {
		t.Errorf("%d addresses are thought to be shared", len(x.shared))
	}
	for i := range changes {
		if r := v.Reverse(changes[i].New.V4); r == nil || r.Row != changes[i].New {
			t.Fatalf("%v is %v", changes[i].New.V4, r)
		}
	}
}
