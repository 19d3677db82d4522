package allocator_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// TestOfTwoStaticsThePresentHolderKeepsTheAddress: that both are to have it does
// not make them equal.
func TestOfTwoStaticsThePresentHolderKeepsTheAddress(t *testing.T) {
	t.Parallel()
	d := allocator.Delta{
		Meta: allocator.Meta{Revision: 1, Serial: 1, Pools: []allocator.Pool{
			{Prefix: prefixes("10.0.0.0/29")[0], Next: addr("10.0.0.2")},
		}},
		Addrs:     []allocator.AddrChange{{Addr: addr("10.0.0.1"), New: &allocator.Holding{Owner: vip.Key{Name: "b"}}}},
		MeshesNew: []string{"m"},
	}
	for _, name := range []string{"a", "b"} {
		r := asks(name, "10.0.0.1")
		d.Rows = append(d.Rows, allocator.RowChange{Key: r.Entry.Key(), New: &vip.Row{
			Entry: r.Entry, V4: addr("10.0.0.1"), Listings: []vip.Listing{{Mesh: "m", Name: name, Terms: r.Terms}},
		}})
	}
	store := &faulty{Store: memstore.New()}
	if err := store.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	log, logger := logTo()
	a := open(t, store, &clock{}, allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, Logger: logger})
	tick(t, a)
	wantTable(t, a, map[string]string{"a": "10.0.0.2", "b": "10.0.0.1"})
	wantLog(t, log, "0:b has 10.0.0.1 too, and comes first (it is the present holder)")
}

// wreck is a store that was sound, and what has been done to it.
type wreck struct {
	store *faulty
	cfg   allocator.Config
	clock clock
	sound allocator.State
	state allocator.State
	done  []string
}

// newWreck draws a sound state of a run, and spoils it.
func newWreck(t *rapid.T) *wreck {
	m := newMachine(t)
	m.cfg.MaxRelease = anyRelease
	if err := m.a.Configure(m.cfg); err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 4).Draw(t, "batches") {
		b := someBatch().Draw(t, "batch")
		t.Logf("apply %s", batchText(b))
		if _, err := m.a.Apply(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		m.advance(t)
	}
	w := &wreck{cfg: m.cfg, sound: m.load(t)}
	w.cfg.OnCommit, w.cfg.Now, w.cfg.Running = nil, nil, func() time.Duration { return w.clock.running }
	w.state = m.load(t)
	for i := range w.state.Rows { // rows are shared with the allocator
		r := *w.state.Rows[i]
		r.Listings = slices.Clone(r.Listings)
		w.state.Rows[i] = &r
	}
	slices.SortFunc(w.state.Rows, func(a, b *vip.Row) int { return a.Key().Compare(b.Key()) })
	slices.SortFunc(w.state.Addrs, func(a, b allocator.Held) int { return a.Addr.Compare(b.Addr) })
	slices.Sort(w.state.Meshes)
	for range rapid.IntRange(1, 4).Draw(t, "breaches") {
		w.spoil(t)
	}
	t.Logf("spoiled: %q", w.done)
	w.store = &faulty{Store: memstore.New()}
	fill(t, w.store, w.state)
	return w
}

