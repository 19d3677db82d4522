package names

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

// checkRecord says what is wrong with a record that was found by name, asked
// for in zone "mesh.".
func checkRecord(r *Record, name string) error {
	s := spell(r.Row.Entry, octets("mesh."))
	switch {
	case r.Dotted != "" && r.Dotted != s.dotted, r.Literal != "" && r.Literal != s.literal, r.Absolute != "" && r.Absolute != s.absolute:
		return fmt.Errorf("%v has a name that is not its entry's: %+v", r.Row.Entry, r)
	case name != r.Absolute && name != r.Dotted+".mesh." && name != r.Literal+".mesh.":
		return fmt.Errorf("%q found %v, which does not have it: %+v", name, r.Row.Entry, r)
	case !addressed(r.Row):
		return fmt.Errorf("%v has a record and no address", r.Row.Entry)
	}
	return nil
}

// TestEveryAnswerIsOfOneRecordWhileAWriterChurns has readers check each answer
// while entries come and go, move, and take names from one another, and while
// views open and zones change.
func TestEveryAnswerIsOfOneRecordWhileAWriterChurns(t *testing.T) {
	t.Parallel()
	const entries, steps = 64, 3000
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	names := []string{"a.%d", "a_%d", "%d", "%d_b"}
	v := x.View(nil)
	defer v.Close()
	// "still" never changes, so that every answer about it is known.
	still := row(t, "0:still_x.%y", "240.255.0.1", "m1")
	x.Apply(adds(still))

	var done atomic.Bool
	var wg sync.WaitGroup
	fail := make(chan error, 16)
	report := func(err error) {
		select {
		case fail <- err:
		default:
		}
		done.Store(true)
	}
	reader := func(seed uint64) {
		defer wg.Done()
		rng := rand.New(rand.NewPCG(seed, seed))
		for !done.Load() {
			for _, format := range []string{"a.%d.mesh.", "a_%d.mesh.", "%d.mesh.", "%d.b.mesh."} {
				name := fmt.Sprintf(format, rng.IntN(entries))
				if r, result := v.Forward(name, "mesh."); result == Found {
					if err := checkRecord(r, name); err != nil {
						report(err)
					}
				}
			}
			addr := netip.AddrFrom4([4]byte{240, 0, 0, byte(rng.IntN(2 * entries))})
			if r := v.Reverse(addr); r != nil {
				if !r.Row.Has(addr) {
					report(fmt.Errorf("Reverse(%v) is %v", addr, r.Row))
				}
				if ptr := v.PTR(r, []string{"mesh."}); ptr != "" {
					if err := checkRecord(r, ptr); err != nil && r.Absolute == "" {
						report(err)
					}
				}
			}
			if r := v.Reverse(still.V4); r == nil || v.PTR(r, []string{"mesh."}) != "still.x.%y.mesh." {
				report(fmt.Errorf("the entry that nobody touches has the record %v", r))
			}
			if _, result := v.Forward("x.%y.mesh.", "mesh."); result != Empty {
				report(fmt.Errorf("the ancestor that nobody touches is %v", result))
			}
			if !v.Below(netip.MustParsePrefix("240.255.0.0/16")) {
				report(fmt.Errorf("the address that nobody touches is not below its prefix"))
			}
		}
	}
	for i := range 3 {
		wg.Add(1)
		go reader(uint64(i))
	}

	rng := rand.New(rand.NewPCG(1, 2))
	live := make(map[vip.Key]*vip.Row)
	used := make(map[int]bool)
	for step := 0; step < steps && !done.Load(); step++ {
		e := vip.Entry{Name: fmt.Sprintf(names[rng.IntN(len(names))], rng.IntN(entries))}
		if rng.IntN(4) == 0 {
			e.Kind, e.Name = vip.FQDN, e.Name+".mesh"
		}
		c := Change{Old: live[e.Key()]}
		if c.Old != nil {
			used[int(c.Old.V4.As4()[3])] = false
		}
		if n := rng.IntN(2 * entries); (c.Old == nil || rng.IntN(2) == 0) && !used[n] {
			used[n] = true
			c.New = &vip.Row{Entry: e, V4: netip.AddrFrom4([4]byte{240, 0, 0, byte(n)}), Listings: []vip.Listing{{Mesh: "m1", Name: e.Name}}}
		}
		delete(live, e.Key())
		if c.New != nil {
			live[e.Key()] = c.New
		}
		x.Apply([]Change{c})
		switch step % 100 {
		case 10:
			x.View([]string{"m1"}).Close()
		case 20:
			x.SetZones([]string{"mesh.", "other."})
		case 30:
			x.SetZones([]string{"mesh."})
		case 40:
			x.Conflicts()
		}
	}
	done.Store(true)
	wg.Wait()
	close(fail)
	for err := range fail {
		t.Error(err)
	}
	// At rest every PTR leads back to its address.
	for _, row := range live {
		r := v.Reverse(row.V4)
		ptr := v.PTR(r, []string{"mesh."})
		if ptr == "" {
			continue
		}
		if f, result := v.Forward(ptr, "mesh."); result != Found || !f.Row.Has(row.V4) {
			t.Errorf("%v has the PTR %q, which gives %v", row.V4, ptr, f)
		}
	}
}
