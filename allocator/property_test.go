package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// machine drives an allocator and the oracle side by side.
type machine struct {
	store *faulty
	clock clock
	cfg   allocator.Config
	a     *allocator.Allocator
	o     *oracle
	start time.Duration // clock.running when a was opened
	base  time.Duration // the table's clock then
	lost  bool          // the reply to the last commit is lost, and not yet found out
	// told is the table as OnCommit told of it; all is what the store had after
	// the last step.
	told map[vip.Key]*vip.Row
	all  allocator.State
	// last is who had an address last, and since when nobody does.
	last map[netip.Addr]release
	// reported, if not nil, is what the last Apply reported.
	reported *allocator.Report
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		store: &faulty{Store: memstore.New()}, o: newOracle(), clock: clock{wall: time.Unix(1e9, 0)},
		told: make(map[vip.Key]*vip.Row), last: make(map[netip.Addr]release),
	}
	m.cfg = allocator.Config{
		Layout: allocator.Ranges(somePools().Draw(t, "pools")...), Cooldown: someCooldown().Draw(t, "cooldown"), MaxRelease: someLimit().Draw(t, "limit"),
		Now:     func() time.Time { return m.clock.wall },
		Running: func() time.Duration { return m.clock.running },
		OnCommit: func(c allocator.Commit) {
			for _, r := range c.Rows {
				if delete(m.told, r.Key); r.New != nil {
					m.told[r.Key] = r.New
				}
			}
		},
	}
	m.open(t)
	return m
}

// open opens the allocator as it would be after a restart.
func (m *machine) open(t *rapid.T) {
	a, err := allocator.Open(context.Background(), m.store, m.cfg)
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	m.a, m.start, m.base = a, m.clock.running, m.load(t).Meta.Clock
	m.lost, m.store.silent = false, false
	m.o.held, m.o.incomplete = make(map[string]holding), ""
	m.told = make(map[vip.Key]*vip.Row)
	for _, r := range a.Rows() {
		m.told[r.Key()] = r
	}
	m.follow()
}

// follow gives the oracle the configuration.
func (m *machine) follow() {
	m.o.pools, m.o.cooldown, m.o.limit = m.pools(), m.cfg.Cooldown, m.cfg.MaxRelease
}

func (m *machine) load(t *rapid.T) allocator.State {
	s, err := m.store.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// now is the table's clock.
func (m *machine) now() time.Duration {
	return max(m.base+m.clock.running-m.start, m.all.Meta.Clock+1)
}

// change runs an operation that may commit, under a fault that is drawn, and
// holds the outcome against what the oracle makes of b.
func (m *machine) change(t *rapid.T, b vip.Batch, do func() error) {
	fault := rapid.SampledFrom([]string{"", "", "", "", "before", "after"}).Draw(t, "fault")
	m.store.before, m.store.after = fault == "before", fault == "after"
	stuck := m.lost && m.store.silent
	now, commits := m.now(), m.store.commits
	m.o.table = m.load(t).Meta.Pools
	err := do()
	m.store.before, m.store.after = false, false
	if stuck {
		if err == nil || m.store.commits != commits {
			t.Fatalf("went on with a commit in doubt: %v", err)
		}
		return
	}
	m.lost = err != nil
	switch {
	case err == nil:
		m.o.apply(b, now)
	case !errors.Is(err, errFault) || fault == "":
		t.Fatalf("failed: %v", err)
	case fault == "after":
		// It is done, and nobody knows yet.
		m.o.apply(b, now)
	}
}

func (m *machine) apply(t *rapid.T) {
	b := someBatch().Draw(t, "batch")
	m.change(t, b, func() error {
		r, err := m.a.Apply(context.Background(), b)
		if err == nil {
			m.reported = &r
		}
		return err
	})
}

func (m *machine) tick(t *rapid.T) {
	m.change(t, vip.Batch{Incomplete: m.o.incomplete}, func() error { return m.a.Tick(context.Background()) })
}

func (m *machine) advance(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{1, time.Second, 59 * time.Second, time.Minute, time.Hour}).Draw(t, "time")
	m.clock.running += d
	m.clock.wall = m.clock.wall.Add(d)
}

