package names

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meshvip/coredns-meshvip/vip"
)

// longZone is so long that some of drawName's names do not fit below it.
var longZone = strings.Repeat(strings.Repeat("z", 59)+".", 3) + "mesh."

var (
	zonePool = []string{"mesh.", "svc.mesh.", "a.mesh.", "dns.mesh.", "b.", ".", longZone}
	meshPool = []string{"m1", "m2", "m3"}
)

// drawName draws from so few labels that names collide, across kinds too.
func drawName(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		return rapid.SampledFrom([]string{
			"a b", "a\\b", "a@b;c", "\xff\x00_a", "_a", "a_", "a..b", ".", "é", "ns.dns", "ns_dns", "ns.dns.mesh", "ns.dns.svc.mesh", "dns", "ns.dns.svc",
			strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 40) + "_" + strings.Repeat("y", 40),
			strings.Repeat("x", 50) + "." + strings.Repeat("y", 50), "mesh", "b",
		}).Draw(t, "name")
	}
	var b strings.Builder
	for i := range rapid.IntRange(1, 4).Draw(t, "labels") {
		if i > 0 {
			b.WriteString(rapid.SampledFrom([]string{".", "_"}).Draw(t, "sep"))
		}
		b.WriteString(rapid.SampledFrom([]string{"a", "b", "A", "svc", "ns"}).Draw(t, "label"))
	}
	b.WriteString(rapid.SampledFrom([]string{"", "", "", ".mesh", ".svc.mesh", ".a.mesh", ".b", "."}).Draw(t, "suffix"))
	return b.String()
}

var (
	addrs4 = []string{"240.0.0.1", "240.0.0.2", "240.0.1.1", "240.1.0.1", "241.0.0.1", "240.0.0.3", "240.0.0.4", "240.0.0.5"}
	addrs6 = []string{"fd00::1", "fd00::2", "fd00::10", "fd00::1:0", "fd01::1", "::ffff:240.0.0.1"}
)

// model drives an index and the oracle side by side.
type model struct {
	x      *Index
	o      *oracle
	views  []*View
	meshes [][]string
	owners map[string]*vip.Row
}

// free returns the addresses of pool that no row has, zero Addr included.
func free(t *rapid.T, pool []string, rows map[vip.Key]*vip.Row) netip.Addr {
	var left []netip.Addr
	for _, s := range pool {
		addr := netip.MustParseAddr(s)
		if !slices.ContainsFunc(slices.Collect(maps.Values(rows)), func(r *vip.Row) bool { return r.Has(addr) }) {
			left = append(left, addr)
		}
	}
	if len(left) == 0 || rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
		return netip.Addr{}
	}
	return rapid.SampledFrom(left).Draw(t, "addr")
}

func drawRow(t *rapid.T, e vip.Entry, rows map[vip.Key]*vip.Row) *vip.Row {
	r := &vip.Row{Entry: e, V4: free(t, addrs4, rows), V6: free(t, addrs6, rows)}
	for _, mesh := range meshPool {
		if rapid.Bool().Draw(t, mesh) {
			r.Listings = append(r.Listings, vip.Listing{Mesh: mesh, Name: e.Name})
		}
	}
	if len(r.Listings) == 0 {
		r.Listings = []vip.Listing{{Mesh: "m1", Name: e.Name}}
	}
	return r
}

// apply draws a batch in which entries come, go, and change, addresses being
// handed on inside the batch too.
func (m *model) apply(t *rapid.T) {
	next := maps.Clone(m.o.rows)
	touched := make(map[vip.Key]*vip.Row)
	for _, key := range slices.SortedFunc(maps.Keys(m.o.rows), vip.Key.Compare) {
		if rapid.IntRange(0, 3).Draw(t, "touch") == 0 {
			touched[key] = m.o.rows[key]
			delete(next, key)
		}
	}
	var changes []Change
	for _, key := range slices.SortedFunc(maps.Keys(touched), vip.Key.Compare) {
		c := Change{Old: touched[key]}
		if rapid.Bool().Draw(t, "stays") {
			e := c.Old.Entry
			if rapid.Bool().Draw(t, "upper") {
				e.Name = strings.Replace(e.Name, "a", "A", 1)
			}
			c.New = drawRow(t, e, next)
			next[key] = c.New
		}
		changes = append(changes, c)
	}
	for range rapid.IntRange(0, 3).Draw(t, "new") {
		e := vip.Entry{Kind: vip.Kind(rapid.IntRange(0, 2).Draw(t, "kind")), Name: drawName(t)}
		if next[e.Key()] == nil && touched[e.Key()] == nil {
			r := drawRow(t, e, next)
			next[e.Key()] = r
			changes = append(changes, Change{New: r})
		}
	}
	changes = rapid.Permutation(changes).Draw(t, "order")
	m.step(t, func() []Event {
		m.o.rows = next
		return m.x.Apply(changes)
	})
}

