package names

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/meshvip/coredns-meshvip/vip"
)

// TestATableIsFilledInAsOneChange: whatever the order of the rows, the index and
// the events are what the oracle says of one change.
func TestATableIsFilledInAsOneChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{x: NewIndex(), o: &oracle{rows: make(map[vip.Key]*vip.Row)}, owners: make(map[string]*vip.Row)}
		m.setZones(t)
		for range rapid.IntRange(0, 3).Draw(t, "views") {
			m.openView(t)
		}
		rows := make(map[vip.Key]*vip.Row)
		for range rapid.IntRange(0, 10).Draw(t, "rows") {
			e := vip.Entry{Kind: vip.Kind(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3, 4, 5}).Draw(t, "kind"))}
			if e.Kind.OfMesh() {
				e.Mesh = rapid.SampledFrom(meshPool).Draw(t, "mesh")
				e.Name = rapid.SampledFrom([]string{"a", "b", "A"}).Draw(t, "name")
			} else {
				e.Name = drawName(t)
			}
			if rows[e.Key()] == nil {
				rows[e.Key()] = drawRow(t, e, nil, rows)
			}
		}
		all := slices.SortedFunc(maps.Values(rows), func(a, b *vip.Row) int { return a.Key().Compare(b.Key()) })
		all = rapid.Permutation(all).Draw(t, "order")
		m.step(t, func() []Event {
			m.o.rows = rows
			return m.x.Fill(all)
		})
		m.check(t)

		// The events are those of one change.
		other := NewIndex()
		other.SetZones(m.o.zones)
		changes := make([]Change, len(all))
		for i, r := range all {
			changes[i].New = r
		}
		again := NewIndex()
		again.SetZones(m.o.zones)
		if one, two := fmt.Sprint(again.Fill(all)), fmt.Sprint(other.Apply(changes)); one != two {
			t.Fatalf("filled in: %s\nas a change: %s", one, two)
		}

		// And it goes on from there as any other.
		if m.x.Len() > 0 {
			m.apply(t)
			m.check(t)
		}
	})
}

// Who comes to a name that a service claims which is not plain has never had it.
func TestNoNameChangesHandsWhileATableIsFilledIn(t *testing.T) {
	t.Parallel()
	rows := []*vip.Row{row(t, "0:x", "240.0.0.1"), row(t, "0:a.b", "240.0.0.1"), row(t, "0:a_b", "240.0.0.2")}
	x, _ := indexOf(t)
	wantLines(t, x.Fill(rows), "name a.b of 0:a_b is answered for 0:a.b: a literal name comes before a dotted spelling")
}
