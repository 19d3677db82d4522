package allocator_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// lookupsAreTheOracles: what the allocator says of each address, entry, mesh and
// pool is what one sees who looks through the whole table.
func (m *machine) lookupsAreTheOracles(t *rapid.T) {
	for _, base := range []string{"10.0.0.0", "fd00::"} {
		for a := addr(base); a != addr("10.0.0.18") && a != addr("fd00::9"); a = a.Next() {
			got := m.a.Address(a)
			if want := m.addressIs(a); got.Status != want {
				t.Fatalf("%v is %d (%+v), want %d", a, got.Status, got, want)
			}
			m.ownerIsTheOracles(t, got)
		}
	}
	m.entriesAreTheOracles(t)
	m.pagesAreTheTable(t)
	m.poolsAreTheOracles(t)
	s, err := m.a.State(context.Background())
	s.Meta.Clock = m.all.Meta.Clock // it is that of now
	if err != nil || describeState(s) != describeState(m.all) {
		t.Fatalf("the state is %v\n%s\nand that of the store\n%s", err, describeState(s), describeState(m.all))
	}
}

// addressIs says what an address is, by the plainest means.
func (m *machine) addressIs(a netip.Addr) allocator.AddrStatus {
	o := m.o
	o.table = merge(o.durable, o.layout)
	o.given = make(map[netip.Addr]bool)
	o.seeGiven()
	_, live := o.holder(a)
	past, had := o.past[a]
	i := o.poolOf(a)
	switch {
	case live:
		return allocator.AddrLive
	case had && o.at(m.since()) < past.at+o.cooldown:
		return allocator.AddrCooling
	case o.given[a]:
		return allocator.AddrGiven
	case i < 0:
		return allocator.AddrOutside
	case !slices.Contains(inPool(o.table[i].Prefix), a):
		if a == o.table[i].Prefix.Addr() {
			return allocator.AddrNetwork
		}
		return allocator.AddrBroadcast
	}
	r := o.rangeOf(a)
	if r == nil || o.table[i].Retired || !inRanges(r.Exclude, a) {
		for _, q := range o.quarantine {
			if q.Range.Contains(a) && q.Until > o.at(m.since()) {
				return allocator.AddrQuarantined
			}
		}
	}
	if r != nil && !o.table[i].Retired {
		switch {
		case inRanges(r.Exclude, a):
			return allocator.AddrExcluded
		case inRanges(r.Reserve, a):
			return allocator.AddrReserved
		}
	}
	if had {
		return allocator.AddrPast
	}
	return allocator.AddrFree
}

func (m *machine) ownerIsTheOracles(t *rapid.T, got allocator.AddrState) {
	owner, live := m.o.holder(got.Addr)
	past, had := m.o.past[got.Addr]
	if !live && had {
		owner = past.owner
	}
	if got.Owner != owner || (got.Row != nil) != live || live && !got.Row.Has(got.Addr) {
		t.Fatalf("%v is %v's (%+v), want %v", got.Addr, got.Owner, got, owner)
	}
	if got.Status == allocator.AddrQuarantined {
		return // and the quarantine is longer
	}
	left := max(past.at+m.o.cooldown-m.o.at(m.since()), 0)
	if had && got.Cooldown != left || !had && got.Cooldown != 0 {
		t.Fatalf("%v cools down for %v, want %v", got.Addr, got.Cooldown, left)
	}
	if kept, is := m.o.keptFor(got.Addr); is && got.Static != kept || !is && got.Static != (vip.Key{}) {
		t.Fatalf("%v is kept for %v, want %v", got.Addr, got.Static, kept)
	}
}

