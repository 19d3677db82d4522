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
					r := &Record{Dotted: n}
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
		insert(buckets, hs, crowded(n), &Record{Dotted: n})
	}
	for _, n := range names {
		if r, _, _ := find(buckets, nil, crowded(n), n); r == nil || r.Dotted != n {
			t.Errorf("%s: %v", n, r)
		}
	}
	if r, _, _ := find(buckets, nil, crowded(names[0]), "name-xx"); r != nil {
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
		table.Store(stays[i], &Record{Dotted: stays[i]})
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := 0; !done.Load(); i++ {
				n := stays[i%len(stays)]
				if r := table.Load(n); r == nil || r.Dotted != n {
					t.Errorf("%s: %v", n, r)
					return
				}
				n = fmt.Sprintf("comes-%d", i%3000)
				if r := table.Load(n); r != nil && r.Dotted != n {
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
				table.Store(n, &Record{Dotted: n})
			}
		}
		for _, n := range stays {
			table.Store(n, &Record{Dotted: n})
		}
	}
	done.Store(true)
	wg.Wait()
}

// Two names of one record may lie in one bucket with one tag: each has a slot
// of its own all the same.
func TestTwoNamesOfARecordHaveTwoSlots(t *testing.T) {
	t.Parallel()
	for range 2000 { // seeds: some of them make the names meet
		table := newNameTable()
		both := &Record{Dotted: "a.b", Literal: "a_b"}
		table.Store("a_b", both)
		table.Store("a.b", both)
		if table.size != 2 {
			t.Fatalf("%d slots", table.size)
		}
		other := &Record{Dotted: "a.b", Literal: "a.b"}
		table.Store("a.b", other)
		if table.Load("a.b") != other && table.Load("a.b") != both || table.size != 2 {
			t.Fatalf("a.b is %v", table.Load("a.b"))
		}
		left := &Record{Literal: "a_b"}
		table.Store("a_b", left)
		if table.Load("a.b") != other || table.Load("a_b") != left {
			t.Fatalf("a.b is %v, a_b is %v", table.Load("a.b"), table.Load("a_b"))
		}
		table.Delete("a.b")
		if table.Load("a.b") != nil || table.Load("a_b") != left {
			t.Fatalf("a.b is %v, a_b is %v", table.Load("a.b"), table.Load("a_b"))
		}
	}
}
