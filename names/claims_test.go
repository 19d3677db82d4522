package names

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

func TestTheOrderOfClaimsIsWhatSomebodyWroteThenTheSmallerKey(t *testing.T) {
	t.Parallel()
	want := []claim{
		{row(t, "2:x", ""), byFQDN},
		{row(t, "1:x", ""), byHost},
		{row(t, "0:y.z", ""), byLiteral},
		{row(t, "0:a_b", ""), byDotted},
		{row(t, "0:B.c_d", ""), byDotted},
		{row(t, "0:b_c.d", ""), byDotted},
	}
	for range 20 {
		got := slices.Clone(want)
		rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		slices.SortFunc(got, claim.compare)
		if !slices.Equal(got, want) {
			t.Fatalf("sorted %v", got)
		}
	}
}

// The winner does not depend on who came first: the entries arrive one by one
// in many orders, and some go and come back.
func TestTheWinnerIsTheSameWhateverTheOrder(t *testing.T) {
	t.Parallel()
	rows := []*vip.Row{
		row(t, "0:a.b.c", "240.0.0.1"), row(t, "0:a_b.c", "240.0.0.2"), row(t, "0:a.b_c", "240.0.0.3"), row(t, "0:a_b_c", "240.0.0.4"),
		row(t, "1:a.b.c.mesh", "240.0.0.5"), row(t, "2:A.b.c.mesh", "240.0.0.6"),
	}
	for range 100 {
		x := NewIndex()
		x.SetZones([]string{"mesh."})
		v := x.View(nil)
		for _, i := range rand.Perm(len(rows)) {
			x.Apply(adds(rows[i]))
			if rand.IntN(2) == 0 {
				x.Apply([]Change{{Old: rows[i]}})
				x.Apply(adds(rows[i]))
			}
		}
		wantForward(t, v, "a.b.c.mesh.", "mesh.", "2:A.b.c.mesh")
		wantForward(t, v, "a_b_c.mesh.", "mesh.", "0:a_b_c")
		x.Apply([]Change{{Old: rows[5]}})
		wantForward(t, v, "a.b.c.mesh.", "mesh.", "1:a.b.c.mesh")
		x.Apply([]Change{{Old: rows[4]}})
		wantForward(t, v, "a.b.c.mesh.", "mesh.", "0:a.b.c")
		x.Apply([]Change{{Old: rows[0]}})
		wantForward(t, v, "a.b.c.mesh.", "mesh.", "0:a.b_c")
		v.Close()
	}
}