func (m *model) setZones(t *rapid.T) {
	zones := rapid.SliceOfNDistinct(rapid.SampledFrom(zonePool), 0, 4, rapid.ID[string]).Draw(t, "zones")
	m.step(t, func() []Event {
		m.o.zones = zones
		return m.x.SetZones(zones)
	})
}

// step makes a change and checks the events against the conflicts before and
// after it.
func (m *model) step(t *rapid.T, change func() []Event) {
	was, wasZones := m.o.conflicts(), m.o.zones
	wasOwners := m.o.owners()
	events := change()
	m.owners = m.o.owners()
	is := m.o.conflicts()
	told := make(map[string]bool)
	for _, ev := range events {
		_ = ev.String()
		if ev.Kind == Unservable {
			continue
		}
		told[ev.Name] = true
		lost := holds(is[ev.Name], ev.Entry.String())
		if lost != (ev.Kind == NameLost) || ev.Kind == NameFree && len(is[ev.Name]) > 0 ||
			lost && vip.Fold(is[ev.Name][0]) != vip.Fold(ev.Other.String()) {
			t.Fatalf("%v is not so: %q", ev, is[ev.Name])
		}
		if keysOf(was[ev.Name]) == keysOf(is[ev.Name]) && wasOwners[ev.Name] != nil && m.owners[ev.Name] != nil &&
			wasOwners[ev.Name].Key() == m.owners[ev.Name].Key() {
			t.Fatalf("event without a change: %v\nconflict before %q, after %q", ev, was[ev.Name], is[ev.Name])
		}
	}
	sameZones := slices.Equal(slices.Sorted(slices.Values(wasZones)), slices.Sorted(slices.Values(m.o.zones)))
	for name, c := range is {
		for _, loser := range c[1:] {
			if !holds(was[name], loser) && !told[name] {
				t.Fatalf("%s lost %s to %s and no event says so: %v", loser, name, c[0], events)
			}
		}
	}
	for name, row := range m.owners {
		if old := wasOwners[name]; old != nil && old.Key() != row.Key() && !told[name] {
			t.Fatalf("%s went from %v to %v and no event says so", name, old.Entry, row.Entry)
		}
	}
	if sameZones {
		for name, c := range was {
			if len(is[name]) == 0 && m.owners[name] != nil && wasOwners[name] != nil && c[0] != "0:" && !told[name] {
				t.Fatalf("%s is no longer disputed and no event says so", name)
			}
		}
	}
}

func keysOf(entries []string) string { return vip.Fold(strings.Join(entries, ",")) }

func holds(entries []string, e string) bool {
	return len(entries) > 0 && slices.ContainsFunc(entries[1:], func(s string) bool { return vip.Fold(s) == vip.Fold(e) })
}

func (m *model) openView(t *rapid.T) {
	if len(m.views) > 4 {
		t.Skip("enough views")
	}
	meshes := rapid.SliceOfN(rapid.SampledFrom(append(meshPool, "nowhere")), 0, 3).Draw(t, "meshes")
	m.views = append(m.views, m.x.View(meshes))
	m.meshes = append(m.meshes, meshes)
}

func (m *model) closeView(t *rapid.T) {
	if len(m.views) == 0 {
		t.Skip("no view")
	}
	i := rapid.IntRange(0, len(m.views)-1).Draw(t, "view")
	m.views[i].Close()
	m.views = slices.Delete(m.views, i, i+1)
	m.meshes = slices.Delete(m.meshes, i, i+1)
}

