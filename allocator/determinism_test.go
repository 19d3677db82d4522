package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// TestTheOrderInsideABatchMeansNothing applies the same batches twice, once
// with meshes and entries in another order.
func TestTheOrderInsideABatchMeansNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := clock{wall: time.Unix(1e9, 0)}
		cfg := allocator.Config{
			Layout: someLayout().Draw(t, "layout"), Cooldown: time.Minute, MaxRelease: someLimit().Draw(t, "limit"),
			Now: func() time.Time { return c.wall }, Running: func() time.Duration { return c.running },
		}
		var stores [2]*memstore.Store
		var tables [2]*allocator.Allocator
		for i := range tables {
			stores[i] = memstore.New()
			a, err := allocator.Open(context.Background(), stores[i], cfg)
			if err != nil {
				t.Fatal(err)
			}
			tables[i] = a
		}
		for range rapid.IntRange(1, 10).Draw(t, "batches") {
			b := someBatch().Draw(t, "batch")
			shuffled := b
			shuffled.Meshes = rapid.Permutation(b.Meshes).Draw(t, "meshes")
			for i := range shuffled.Meshes {
				m := &shuffled.Meshes[i]
				if len(m.Set) > 0 {
					m.Set = rapid.Permutation(m.Set).Draw(t, "set")
				}
				if len(m.Drop) > 0 {
					m.Drop = rapid.Permutation(m.Drop).Draw(t, "drop")
				}
			}
			one, err1 := tables[0].Apply(context.Background(), b)
			two, err2 := tables[1].Apply(context.Background(), shuffled)
			if err1 != nil || err2 != nil || fmt.Sprint(one) != fmt.Sprint(two) {
				t.Fatalf("%+v, %v and %+v, %v", one, err1, two, err2)
			}
			c.running += time.Duration(rapid.IntRange(0, 70).Draw(t, "seconds")) * time.Second
		}
		if one, two := describe(t, stores[0]), describe(t, stores[1]); one != two {
			t.Fatalf("the tables differ:\n%s\n%s", one, two)
		}
	})
}

// describe returns the whole of a store but its ID, sorted, in words.
func describe(t *rapid.T, store allocator.Store) string {
	s, err := store.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return describeState(s)
}

func describeState(s allocator.State) string {
	s.Meta.ID = ""
	slices.Sort(s.Meshes)
	slices.SortFunc(s.Addrs, func(a, b allocator.Held) int { return a.Addr.Compare(b.Addr) })
	text := fmt.Sprintf("%+v %q %+v", s.Meta, s.Meshes, s.Addrs)
	slices.SortFunc(s.Rows, func(a, b *vip.Row) int { return a.Key().Compare(b.Key()) })
	for _, r := range s.Rows {
		text += fmt.Sprintf(" %v %v %v", r.Entry, r.V4, r.V6)
		for _, l := range r.Listings {
			text += fmt.Sprintf(" %v %v %v", l.Mesh, l.Name, l.Outbounds)
			if l.Terms != nil {
				text += fmt.Sprintf(" %v", *l.Terms)
			}
		}
	}
	return text
}

// twin: an allocator that has just been started on the same store makes the same
// of a batch, unless what is held, which a restart forgets, comes into it.
func (m *machine) twin(t *rapid.T, b vip.Batch) {
	if m.lost || len(m.o.held) > 0 || m.o.incomplete != "" {
		return
	}
	var stores [2]*memstore.Store
	for i := range stores {
		stores[i] = memstore.New()
		fill(t, stores[i], m.load(t))
	}
	cfg := m.cfg
	cfg.OnCommit = nil
	running := time.Duration(0)
	cfg.Running = func() time.Duration { return running }
	limited := func(i int) allocator.Store { return &bounded{&failNth{faulty: &faulty{Store: stores[i]}}, m.limits} }
	old, err := allocator.Open(context.Background(), limited(0), cfg)
	if err != nil {
		t.Fatal(err)
	}
	// The first has seen another layout.
	other := cfg
	other.Layout = someLayout().Draw(t, "layout of a twin")
	for _, c := range []allocator.Config{other, cfg} {
		if err := old.Configure(c); err != nil {
			t.Fatal(err)
		}
	}
	fresh, err := allocator.Open(context.Background(), limited(1), cfg)
	if err != nil {
		t.Fatal(err)
	}
	running = max(m.since()-m.o.clock, 0)
	chunk := rapid.SampledFrom([]int{1000, 1000, 2}).Draw(t, "rows of a transaction")
	for _, a := range []*allocator.Allocator{old, fresh} {
		a.SetChunk(chunk)
		if _, err := a.Apply(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	if one, two := describe(t, stores[0]), describe(t, stores[1]); one != two {
		t.Fatalf("the twins differ:\n%s\n%s", one, two)
	}
	if chunk > 2 {
		m.expected = describe(t, stores[1])
	}
}

// fill makes an empty store hold a state.
func fill(t *rapid.T, store allocator.Store, s allocator.State) {
	d := allocator.Delta{Meta: s.Meta, MeshesNew: s.Meshes}
	for _, r := range s.Rows {
		d.Rows = append(d.Rows, allocator.RowChange{Key: r.Key(), New: r})
	}
	for _, h := range s.Addrs {
		d.Addrs = append(d.Addrs, allocator.AddrChange{Addr: h.Addr, New: &h.Holding})
	}
	if err := store.Commit(context.Background(), d); err != nil {
		t.Fatal(err)
	}
}