func (m *machine) jump(t *rapid.T) {
	m.clock.wall = m.clock.wall.Add(time.Duration(rapid.IntRange(-1000, 1000).Draw(t, "hours")) * time.Hour)
}

func (m *machine) silence(t *rapid.T) {
	m.store.silent = rapid.Bool().Draw(t, "silent")
}

func (m *machine) configure(t *rapid.T) {
	if rapid.Bool().Draw(t, "other pools") {
		m.cfg.Layout = allocator.Ranges(somePools().Draw(t, "pools")...)
	}
	m.cfg.Cooldown, m.cfg.MaxRelease = someCooldown().Draw(t, "cooldown"), someLimit().Draw(t, "limit")
	if err := m.a.Configure(m.cfg); err != nil {
		t.Fatal(err)
	}
	m.follow()
}

func (m *machine) restart(t *rapid.T) {
	if rapid.Bool().Draw(t, "cleanly") {
		if err := m.a.Close(); err != nil {
			t.Fatalf("closing: %v", err)
		}
	}
	m.clock.running = time.Duration(rapid.IntRange(0, 1000).Draw(t, "new process's time"))
	if rapid.Bool().Draw(t, "other pools") {
		m.cfg.Layout = allocator.Ranges(somePools().Draw(t, "pools")...)
	}
	m.open(t)
}

// check holds everything after each step.
func (m *machine) check(t *rapid.T) {
	before := m.all
	m.all = m.load(t)
	if err := allocator.Check(m.all); err != nil {
		t.Fatalf("the store: %v", err)
	}
	m.tableIsTheOracles(t)
	m.nothingMoved(t, before)
	m.cooled(t, before)
	m.serialGrows(t, before)
	if m.lost {
		return
	}
	if err := m.a.Verify(context.Background()); err != nil {
		t.Fatalf("Verify: %v", err)
	}
	if got := rowMap(m.a.Rows()); !sameRows(got, m.told) {
		t.Fatalf("OnCommit told of %v, the table has %v", m.told, got)
	}
	m.heldIsTheOracles(t)
	m.reports(t)
}

func rowMap(rows []*vip.Row) map[vip.Key]*vip.Row {
	byKey := make(map[vip.Key]*vip.Row)
	for _, r := range rows {
		byKey[r.Key()] = r
	}
	return byKey
}

func sameRows(a, b map[vip.Key]*vip.Row) bool {
	return maps.EqualFunc(a, b, func(x, y *vip.Row) bool { return x.Equal(y) })
}

func (m *machine) tableIsTheOracles(t *rapid.T) {
	got := rowMap(m.all.Rows)
	for _, key := range slices.SortedFunc(maps.Keys(m.o.rows), vip.Key.Compare) {
		if want := m.o.rows[key]; got[key] == nil || !got[key].Equal(want) {
			t.Fatalf("entry %v: %+v, want %+v", key, got[key], want)
		}
	}
	if len(got) != len(m.o.rows) {
		t.Fatalf("%d entries, want %d", len(got), len(m.o.rows))
	}
	slices.Sort(m.all.Meshes)
	if want := slices.Sorted(maps.Keys(m.o.meshes)); !slices.Equal(m.all.Meshes, want) {
		t.Fatalf("meshes %q, want %q", m.all.Meshes, want)
	}
}

// nothingMoved: what was in the table before and after a step has its address.
func (m *machine) nothingMoved(t *rapid.T, before allocator.State) {
	now := rowMap(m.all.Rows)
	for _, r := range before.Rows {
		if s := now[r.Key()]; s != nil && (r.V4.IsValid() && r.V4 != s.V4 || r.V6.IsValid() && r.V6 != s.V6) {
			t.Fatalf("entry %v moved from %v to %v", r.Key(), r.Addrs(), s.Addrs())
		}
	}
}