// spoil breaks something, if there is something to break.
func (w *wreck) spoil(t *rapid.T) {
	s := &w.state
	row := func(label string) *vip.Row {
		if len(s.Rows) == 0 {
			return &vip.Row{}
		}
		return rapid.SampledFrom(s.Rows).Draw(t, label)
	}
	key := func(label string) *allocator.Held {
		if len(s.Addrs) == 0 {
			return &allocator.Held{}
		}
		return &s.Addrs[rapid.IntRange(0, len(s.Addrs)-1).Draw(t, label)]
	}
	did := func(format string, args ...any) { w.done = append(w.done, fmt.Sprintf(format, args...)) }
	switch rapid.IntRange(0, 11).Draw(t, "breach") {
	case 0:
		a, b := row("one"), row("other")
		did("swap the addresses of %v and %v", a.Key(), b.Key())
		a.V4, b.V4 = b.V4, a.V4
	case 1:
		a, b := row("one"), row("other")
		did("give %v the addresses of %v too", a.Key(), b.Key())
		a.V4, a.V6 = b.V4, b.V6
	case 2:
		if len(s.Addrs) > 0 {
			i := rapid.IntRange(0, len(s.Addrs)-1).Draw(t, "key")
			did("lose the key of %v", s.Addrs[i].Addr)
			s.Addrs = slices.Delete(s.Addrs, i, i+1)
		}
	case 3:
		h, r := key("key"), row("row")
		did("write the key of %v to %v", h.Addr, r.Key())
		h.Owner = r.Key()
	case 4:
		h := key("key")
		did("write the key of %v to a ghost", h.Addr)
		h.Owner = vip.Key{Name: "ghost"}
	case 5:
		h := key("key")
		if h.Released = !h.Released; h.Released {
			h.At = rapid.SampledFrom([]time.Duration{0, s.Meta.Clock, s.Meta.Clock + time.Hour}).Draw(t, "at")
		} else {
			h.At, h.Mesh = 0, ""
		}
		did("release %v: %v, at %v", h.Addr, h.Released, h.At)
	case 6:
		r, a := row("row"), somePlace().Draw(t, "address")
		if !slices.ContainsFunc(s.Addrs, func(h allocator.Held) bool { return h.Addr == a }) && r.Entry.Name != "" {
			did("write %v a second key, of %v", r.Key(), a)
			s.Addrs = append(s.Addrs, allocator.Held{Addr: a, Holding: allocator.Holding{Owner: r.Key()}})
		}
	case 7:
		r := row("row")
		r.V4 = rapid.SampledFrom([]netip.Addr{addr("192.0.2.1"), addr("10.0.0.200"), addr("fd00::1")}).Draw(t, "stray")
		did("put %v to %v", r.Key(), r.V4)
	case 8:
		if len(s.Meshes) > 0 {
			i := rapid.IntRange(0, len(s.Meshes)-1).Draw(t, "mesh")
			did("lose mesh %s", s.Meshes[i])
			s.Meshes = slices.Delete(s.Meshes, i, i+1)
		}
	case 9:
		if len(s.Meta.Pools) > 0 {
			p := rapid.SampledFrom(s.Meta.Pools).Draw(t, "pool")
			did("pool %v stands twice, with a wrong cursor", p.Prefix)
			p.Next = addr("192.0.2.77")
			s.Meta.Pools = append(s.Meta.Pools, p)
		}
	case 10:
		r := row("row")
		did("list %v nowhere, or wrongly", r.Key())
		if rapid.Bool().Draw(t, "nowhere") {
			r.Listings = nil
		} else if len(r.Listings) > 0 {
			r.Listings[0].Name += "x"
		}
	case 11:
		r := row("row")
		did("turn the listings of %v, and spell it otherwise", r.Key())
		slices.Reverse(r.Listings)
		if r.Entry.Name != "" {
			r.Entry.Name = vip.Fold(r.Entry.Name)
		}
	}
}

// rows returns the rows of a state by their keys.
func (w *wreck) rows() map[vip.Key]*vip.Row { return rowMap(w.state.Rows) }

// untouched returns the rows that no breach concerns: the key of each of their
// addresses is theirs, and nobody else claims it.
func (w *wreck) untouched() (rows []*vip.Row) {
	for _, r := range w.sound.Rows {
		now := w.rows()[r.Key()]
		whole := now != nil && now.Equal(r)
		for _, a := range r.Addrs() {
			for _, other := range w.state.Rows {
				whole = whole && (other.Key() == r.Key() || !other.Has(a))
			}
			whole = whole && slices.Contains(w.state.Addrs, allocator.Held{Addr: a, Holding: allocator.Holding{Owner: r.Key()}})
		}
		if whole {
			rows = append(rows, r)
		}
	}
	return rows
}