// entriesAreTheOracles: all of an entry, its holds and its moves among them.
func (m *machine) entriesAreTheOracles(t *rapid.T) {
	moves := m.a.Moves()
	for _, key := range m.o.keys() {
		row := m.o.rows[key]
		got, known := m.a.Entry(key)
		var held, past []netip.Addr
		for _, h := range got.Held {
			held = append(held, h.Addr)
			if !h.Given && h.Row.Key() != key {
				t.Fatalf("%v has %v of %v", key, h.Addr, h.Row.Key())
			}
			if want := m.o.static(key, h.Addr.Is4()) == h.Addr && !h.Given; want != (h.Layout || h.Tag) {
				t.Fatalf("%v has %v: static %v, want %v", key, h.Addr, h, want)
			}
		}
		for _, p := range got.Past {
			past = append(past, p.Addr)
		}
		slices.SortFunc(past, netip.Addr.Compare)
		var had []netip.Addr
		for a, r := range m.o.past {
			if r.owner == key {
				had = append(had, a)
			}
		}
		slices.SortFunc(had, netip.Addr.Compare)
		if want := slices.Concat(row.Addrs(), row.Given()); !known || !slices.Equal(held, want) || !slices.Equal(past, had) {
			t.Fatalf("%v has %v and had %v, want %v, %v", key, held, past, want, had)
		}
		waits := slices.Contains(m.o.waiting(true), key) || slices.Contains(m.o.waiting(false), key)
		if got.Line.Waits != waits || (len(got.Waits) > 0) != waits {
			t.Fatalf("%v waits: %v, %v, want %v", key, got.Line.Waits, got.Waits, waits)
		}
		for mesh, h := range m.o.held {
			if h.keys[key] != slices.ContainsFunc(got.Holds, func(h allocator.Hold) bool { return h.Mesh == mesh && h.Name != "" }) {
				t.Fatalf("%v is held of %s: %v, want %v", key, mesh, got.Holds, h.keys[key])
			}
		}
		mine := func(all []allocator.Move) (own []allocator.Move) {
			for _, move := range all {
				if move.Key == key {
					own = append(own, move)
				}
			}
			return own
		}
		if !slices.Equal(got.Moves, mine(moves.List)) || !slices.Equal(got.Stuck, mine(moves.Stuck)) {
			t.Fatalf("%v moves %v, stuck %v; want %v", key, got.Moves, got.Stuck, moves)
		}
	}
	if _, known := m.a.Entry(vip.Key{Name: "nobody-has-heard-of"}); known {
		t.Fatal("an entry is known that never was")
	}
	wants, n := m.a.Waiting(1000)
	if want := len(m.o.waiting(true)) + len(m.o.waiting(false)); n != want || len(wants) != n {
		t.Fatalf("%d wait: %v, want %d", n, wants, want)
	}
	if refused, n := m.a.Refused(1000); n != m.a.Stats().Refused || len(refused) != n {
		t.Fatalf("%d are refused: %v, want %d", n, refused, m.a.Stats().Refused)
	}
}

// pagesAreTheTable: all pages together are all rows, in their order.
func (m *machine) pagesAreTheTable(t *rapid.T) {
	limit := rapid.IntRange(1, 4).Draw(t, "rows a page")
	for _, mesh := range append(m.a.Meshes(), "") {
		var want, got []string
		for _, r := range m.a.Rows() {
			if _, listed := r.Listing(mesh); listed || mesh == "" {
				want = append(want, fmt.Sprint(r.Key(), r.Addrs()))
			}
		}
		var after vip.Key
		for more := true; more; {
			p, ok := m.a.Page(mesh, after, limit)
			if !ok || len(p.Lines) > limit || p.Total != len(want) {
				t.Fatalf("mesh %q: a page of %d of %d, %v; want %d", mesh, len(p.Lines), p.Total, ok, len(want))
			}
			for _, l := range p.Lines {
				got, after = append(got, fmt.Sprint(l.Row.Key(), l.Row.Addrs())), l.Row.Key()
			}
			more = p.More
		}
		if !slices.Equal(got, want) {
			t.Fatalf("mesh %q: the pages have %s, want %s", mesh, strings.Join(got, ", "), strings.Join(want, ", "))
		}
	}
	if _, ok := m.a.Page("no such mesh", vip.Key{}, 1); ok {
		t.Fatal("there is a page of a mesh that is not")
	}
}

// poolsAreTheOracles: what a pool would give next is what a newcomer gets, and
// its counts are those of its addresses.
func (m *machine) poolsAreTheOracles(t *rapid.T) {
	o := m.o.clone()
	o.table = merge(o.durable, o.layout)
	o.given = make(map[netip.Addr]bool)
	o.seeGiven()
	now := o.at(m.since())
	for i, p := range m.a.PoolStates() {
		if p.Prefix != o.table[i].Prefix || p.Retired != o.table[i].Retired {
			t.Fatalf("pool %d is %+v, want %+v", i, p, o.table[i])
		}
		live := 0
		for a := p.Prefix.Addr(); p.Prefix.Contains(a); a = a.Next() {
			if _, is := o.holder(a); is && o.poolOf(a) == i {
				live++
			}
		}
		if p.Live != live {
			t.Fatalf("pool %v has %d live addresses, want %d", p.Prefix, p.Live, live)
		}
		cooling, next := 0, netip.Addr{}
		for a, r := range o.past {
			if in := o.rangeOf(a); o.poolOf(a) == i && !o.rested(r, now) && (in == nil || !o.blocked(*in, a)) {
				cooling++
			}
		}
		if p.Cooling != cooling {
			t.Fatalf("in pool %v %d addresses cool down, want %d", p.Prefix, p.Cooling, cooling)
		}
		if !p.Retired && !o.layout.Pools[i].Drain {
			for _, from := range []func(int, allocator.Range) netip.Addr{
				func(i int, r allocator.Range) netip.Addr { return o.beyond(i, r, now) },
				func(i int, r allocator.Range) netip.Addr { return o.unknown(i, r, now) },
				func(i int, r allocator.Range) netip.Addr { return o.longest(i, r, now) },
			} {
				if next = from(i, o.layout.Pools[i]); next.IsValid() {
					break
				}
			}
		}
		if p.Next != next {
			t.Fatalf("pool %v would give %v, want %v", p.Prefix, p.Next, next)
		}
	}
}
