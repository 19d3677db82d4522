package names

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAPageTreeIsAMap of pages, whose walk is in the order of keys, and which keeps no
// branch without a page.
func TestAPageTreeIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tree, want := new(pageTree), make(map[uint32]*page)
		level := rapid.SampledFrom([]uint32{0, 1, 2, levelSize - 1})
		first := rapid.SampledFrom([]uint32{0, 1, 240, 255})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			key := first.Draw(t, "first")<<(2*levelBits) | level.Draw(t, "second")<<levelBits | level.Draw(t, "third")
			switch {
			case rapid.Bool().Draw(t, "delete"):
				tree.Delete(key)
				delete(want, key)
			default:
				p := new(page)
				tree.Store(key, p)
				want[key] = p
			}
			if got, ok := tree.Load(key); got != want[key] || ok != (got != nil) {
				t.Fatalf("%#x: %p, want %p", key, got, want[key])
			}
		}
		var walked []uint32
		tree.Range(func(key uint32, p *page) bool {
			if p != want[key] {
				t.Errorf("%#x: %p, want %p", key, p, want[key])
			}
			walked = append(walked, key)
			return true
		})
		if all := slices.Sorted(maps.Keys(want)); !slices.Equal(walked, all) || tree.Size() != len(all) {
			t.Errorf("walked %x, of %d, want %x", walked, tree.Size(), all)
		}
		stopped := 0
		tree.Range(func(uint32, *page) bool { stopped++; return false })
		if stopped != min(1, len(want)) {
			t.Errorf("%d pages after the walk was stopped", stopped)
		}
		for key := range want {
			tree.Delete(key)
		}
		for i := range tree.branches {
			if tree.branches[i].Load() != nil {
				t.Errorf("branch %d is kept", i)
			}
		}
	})
}