// TestARepairMakesAnythingSoundWithTheLeastChange: whatever is spoiled, and be
// it several things, the table is sound after the first change, those whom no
// breach concerns have what they had, those who get another address get one
// that nobody had or claimed, and each is told of.
func TestARepairMakesAnythingSoundWithTheLeastChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWreck(t)
		told := make(map[string]bool)
		w.cfg.OnCommit = func(c allocator.Commit) {
			for _, text := range whither(c.Moves) {
				told[text] = true
			}
		}
		a, err := allocator.Open(context.Background(), w.store, w.cfg)
		if err != nil {
			t.Fatalf("opening: %v", err)
		}
		had := make(map[netip.Addr]allocator.Holding)
		for _, h := range w.state.Addrs {
			had[h.Addr] = h.Holding
		}
		if err := a.Tick(context.Background()); err != nil {
			t.Fatalf("ticking: %v", err)
		}
		now := rowMap(a.Rows())
		for _, r := range w.untouched() {
			s := now[r.Key()]
			if s == nil || r.V4.IsValid() && s.V4 != r.V4 || r.V6.IsValid() && s.V6 != r.V6 {
				t.Fatalf("no breach concerns %v, and it has %v, had %v", r.Key(), s, r.Addrs())
			}
		}
		for key, r := range w.rows() {
			s := now[key]
			if s == nil {
				continue
			}
			for _, to := range s.Addrs() {
				from := has(r, to.Is4())
				if from == to {
					continue
				}
				for _, other := range w.state.Rows {
					if other.Key() != key && has(other, to.Is4()) == to && now[other.Key()] != nil {
						t.Fatalf("%v got %v, which %v claimed", key, to, other.Key())
					}
				}
				if h, ok := had[to]; ok && h.Owner != key && w.cfg.Cooldown > time.Second && (!h.Released || h.At >= w.state.Meta.Clock) {
					t.Fatalf("%v got %v, which %v had", key, to, h.Owner)
				}
				if text := fmt.Sprint(key, " ", from, " to ", to); from.IsValid() && from.Is4() == to.Is4() && !told[text] {
					t.Fatalf("%s is not told: %v", text, told)
				}
			}
		}
		w.soundNow(t, a)
		// It is level-driven: a second time there is nothing to do, here and after
		// a restart.
		if steps, err := a.Repair(context.Background()); err != nil || len(steps) > 0 {
			t.Fatalf("repaired again: %v, %v", steps, err)
		}
		again, err := allocator.Open(context.Background(), w.store, w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := rowMap(again.Rows()); !sameRows(got, now) {
			t.Fatalf("after a restart: %v, want %v", got, now)
		}
		w.soundNow(t, again)
	})
}

func (w *wreck) soundNow(t *rapid.T, a *allocator.Allocator) {
	s, err := w.store.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := allocator.Check(s); err != nil {
		t.Fatalf("the store: %v", err)
	}
	if err := a.Verify(context.Background()); err != nil {
		t.Fatalf("Verify: %v", err)
	}
}

// TestARepairReportTouchesNothing: the store is the same to the last byte, every
// row that can be shown shows what it had, and nobody is given what is in
// question, however long the operator thinks about it. His word repairs.
func TestARepairReportTouchesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWreck(t)
		w.cfg.ReportOnly = true
		before := describe(t, w.store)
		a, err := allocator.Open(context.Background(), w.store, w.cfg)
		if err != nil {
			t.Fatalf("opening: %v", err)
		}
		steps, err := a.Repair(context.Background())
		if err != nil || describe(t, w.store) != before {
			t.Fatalf("%v; the store is\n%s\nand was\n%s", err, describe(t, w.store), before)
		}
		shown := func() {
			now := rowMap(a.Rows())
			for key, r := range w.rows() {
				// What Kuma gave others to gives the table's back when it changes.
				if s := now[key]; s != nil && len(s.Given()) == 0 && (r.V4.IsValid() && s.V4 != r.V4 || r.V6.IsValid() && s.V6 != r.V6) {
					t.Fatalf("%v shows %v, and had %v (%v)", key, s.Addrs(), r.Addrs(), steps)
				}
			}
		}
		shown()
		for _, r := range w.untouched() {
			if !slices.ContainsFunc(a.Rows(), r.Equal) {
				t.Fatalf("%v is not shown", r.Key())
			}
		}
		b := vip.Batch{Meshes: []vip.MeshUpdate{set("z", names(20)...)}}
		for _, mesh := range w.state.Meshes {
			if rapid.IntRange(0, 3).Draw(t, "goes") == 0 {
				b.Meshes = append(b.Meshes, vip.MeshUpdate{Mesh: mesh, Gone: true})
			}
		}
		for range 3 {
			if _, err := a.Apply(context.Background(), b); err != nil {
				t.Fatal(err)
			}
			w.clock.running += 1000 * time.Hour
			if err := a.Tick(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		shown()
		// In question is what two claimed, and what those have who are still there.
		claimed, claims := make(map[netip.Addr]vip.Key), make(map[netip.Addr]int)
		for _, r := range a.Rows() {
			if was := w.rows()[r.Key()]; was != nil {
				for _, at := range was.Addrs() {
					claimed[at] = r.Key()
				}
			}
		}
		for key, r := range w.rows() {
			for _, at := range r.Addrs() {
				if claims[at]++; claims[at] > 1 {
					claimed[at] = key
				}
			}
		}
		newcomers, _ := a.MeshRows("z")
		for _, r := range newcomers {
			for _, at := range r.Addrs() {
				if key, ok := claimed[at]; ok {
					t.Fatalf("%v got %v, which %v claims", r.Key(), at, key)
				}
				claimed[at] = r.Key()
			}
		}
		w.cfg.ReportOnly = false
		if err := a.Configure(w.cfg); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Repair(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := a.Tick(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.soundNow(t, a)
	})
}
