package allocator_test

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// check holds everything after each step.
func (m *machine) check(t *rapid.T) {
	before := m.all
	m.all = m.load(t)
	if err := allocator.Check(m.all); err != nil {
		t.Fatalf("the store: %v", err)
	}
	m.storeIsTheOracles(t)
	m.nothingMoved(t, before)
	m.cooled(t, before)
	m.serialGrows(t, before)
	m.sinceIsKept(t, before)
	defer m.forgetStep()
	if m.lost {
		return
	}
	if err := m.a.Verify(context.Background()); err != nil {
		t.Fatalf("Verify: %v", err)
	}
	if got := rowMap(m.a.Rows()); !sameRows(got, m.told) {
		t.Fatalf("OnCommit told of %v, the table has %v", m.told, got)
	}
	if m.expected != "" && m.reported != nil && describeState(m.all) != m.expected {
		t.Fatalf("the table is\n%s\nand would be after a restart\n%s", describeState(m.all), m.expected)
	}
	m.movesAreTold(t, before)
	m.heldIsTheOracles(t)
	m.reports(t)
	if rapid.IntRange(0, 3).Draw(t, "look everything up") == 0 {
		m.lookupsAreTheOracles(t)
	}
	if m.ticked {
		m.plannedIsTheOracles(t)
		m.dueIsTheOracles(t)
		m.refusedIsTheOracles(t)
	}
}

// forgetStep forgets what concerns one step only.
func (m *machine) forgetStep() {
	m.o.moved, m.toldMoves, m.reported, m.expected = nil, nil, nil, ""
	m.ticked, m.looked, m.doubtful = false, false, m.lost
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

// storeIsTheOracles compares all that a store holds.
func (m *machine) storeIsTheOracles(t *rapid.T) {
	got := rowMap(m.all.Rows)
	for _, key := range m.o.keys() {
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
	past := make(map[netip.Addr]release)
	for _, h := range m.all.Addrs {
		if h.Released {
			past[h.Addr] = release{h.Owner, h.At}
		}
	}
	if !maps.Equal(past, m.o.past) {
		t.Fatalf("released: %v, want %v", past, m.o.past)
	}
	if meta := m.all.Meta; !slices.Equal(meta.Pools, m.o.durable) || meta.Generation != m.o.generation || meta.Options != m.o.options || meta.Clock != m.o.clock || meta.Synced != m.o.synced || !slices.Equal(meta.Quarantine, m.o.quarantine) {
		t.Fatalf("the table says %+v of itself, want pools %v, generation %d, clock %v, synced %v",
			meta, m.o.durable, m.o.generation, m.o.clock, m.o.synced)
	}
}

// nothingMoved: what was in the table before and after a step has its address,
// unless the operator has confirmed that it moves, or Kuma gave it another.
func (m *machine) nothingMoved(t *rapid.T, before allocator.State) {
	now := rowMap(m.all.Rows)
	for _, r := range before.Rows {
		s := now[r.Key()]
		if s == nil || len(s.Given()) > 0 {
			continue
		}
		for _, from := range r.Addrs() {
			to := has(s, from.Is4())
			moved := slices.ContainsFunc(m.o.moved, func(m allocator.Move) bool { return m.Key == r.Key() && m.From == from && m.To == to })
			if from != to && !moved {
				t.Fatalf("entry %v moved from %v to %v", r.Key(), from, to)
			}
		}
	}
}

// cooled: nobody gets an address before the cooldown of its last owner is over,
// by what the tables showed from step to step.
func (m *machine) cooled(t *rapid.T, before allocator.State) {
	owners, known := make(map[netip.Addr]vip.Key), make(map[netip.Addr]allocator.Holding)
	for _, h := range m.all.Addrs {
		known[h.Addr] = h.Holding
	}
	for a, was := range m.last {
		if _, ok := known[a]; !ok { // forgotten
			if m.all.Meta.Clock-was.at < m.cfg.Cooldown {
				t.Fatalf("it is forgotten after %v that %v had %v", m.all.Meta.Clock-was.at, was.owner, a)
			}
			delete(m.last, a)
		}
	}
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
				h, ok := known[a]
				if !ok && m.cfg.Cooldown <= time.Second { // forgotten at once
					continue
				}
				at := h.At
				if at <= before.Meta.Clock || at > m.all.Meta.Clock {
					t.Fatalf("%v is released at %v, between %v and %v", a, at, before.Meta.Clock, m.all.Meta.Clock)
				}
				m.last[a] = release{r.Key(), at}
			case owner != r.Key() && m.cfg.Cooldown > time.Second: // a step may be a few commits
				t.Fatalf("%v went from %v to %v in one step", a, r.Key(), owner)
			}
		}
	}
}

