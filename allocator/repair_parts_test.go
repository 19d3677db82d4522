package allocator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"pgregory.net/rapid"
)

// TestARepairThatEndsHalfWayIsFinished by the next change, or by who starts next,
// and shows all the while what will come of it. Nobody whom no breach concerns
// loses anything.
func TestARepairThatEndsHalfWayIsFinished(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWreck(t)
		store := &bounded{&failNth{faulty: w.store}, allocator.Limits{Keys: rapid.IntRange(6, 12).Draw(t, "keys")}}
		begin := func() *allocator.Allocator {
			a, err := allocator.Open(context.Background(), store, w.cfg)
			if err != nil {
				t.Fatalf("opening: %v", err)
			}
			return a
		}
		a := begin()
		for {
			store.n, store.after = rapid.IntRange(0, 4).Draw(t, "transaction that fails"), rapid.Bool().Draw(t, "after")
			shown := rowMap(a.Rows())
			_, err := a.Repair(context.Background())
			store.n = 0
			if err == nil {
				break
			}
			if !errors.Is(err, errFault) {
				t.Fatal(err)
			}
			if got := rowMap(a.Rows()); !sameRows(got, shown) {
				t.Fatalf("half way it shows %v, want %v", got, shown)
			}
			if rapid.Bool().Draw(t, "restart") {
				a = begin()
			}
		}
		w.soundNow(t, a)
		now := rowMap(a.Rows())
		for _, r := range w.untouched() {
			s := now[r.Key()]
			if s == nil || r.V4.IsValid() && s.V4 != r.V4 || r.V6.IsValid() && s.V6 != r.V6 {
				t.Fatalf("no breach concerns %v, and it has %v, had %v", r.Key(), s, r.Addrs())
			}
		}
		if steps, err := a.Repair(context.Background()); err != nil || len(steps) > 0 {
			t.Fatalf("repaired again: %v, %v", steps, err)
		}
		if err := a.Tick(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.soundNow(t, a)
	})
}
