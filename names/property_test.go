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

// model drives an index and the oracle side by side.
type model struct {
	x      *Index
	o      *oracle
	views  []*View
	meshes [][]string
	owners map[string]*vip.Row
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
			c.New = drawRow(t, e, c.Old, next)
			next[key] = c.New
		}
		changes = append(changes, c)
	}
	for range rapid.IntRange(0, 3).Draw(t, "new") {
		e := vip.Entry{Kind: vip.Kind(rapid.IntRange(0, 5).Draw(t, "kind"))}
		if e.Kind.OfMesh() {
			e.Mesh = rapid.SampledFrom(meshPool).Draw(t, "mesh")
			e.Name = rapid.SampledFrom([]string{"a", "b", "A"}).Draw(t, "name")
		} else {
			e.Name = drawName(t)
		}
		if next[e.Key()] == nil && touched[e.Key()] == nil {
			r := drawRow(t, e, nil, next)
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
	m.x.between = m.between(t)
	events := change()
	m.x.between = nil
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

// between returns what checks, between the steps of a change: a PTR is confirmed
// at each of them, and is there all the while if the entry that has the address
// has it before and after; and so is a name.
func (m *model) between(t *rapid.T) func() {
	zones := []string{"mesh.", "svc.mesh.", "b."}
	was, had := m.ptrs(zones), m.found("mesh.")
	return func() {
		for i, v := range m.views {
			m.checkFound(t, v, m.meshes[i], had[i])
			owners := m.o.ownersFor(m.meshes[i]) // as they will be
			reverse := m.o.reverse(m.meshes[i])
			for _, s := range allAddrs {
				addr := netip.MustParseAddr(s)
				got := v.PTR(addr, zones)
				if got != "" {
					f, result := v.Forward(got, longestCovering(got, zones))
					if result != Found || !f.Has(addr) {
						t.Fatalf("while it changes, %v has the PTR %q, which gives %v %v", addr, got, result, f)
					}
				}
				row := reverse[addr]
				if row == nil || got == was[i][addr].name || was[i][addr].key != row.Key() {
					continue
				}
				if want := m.o.ptr(owners, m.meshes[i], row, zones); want == was[i][addr].name {
					t.Fatalf("%v has the PTR %q before and after, and %q in between", addr, want, got)
				}
			}
		}
	}
}

// ptr is a PTR and whose it is.
type ptr struct {
	name string
	key  vip.Key
}

// ptrs returns the PTRs that each view shows now.
func (m *model) ptrs(zones []string) []map[netip.Addr]ptr {
	all := make([]map[netip.Addr]ptr, len(m.views))
	for i, v := range m.views {
		all[i] = make(map[netip.Addr]ptr)
		for _, s := range allAddrs {
			addr := netip.MustParseAddr(s)
			if r := v.Reverse(addr); r != nil {
				all[i][addr] = ptr{v.PTR(addr, zones), r.Row.Key()}
			}
		}
	}
	return all
}

// found returns whose the names below zone are that each view shows now.
func (m *model) found(zone string) []map[string]vip.Key {
	all := make([]map[string]vip.Key, len(m.views))
	for i, v := range m.views {
		all[i] = make(map[string]vip.Key)
		for _, name := range inZone(m.owners, zone) {
			if r, result := v.Forward(name, zone); result == Found && slices.Contains(m.o.zones, zone) {
				all[i][name] = r.Row.Key()
			}
		}
	}
	return all
}

// checkFound checks that the names which an entry had, and is to have when the
// change is made, are not denied.
func (m *model) checkFound(t *rapid.T, v *View, meshes []string, had map[string]vip.Key) {
	owners := m.o.ownersFor(meshes)
	for name, key := range had {
		row := m.o.direct(owners, meshes, name, "mesh.")
		if row == nil || row.Key() != key || !slices.Contains(m.o.zones, "mesh.") {
			continue
		}
		if r, result := v.Forward(name, "mesh."); result != Found || r.Row.Key() != key {
			t.Fatalf("%s is %v's before and after, and %v %v in between", name, key, result, r)
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
		if len(oracleAddrs(row)) > 0 {
			n++
		}
	}
	if m.x.Len() != n {
		t.Fatalf("Len is %d, want %d", m.x.Len(), n)
	}
	m.checkExplained(t)
	for i := range m.views {
		m.checkView(t, m.views[i], m.meshes[i])
	}
}

func (m *model) checkView(t *rapid.T, v *View, meshes []string) {
	owners := m.o.ownersFor(meshes)
	for _, zone := range m.o.zones {
		asked := map[string]bool{zone: true, "nope." + zone: zone != "."}
		for _, n := range inZone(owners, zone) {
			for ; n != zone; n = n[strings.IndexByte(n, '.')+1:] {
				asked[n] = true
				if strings.Count(n, ".") == 1 {
					break
				}
			}
		}
		for name, ok := range asked {
			if ok {
				m.checkForward(t, v, owners, meshes, name, zone)
			}
		}
	}
	reverse := m.o.reverse(meshes)
	for _, s := range allAddrs {
		addr := netip.MustParseAddr(s)
		m.checkReverse(t, v, owners, meshes, addr, reverse[addr])
		bits := 4
		if addr.Is4() {
			bits = 8
		}
		for n := 0; n <= addr.BitLen(); n += bits {
			p, _ := addr.Prefix(n)
			want := false
			for a := range reverse {
				want = want || p.Contains(a)
			}
			if got := v.Below(p); got != want {
				t.Fatalf("Below(%v) is %v, want %v", p, got, want)
			}
		}
	}
}

func (m *model) checkForward(t *rapid.T, v *View, owners map[string]*vip.Row, meshes []string, name, zone string) {
	r, got := v.Forward(name, zone)
	row, want := m.o.forward(owners, meshes, name, zone)
	if got != want || (r != nil) != (row != nil) || r != nil && r.Row != row {
		t.Fatalf("Forward(%q, %q) for meshes %q is %v %v, want %v %v", name, zone, meshes, got, r, want, row)
	}
	if r != nil && !slices.Equal(answersOf(r), oracleAddrs(row)) {
		t.Fatalf("%v answers %v", row, answersOf(r))
	}
}

// answersOf returns the addresses that a record gives to replies.
func answersOf(r *Record) []netip.Addr {
	all := slices.Clone(r.Several(true))
	if a, ok := r.A(); ok && len(all) == 0 {
		all = append(all, netip.AddrFrom4(a))
	}
	if six := r.Several(false); six != nil {
		return append(all, six...)
	}
	if a, ok := r.AAAA(); ok {
		all = append(all, netip.AddrFrom16(a))
	}
	return all
}

func (m *model) checkReverse(t *rapid.T, v *View, owners map[string]*vip.Row, meshes []string, addr netip.Addr, row *vip.Row) {
	r := v.Reverse(addr)
	if (r != nil) != (row != nil) || r != nil && r.Row != row {
		t.Fatalf("Reverse(%v) is %v, want %v", addr, r, row)
	}
	if r == nil {
		return
	}
	for _, zones := range [][]string{{"mesh."}, {"."}, {".", "mesh."}, {"mesh.", "svc.mesh.", "a.mesh."}, {"svc.mesh.", "mesh.", "."}, {"b.", "dns.mesh.", "mesh."}, {"dns.mesh.", "mesh."}, nil} {
		got, want := v.PTR(addr, zones), m.o.ptr(owners, meshes, row, zones)
		if got != want {
			t.Fatalf("PTR(%v, %q) is %q, want %q", addr, zones, got, want)
		}
		if got == "" {
			continue
		}
		f, result := v.Forward(got, longestCovering(got, zones))
		if result != Found || !f.Has(addr) {
			t.Fatalf("%v has the PTR %q, whose address is another: %v %v", addr, got, f, result)
		}
	}
}

// newModel returns an index with nothing in it, and the view of all meshes.
func newModel() *model {
	m := &model{x: NewIndex(), o: &oracle{rows: make(map[vip.Key]*vip.Row)}, owners: make(map[string]*vip.Row)}
	m.views, m.meshes = []*View{m.x.View(nil)}, [][]string{nil}
	return m
}

// walk makes random changes of rows, zones and views, and calls check after each.
func (m *model) walk(t *rapid.T, check func(*rapid.T)) {
	t.Repeat(map[string]func(*rapid.T){
		"Apply":      m.apply,
		"ApplyMore":  m.apply,
		"ApplyAgain": m.apply,
		"SetZones":   m.setZones,
		"View":       m.openView,
		"Close":      m.closeView,
		"":           check,
	})
}

// TestIndexAgreesWithTheOracle walks through random changes of rows, zones and
// views and compares every kind of answer after each.
func TestIndexAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		m.walk(t, m.check)
	})
}