// cooled: nobody gets an address before the cooldown of its last owner is over,
// by what the tables showed from step to step.
func (m *machine) cooled(t *rapid.T, before allocator.State) {
	owners := make(map[netip.Addr]vip.Key)
	for _, r := range m.all.Rows {
		for _, a := range r.Addrs() {
			if other, ok := owners[a]; ok {
				t.Fatalf("%v and %v both have %v", other, r.Key(), a)
			}
			owners[a] = r.Key()
			was, ok := m.last[a]
			if ok && was.owner != r.Key() && m.all.Meta.Clock-was.at < m.cfg.Cooldown {
				t.Fatalf("%v went from %v to %v after %v", a, was.owner, r.Key(), m.all.Meta.Clock-was.at)
			}
			delete(m.last, a)
		}
	}
	for _, r := range before.Rows {
		for _, a := range r.Addrs() {
			switch owner, ok := owners[a]; {
			case !ok:
				m.last[a] = release{r.Key(), m.all.Meta.Clock}
			case owner != r.Key():
				t.Fatalf("%v went from %v to %v in one step", a, r.Key(), owner)
			}
		}
	}
}

func (m *machine) serialGrows(t *rapid.T, before allocator.State) {
	serial := m.all.Meta.Serial
	changed := !sameRows(rowMap(before.Rows), rowMap(m.all.Rows))
	if serial < before.Meta.Serial || changed && serial == before.Meta.Serial || m.all.Meta.Revision > 0 && serial == 0 {
		t.Fatalf("the serial went from %d to %d, rows changed: %v", before.Meta.Serial, serial, changed)
	}
	if m.all.Meta.Clock < before.Meta.Clock {
		t.Fatalf("the table's clock went from %v to %v", before.Meta.Clock, m.all.Meta.Clock)
	}
}

func (m *machine) heldIsTheOracles(t *rapid.T) {
	got := make(map[string]holding)
	for _, h := range m.a.Held() {
		keys := make(map[vip.Key]bool)
		for _, k := range h.Entries {
			keys[k] = true
		}
		if got[h.Mesh] = (holding{h.Gone, keys}); h.Reason == "" {
			t.Fatalf("mesh %q is held without a reason", h.Mesh)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(m.o.held) {
		t.Fatalf("held %v, want %v", got, m.o.held)
	}
}

func (m *machine) reports(t *rapid.T) {
	r := m.reported
	m.reported = nil
	if r == nil {
		return
	}
	if fmt.Sprint(r.Held) != fmt.Sprint(m.a.Held()) {
		t.Fatalf("reported %v as held, want %v", r.Held, m.a.Held())
	}
	for _, key := range r.Exhausted {
		if row := m.o.rows[key]; row == nil || len(row.Addrs()) == 2 {
			t.Fatalf("%v is reported to wait, and has %v", key, row)
		}
	}
}

func TestTheTableIsTheOracles(t *testing.T) {
	rounds := 10 // of rapid's 100 checks: what is rare takes a few hundred
	if testing.Short() {
		rounds = 1
	}
	for i := range rounds {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := newMachine(t)
				t.Repeat(map[string]func(*rapid.T){
					"apply": m.apply, "apply2": m.apply, "apply3": m.apply, "tick": m.tick, "advance": m.advance, "jump": m.jump,
					"silence": m.silence, "configure": m.configure, "restart": m.restart, "": m.check,
				})
			})
		})
	}
}

// TestTheOrderInsideABatchMeansNothing applies the same batches twice, once
// with meshes and entries in another order.
func TestTheOrderInsideABatchMeansNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := clock{wall: time.Unix(1e9, 0)}
		cfg := allocator.Config{
			Layout: allocator.Ranges(somePools().Draw(t, "pools")...), Cooldown: time.Minute, MaxRelease: someLimit().Draw(t, "limit"),
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
	s.Meta.ID = ""
	slices.Sort(s.Meshes)
	slices.SortFunc(s.Addrs, func(a, b allocator.Held) int { return a.Addr.Compare(b.Addr) })
	text := fmt.Sprintf("%+v %q %+v", s.Meta, s.Meshes, s.Addrs)
	slices.SortFunc(s.Rows, func(a, b *vip.Row) int { return a.Key().Compare(b.Key()) })
	for _, r := range s.Rows {
		text += fmt.Sprintf(" %+v", *r)
	}
	return text
}

// pools returns the prefixes of the pools that are configured.
func (m *machine) pools() []netip.Prefix {
	var prefixes []netip.Prefix
	for _, p := range m.cfg.Layout.Pools {
		prefixes = append(prefixes, p.Prefix)
	}
	return prefixes
}