// check compares all that the index answers with the oracle.
func (m *model) check(t *rapid.T) {
	want := m.o.conflicts()
	got := make(map[string][]string)
	for _, c := range m.x.Conflicts() {
		got[c.Name] = []string{c.Winner.String()}
		for _, l := range c.Losers {
			got[c.Name] = append(got[c.Name], l.String())
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("Conflicts:\n%v, want\n%v", got, want)
	}
	n := 0
	for _, row := range m.o.rows {
		if addressed(row) {
			n++
		}
	}
	if m.x.Len() != n {
		t.Fatalf("Len is %d, want %d", m.x.Len(), n)
	}
	for i := range m.views {
		m.checkView(t, m.views[i], m.meshes[i])
	}
}

func (m *model) checkView(t *rapid.T, v *View, meshes []string) {
	for _, zone := range m.o.zones {
		asked := map[string]bool{zone: true, "nope." + zone: zone != "."}
		for _, n := range inZone(m.owners, zone) {
			for ; n != zone; n = n[strings.IndexByte(n, '.')+1:] {
				asked[n] = true
				if strings.Count(n, ".") == 1 {
					break
				}
			}
		}
		for name, ok := range asked {
			if ok {
				m.checkForward(t, v, meshes, name, zone)
			}
		}
	}
	for _, s := range append(addrs4, addrs6...) {
		addr := netip.MustParseAddr(s)
		m.checkReverse(t, v, meshes, addr)
		bits := 4
		if addr.Is4() {
			bits = 8
		}
		for n := 0; n <= addr.BitLen(); n += bits {
			p, _ := addr.Prefix(n)
			if got, want := v.Below(p), m.o.below(meshes, p); got != want {
				t.Fatalf("Below(%v) is %v, want %v", p, got, want)
			}
		}
	}
}

func (m *model) checkForward(t *rapid.T, v *View, meshes []string, name, zone string) {
	r, got := v.Forward(name, zone)
	row, want := m.o.forward(m.owners, meshes, name, zone)
	if got != want || (r != nil) != (row != nil) || r != nil && r.Row != row {
		t.Fatalf("Forward(%q, %q) for meshes %q is %v %v, want %v %v", name, zone, meshes, got, r, want, row)
	}
}

func (m *model) checkReverse(t *rapid.T, v *View, meshes []string, addr netip.Addr) {
	r, row := v.Reverse(addr), m.o.reverse(meshes, addr)
	if (r != nil) != (row != nil) || r != nil && r.Row != row {
		t.Fatalf("Reverse(%v) is %v, want %v", addr, r, row)
	}
	if r == nil {
		return
	}
	for _, zones := range [][]string{{"mesh."}, {"."}, {".", "mesh."}, {"mesh.", "svc.mesh.", "a.mesh."}, {"svc.mesh.", "mesh.", "."}, {"b.", "dns.mesh.", "mesh."}, nil} {
		got, want := v.PTR(r, zones), m.o.ptr(m.owners, meshes, row, zones)
		if got != want {
			t.Fatalf("PTR(%v, %q) is %q, want %q", r, zones, got, want)
		}
		if got == "" {
			continue
		}
		f, result := v.Forward(got, longestCovering(got, zones))
		if result != Found || !f.Row.Has(addr) {
			t.Fatalf("%v has the PTR %q, whose address is another: %v %v", addr, got, f, result)
		}
	}
}

// TestIndexAgreesWithTheOracle walks through random changes of rows, zones and
// views and compares every kind of answer after each.
func TestIndexAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{x: NewIndex(), o: &oracle{rows: make(map[vip.Key]*vip.Row)}, owners: make(map[string]*vip.Row)}
		m.views, m.meshes = []*View{m.x.View(nil)}, [][]string{nil}
		t.Repeat(map[string]func(*rapid.T){
			"Apply":      m.apply,
			"ApplyMore":  m.apply,
			"ApplyAgain": m.apply,
			"SetZones":   m.setZones,
			"View":       m.openView,
			"Close":      m.closeView,
			"":           m.check,
		})
	})
}
