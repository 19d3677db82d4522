package names

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// crowded is a hash with few values, so that buckets run over.
func crowded(name string) uint64 {
	return uint64(len(name)%3)<<57 | uint64(len(name)%2)
}

func TestNameTableIsAMap(t *testing.T) {
	t.Parallel()
	name := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("n%d", rapid.IntRange(0, 200).Draw(t, "n")) })
	rapid.Check(t, func(t *rapid.T) {
		table, want := newNameTable(), make(map[string]*Record)
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				for _, n := range rapid.SliceOfN(name, 1, 40).Draw(t, "names") {
					r := &Record{Literal: n, Dotted: n}
					table.Store(n, r)
					want[n] = r
				}
			},
			"delete": func(t *rapid.T) {
				for _, n := range rapid.SliceOfN(name, 1, 40).Draw(t, "names") {
					table.Delete(n)
					delete(want, n)
				}
			},
			"": func(t *rapid.T) {
				if table.size != len(want) {
					t.Fatalf("%d names, want %d", table.size, len(want))
				}
				for i := range 201 {
					if n := fmt.Sprintf("n%d", i); table.Load(n) != want[n] {
						t.Fatalf("%s: %v, want %v", n, table.Load(n), want[n])
					}
				}
			},
		})
	})
}

func TestBucketsThatRunOverLoseNothing(t *testing.T) {
	t.Parallel()
	// More names of one bucket and one tag than three buckets hold.
	buckets, hs := make([]bucket, 4), make([][slots]uint64, 4)
	var names []string
	for i := range 3 * slots {
		n := fmt.Sprintf("name-%02d", i)
		names = append(names, n)
		insert(buckets, hs, crowded(n), &Record{Literal: n})
	}
	for _, n := range names {
		if r, _, _ := find(buckets, crowded(n), n); r == nil || r.Literal != n {
			t.Errorf("%s: %v", n, r)
		}
	}
	if r, _, _ := find(buckets, crowded(names[0]), "name-xx"); r != nil {
		t.Errorf("a name that is not there is found: %v", r)
	}
}

// While a writer churns, a name that stays is always found, and no lookup gives
// another name's record.
func TestReadersOfANameTableNeverMissWhatStays(t *testing.T) {
	t.Parallel()
	table := newNameTable()
	stays := make([]string, 500)
	for i := range stays {
		stays[i] = fmt.Sprintf("stays-%d", i)
		table.Store(stays[i], &Record{Literal: stays[i]})
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := 0; !done.Load(); i++ {
				n := stays[i%len(stays)]
				if r := table.Load(n); r == nil || r.Literal != n {
					t.Errorf("%s: %v", n, r)
					return
				}
				n = fmt.Sprintf("comes-%d", i%3000)
				if r := table.Load(n); r != nil && r.Literal != n {
					t.Errorf("%s: %v", n, r)
					return
				}
			}
		})
	}
	for round := range 30 {
		for i := range 3000 {
			n := fmt.Sprintf("comes-%d", i)
			if (i+round)%3 == 0 {
				table.Delete(n)
			} else {
				table.Store(n, &Record{Literal: n})
			}
		}
		for _, n := range stays {
			table.Store(n, &Record{Literal: n})
		}
	}
	done.Store(true)
	wg.Wait()
}
