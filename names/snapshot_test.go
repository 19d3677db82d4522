package names

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/meshvip/coredns-meshvip/vip"
)

// blockZones are the zones of server blocks, some of which no index knows.
var blockZones = [][]string{
	{"mesh."}, {"."}, {".", "mesh."}, {"mesh.", "svc.mesh.", "a.mesh."}, {"svc.mesh.", "mesh.", "."}, {"b.", "dns.mesh.", "mesh."}, {"dns.mesh.", "mesh."}, nil,
}

// checkSnapshot compares a snapshot with what its view answers now, and with the
// oracle.
func (m *model) checkSnapshot(t *rapid.T, s *Snapshot, v *View, meshes []string) {
	for _, zones := range [][]string{m.o.zones, rapid.SampledFrom(blockZones).Draw(t, "block")} {
		for _, zone := range zones {
			got := make(map[string]vip.Key)
			for name, r := range s.Names(zone, zones) {
				if _, twice := got[name]; twice {
					t.Fatalf("%s is in the snapshot twice", name)
				}
				got[name] = r.Row.Key()
			}
			want := make(map[string]vip.Key)
			for name := range m.candidates(zone) {
				if longestCovering(name, zones) != zone {
					continue
				}
				if r, result := v.Forward(name, zone); result == Found {
					want[name] = r.Row.Key()
				}
			}
			if !maps.Equal(got, want) {
				t.Fatalf("zone %s of %q for meshes %q has\n%v, want\n%v", zone, zones, meshes, got, want)
			}
		}
		for _, p := range []string{"0.0.0.0/0", "240.0.0.0/8", "240.0.0.0/24", "240.0.0.2/32", "240.0.0.4/30", "::/0", "fd00::/64", "fd00::2/128", "10.0.0.0/9"} {
			p := netip.MustParsePrefix(p)
			got := make(map[netip.Addr]string)
			last := netip.Addr{}
			for addr, name := range s.PTRs(p, zones) {
				if last.IsValid() && last.Compare(addr) >= 0 {
					t.Fatalf("PTRs come out of order: %v after %v", addr, last)
				}
				last, got[addr] = addr, name
			}
			want := make(map[netip.Addr]string)
			for _, a := range allAddrs {
				if addr := netip.MustParseAddr(a); p.Contains(addr) {
					if name := v.PTR(addr, zones); name != "" {
						want[addr] = name
					}
				}
			}
			if !maps.Equal(got, want) {
				t.Fatalf("PTRs in %v with zones %q for meshes %q are\n%v, want\n%v", p, zones, meshes, got, want)
			}
		}
	}
}

// candidates returns every name in zone that some entry could answer to.
func (m *model) candidates(zone string) map[string]bool {
	all := make(map[string]bool)
	for _, row := range m.o.rows {
		for name := range m.o.claimsBy(row) {
			if !strings.HasSuffix(name, ".") {
				name = under(name, zone)
			}
			if covers(zone, name) {
				all[name] = true
			}
		}
	}
	return all
}

// TestASnapshotIsWhatTheViewAnswers walks through random changes of rows, zones
// and views. Each view's snapshot has what asking for every possible name gives.
func TestASnapshotIsWhatTheViewAnswers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		m.walk(t, func(t *rapid.T) {
			for i, v := range m.views {
				m.checkSnapshot(t, v.Snapshot(), v, m.meshes[i])
			}
		})
	})
}

// A snapshot that is older than a change knows nothing of it.
func TestASnapshotDoesNotFollowTheIndex(t *testing.T) {
	t.Parallel()
	a, b := row(t, "0:a", "240.0.0.1", "m1"), row(t, "2:b.mesh", "240.0.0.2", "m2")
	x, v := indexOf(t, a, b)
	hiding := x.View([]string{"m2"})
	defer hiding.Close()
	was := []*Snapshot{v.Snapshot(), hiding.Snapshot()}
	moved := row(t, "2:b.mesh", "240.0.0.1", "m2")
	x.Apply([]Change{{Old: a}, {Old: b, New: moved}, {New: row(t, "0:c", "240.0.0.2", "m2")}})
	for i, want := range []string{"[a.mesh.=240.0.0.1 b.mesh.=240.0.0.2]", "[b.mesh.=240.0.0.2]"} {
		if got := fmt.Sprint(listed(was[i])); got != want {
			t.Errorf("the snapshot has %v, want %v", got, want)
		}
	}
	if got, want := fmt.Sprint(listed(v.Snapshot())), "[b.mesh.=240.0.0.1 c.mesh.=240.0.0.2]"; got != want {
		t.Errorf("the new snapshot has %v, want %v", got, want)
	}
}

func listed(s *Snapshot) []string {
	var all []string
	for name, r := range s.Names("mesh.", []string{"mesh."}) {
		all = append(all, fmt.Sprintf("%s=%v", name, answersOf(r)[0]))
	}
	slices.Sort(all)
	return all
}

// Each change replaces two entries by two others that have the same addresses: a
// snapshot has the whole of a change or nothing of it.
func TestASnapshotIsOneState(t *testing.T) {
	t.Parallel()
	x, v := indexOf(t)
	const states = 2000
	pair := func(i int) []*vip.Row {
		return []*vip.Row{row(t, fmt.Sprintf("0:a-%d_x", i), "240.0.0.1", "m1"), row(t, fmt.Sprintf("2:b-%d.mesh", i), "240.9.0.1", "m1")}
	}
	was := pair(0)
	x.Apply(adds(was...))
	var writer sync.WaitGroup
	done := make(chan struct{})
	writer.Go(func() {
		defer close(done)
		for i := range states {
			is := pair(i + 1)
			x.Apply([]Change{{Old: was[0]}, {Old: was[1]}, {New: is[1]}, {New: is[0]}})
			was = is
		}
	})
	defer writer.Wait()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		s := v.Snapshot()
		got := listed(s)
		var n int
		if len(got) != 3 {
			t.Fatalf("the snapshot has %q, want three names", got)
		}
		if _, err := fmt.Sscanf(got[0], "a-%d.x.mesh.=", &n); err != nil {
			t.Fatal(err)
		}
		want := []string{fmt.Sprintf("a-%d.x.mesh.=240.0.0.1", n), fmt.Sprintf("a-%d_x.mesh.=240.0.0.1", n), fmt.Sprintf("b-%d.mesh.=240.9.0.1", n)}
		if !slices.Equal(got, want) {
			t.Fatalf("the snapshot has %q, want %q", got, want)
		}
		ptrs := maps.Collect(s.PTRs(netip.MustParsePrefix("240.0.0.0/8"), []string{"mesh."}))
		if len(ptrs) != 2 || ptrs[netip.MustParseAddr("240.0.0.1")]+"=240.0.0.1" != want[0] || ptrs[netip.MustParseAddr("240.9.0.1")]+"=240.9.0.1" != want[2] {
			t.Fatalf("the snapshot has the PTRs %v, want those of %q", ptrs, want)
		}
	}
}

// BenchmarkSnapshot measures how long a snapshot holds up the writer (freeze), and
// what it costs as a whole until all names were read (names).
func BenchmarkSnapshot(b *testing.B) {
	for _, size := range sizes[1:] {
		x := filled(size.n)
		v := x.View(nil)
		b.Run("freeze/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				(&Snapshot{view: v}).freeze()
			}
		})
		b.Run("names/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for range v.Snapshot().Names("mesh.", []string{"mesh."}) {
					n++
				}
				if n < size.n {
					b.Fatalf("%d names of %d entries", n, size.n)
				}
			}
		})
		v.Close()
	}
}