func (m *machine) serialGrows(t *rapid.T, before allocator.State) {
	serial := m.all.Meta.Serial
	changed := !sameRows(rowMap(before.Rows), rowMap(m.all.Rows))
	if serial < before.Meta.Serial || changed && serial == before.Meta.Serial || m.all.Meta.Revision > 0 && serial == 0 {
		t.Fatalf("the serial was %d and is %d, changed: %v", before.Meta.Serial, serial, changed)
	}
}

// sinceIsKept: an address that has changed hands in the step has done so now, and
// of the others it is still told since when.
func (m *machine) sinceIsKept(t *rapid.T, before allocator.State) {
	was := make(map[netip.Addr]allocator.Holding)
	for _, h := range before.Addrs {
		was[h.Addr] = h.Holding
	}
	for _, h := range m.all.Addrs {
		want := m.clock.wall.Unix()
		if w := was[h.Addr]; w.Owner == h.Owner && w.Released == h.Released && w.At == h.At {
			want = w.Since
		}
		if h.Since != want {
			t.Fatalf("%+v is told of %v, want since %d", h.Holding, h.Addr, want)
		}
	}
}

func (m *machine) heldIsTheOracles(t *rapid.T) {
	got := make(map[string]holding)
	for _, h := range m.a.Held() {
		keys := make(map[vip.Key]bool)
		for _, key := range h.Entries {
			keys[key] = true
		}
		got[h.Mesh] = holding{h.Gone, keys}
		if h.Reason == "" {
			t.Fatalf("what is held of mesh %q has no reason", h.Mesh)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(m.o.held) {
		t.Fatalf("held %v, want %v", got, m.o.held)
	}
}

func (m *machine) reports(t *rapid.T) {
	r := m.reported
	if r == nil {
		return
	}
	if fmt.Sprint(r.Held) != fmt.Sprint(m.a.Held()) {
		t.Fatalf("reported %v as held, want %v", r.Held, m.a.Held())
	}
	for _, key := range r.Exhausted {
		if !slices.Contains(m.o.waiting(true), key) && !slices.Contains(m.o.waiting(false), key) {
			t.Fatalf("%v is reported to wait, and has %v", key, m.o.rows[key])
		}
	}
	if n := m.a.Stats().Waiting; n != max(len(m.o.waiting(true)), len(m.o.waiting(false))) {
		t.Fatalf("%d wait, want %v or %v", n, m.o.waiting(true), m.o.waiting(false))
	}
}

// movesAreTold: what the operator has confirmed, and what Kuma has given others,
// and nothing else.
func (m *machine) movesAreTold(t *rapid.T, before allocator.State) {
	if m.doubtful { // those of the step before may be told in this one
		return
	}
	want := slices.Clone(m.o.moved)
	now := rowMap(m.all.Rows)
	for _, r := range before.Rows {
		if s := now[r.Key()]; s != nil && len(s.Given()) > 0 {
			for _, a := range r.Addrs() {
				if a == s.Given()[0] {
					continue // it stays where it is
				}
				want = append(want, allocator.Move{Key: r.Key(), From: a, To: s.Given()[0]})
			}
		}
	}
	got, wanted := whither(m.toldMoves), whither(want)
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Fatalf("moves told: %v, want %v", got, wanted)
	}
	for _, m := range m.toldMoves {
		if m.Why == "" {
			t.Fatalf("%v is told without a reason", m)
		}
	}
}

// plannedIsTheOracles: after a Tick, what waits for its confirmation is what the
// oracle would move, and what was moved was told, with reasons.
func (m *machine) plannedIsTheOracles(t *rapid.T) {
	got, want := m.a.Moves(), m.o.planned
	for _, m := range slices.Concat(got.List, got.Stuck) {
		if m.Why == "" {
			t.Fatalf("%v has no reason to move", m)
		}
	}
	if len(got.List) != m.a.Stats().Pending || (got.Name == "") != (len(got.List) == 0) {
		t.Fatalf("plan %q of %v, %d are counted", got.Name, got.List, m.a.Stats().Pending)
	}
	if all, wanted := who(got.List, got.Stuck), who(want.list, want.stuck); !slices.Equal(all, wanted) {
		t.Fatalf("would move %v, want %v", all, wanted)
	}
	if text, wanted := whither(got.List, got.Stuck), whither(want.list, want.stuck); !slices.Equal(text, wanted) {
		if m.looked {
			t.Fatalf("would move %v, want %v", text, wanted)
		}
		return // what the pools had for them when they were looked at last
	}
	if got.Name == "" {
		return
	}
	for name, id := range m.ids {
		if (name == got.Name) != (id == want.id) {
			t.Fatalf("%q is the name of %s and %q of %s", name, id, got.Name, want.id)
		}
	}
	m.ids[got.Name] = want.id
}

// who returns who is to move, sorted; whither with whereto, in their order.
func who(moves ...[]allocator.Move) (all []string) {
	for _, m := range slices.Concat(moves...) {
		all = append(all, fmt.Sprint(m.Key, " ", m.From))
	}
	slices.Sort(all)
	return all
}

func whither(moves ...[]allocator.Move) (all []string) {
	for _, m := range slices.Concat(moves...) {
		all = append(all, fmt.Sprint(m.Key, " ", m.From, " to ", m.To))
	}
	return all
}

// refusedIsTheOracles: those who do not have the address that they are to have
// are counted, unless their move there is just to be confirmed. Those who ask for
// one of a family without a pool are told when they ask.
func (m *machine) refusedIsTheOracles(t *rapid.T) {
	got := m.a.Stats().Refused
	if n, perhaps := m.o.refused(); m.looked && (got > n || got < n-perhaps) {
		t.Fatalf("%d statics are refused, want %d, perhaps without %d", got, n, perhaps)
	}
}

// dueIsTheOracles: after a Tick nothing is due at once, and what will be is not
// told too late, or where there is nothing.
func (m *machine) dueIsTheOracles(t *rapid.T) {
	now := m.o.at(m.since())
	at, wanted := m.o.due()
	d, ok := m.a.Due()
	if ok != wanted || ok && (d < 0 || d == 0 && at > now || d > max(at-now, 0)) {
		t.Fatalf("due in %v, %v; want %v, %v", d, ok, at-now, wanted)
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
					"apply": m.apply, "apply2": m.apply, "apply3": m.apply, "tick": m.tick, "look": m.look, "confirm": m.confirm,
					"confirm now": m.confirmNow, "release": m.releaseHeld, "plan for": m.planFor,
					"options": m.setOptions, "advance": m.advance, "jump": m.jump, "silence": m.silence, "configure": m.configure, "restart": m.restart, "": m.check,
				})
				m.nothingLeaked(t)
			})
		})
	}
}

// nothingLeaked: at the end, all addresses that may be given out can be had.
func (m *machine) nothingLeaked(t *rapid.T) {
	m.cfg.Cooldown = 1
	m.store.silent = false
	if rapid.Bool().Draw(t, "restart at the end") {
		m.open(t)
	}
	if err := m.a.Configure(m.cfg); err != nil {
		t.Fatal(err)
	}
	m.follow(t)
	m.clock.running += time.Hour
	b := vip.Batch{Meshes: []vip.MeshUpdate{{Mesh: "z"}}}
	for i := range 40 {
		b.Meshes[0].Set = append(b.Meshes[0].Set, requests(fmt.Sprintf("z-%02d", i))...)
	}
	for range 2 { // the first may only find out about a commit in doubt
		if _, err := m.a.Apply(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	if q := m.load(t).Meta.Quarantine; len(q) > 0 {
		t.Fatalf("still quarantined: %v", q)
	}
	rows := m.a.Rows()
	m.o.rows, m.o.quarantine = rowMap(rows), nil
	m.o.given = make(map[netip.Addr]bool)
	m.o.seeGiven()
	for _, r := range m.cfg.Layout.Pools {
		for _, addr := range inPool(r.Prefix) {
			if _, taken := m.o.holder(addr); !taken && !r.Drain && !m.o.given[addr] && !m.o.blocked(r, addr) {
				t.Fatalf("%d entries, and nobody could have %v", len(rows), addr)
			}
		}
	}
}
