package allocator

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// scribble makes a state of bytes: few entries, addresses and meshes, so that
// they get in each other's way. Past the end of the bytes all is 0.
type scribble struct{ data []byte }

func (s *scribble) n(below int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % below
}

func (s *scribble) key() vip.Key {
	k := vip.Key{Kind: []vip.Kind{vip.Service, vip.Service, vip.Host, vip.MeshService, 9}[s.n(5)], Name: []string{"a", "b", "c", "d", ""}[s.n(5)]}
	if k.Kind == vip.MeshService {
		k.Mesh = s.mesh()
	}
	return k
}

func (s *scribble) mesh() string { return []string{"m", "n", "o", ""}[s.n(4)] }

// addr returns an address of the pools, of none, or the zero one.
func (s *scribble) addr() netip.Addr {
	return []netip.Addr{
		{},
		ip("10.0.0.1"), ip("10.0.0.2"), ip("10.0.0.3"), ip("10.0.0.0"), ip("10.0.0.9"), ip("10.9.0.1"),
		ip("fd00::"), ip("fd00::1"), ip("fd00::9"), ip("::ffff:10.0.0.1"),
	}[s.n(11)]
}

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

func (s *scribble) row() *vip.Row {
	key := s.key()
	r := &vip.Row{Entry: vip.Entry(key), V4: s.addr(), V6: s.addr()}
	for range s.n(4) {
		l := vip.Listing{Mesh: s.mesh(), Name: key.Name}
		switch s.n(4) {
		case 1:
			l.Name = "A"
			r.Entry.Name = []string{"A", key.Name}[s.n(2)]
		case 2:
			l.Outbounds = []vip.Outbound{{Port: uint16(s.n(3))}, {Port: uint16(3 + s.n(2))}}
			if s.n(2) == 1 {
				slices.Reverse(l.Outbounds)
			}
		case 3:
			l.Terms = &vip.Terms{Static: []netip.Addr{ip([]string{"10.0.0.1", "fd00::1"}[s.n(2)])}}
		}
		r.Listings = append(r.Listings, l)
	}
	return r
}

func (s *scribble) state() (State, Layout) {
	pool, second, wide := netip.MustParsePrefix("10.0.0.0/29"), netip.MustParsePrefix("10.0.0.8/30"), netip.MustParsePrefix("fd00::/125")
	l := Ranges(pool, wide)
	if s.n(2) == 1 {
		l.Statics = []Static{{Key: vip.Key{Name: "b"}, Addr: ip("10.0.0.1")}}
	}
	cursors := []netip.Addr{ip("10.0.0.4"), {}, ip("10.0.0.1"), ip("10.0.1.1")}
	state := State{
		Meta: Meta{
			Revision: uint64(1 + s.n(2)), Serial: uint32(s.n(2)), Clock: time.Hour,
			Pools: []Pool{{Prefix: pool, Next: cursors[s.n(4)]}, {Prefix: wide, Next: ip("fd00::2")}, {Prefix: second, Retired: true}}[:1+s.n(3)],
		},
		Meshes: [][]string{{"m", "n", "o"}, {"m"}, {"m", "m", "n"}, nil}[s.n(4)],
	}
	if s.n(8) == 1 {
		state.Meta.Quarantine = []Quarantine{{Range: netipx.IPRangeFrom(ip("10.0.0.3"), s.addr())}}
	}
	if s.n(4) == 1 {
		state.Meta.Pools = append(state.Meta.Pools, state.Meta.Pools[0])
	}
	for range s.n(6) {
		state.Rows = append(state.Rows, s.row())
	}
	for _, r := range state.Rows { // most addresses have their key
		for _, a := range r.Addrs() {
			if s.n(4) > 0 {
				state.Addrs = append(state.Addrs, Held{a, Holding{Owner: r.Key()}})
			}
		}
	}
	for range s.n(6) {
		h := Held{s.addr(), Holding{Owner: s.key(), Released: s.n(3) > 0, At: time.Duration(s.n(4)) * 25 * time.Minute}}
		if h.Addr.IsValid() {
			state.Addrs = append(state.Addrs, h)
		}
	}
	if s.n(4) == 1 {
		state.Damaged = []Damage{{Place: "somewhere", Addr: s.addr()}}
	}
	return state, l
}

// FuzzRepair: whatever a store holds, what a repair makes of it is sound; it
// leaves alone what is sound, and who should keep an address keeps it.
func FuzzRepair(f *testing.F) {
	for i := range 64 {
		data := make([]byte, 100)
		for j := range data {
			data[j] = byte(i * (j + 7) * 31 >> (j % 5))
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scribble{data}
		state, l := s.state()
		before := fmt.Sprintf("%+v", state)
		fixed, steps := mend(state, l)
		if after := fmt.Sprintf("%+v", state); after != before {
			t.Fatalf("the state itself was changed from\n%s\nto\n%s", before, after)
		}
		err := Check(state)
		if (err == nil) != (len(steps) == 0) {
			t.Fatalf("%v, and %d steps: %v", err, len(steps), steps)
		}
		if err := Check(fixed); err != nil {
			t.Fatalf("after %v: %v", steps, err)
		}
		if again, steps := mend(fixed, l); len(steps) > 0 || fmt.Sprint(again.Addrs, again.Meshes, again.Meta) != fmt.Sprint(fixed.Addrs, fixed.Meshes, fixed.Meta) {
			t.Fatalf("a second time: %v", steps)
		}
		if err == nil && fmt.Sprint(len(fixed.Rows), len(fixed.Addrs)) != fmt.Sprint(len(state.Rows), len(state.Addrs)) {
			t.Fatal("a sound state has become another")
		}
		keeps(t, state, fixed, l)
		transaction(t, state, fixed)
	})
}

// keeps: an address in a pool that sound rows claim has the one row that comes
// first of them by rule, and is nobody's else. An address that is being kept
// from others, or cools down, is no stranger's.
func keeps(t *testing.T, state, fixed State, l Layout) {
	rows := make(map[vip.Key]*vip.Row)
	for _, r := range fixed.Rows {
		rows[r.Key()] = r
	}
	claims := make(map[netip.Addr][]*vip.Row)
	several := make(map[vip.Key]int)
	for _, r := range state.Rows {
		several[r.Key()]++
		if r.V4.Is4() {
			claims[r.V4] = append(claims[r.V4], r)
		}
		if r.V6.Is6() && !r.V6.Is4In6() {
			claims[r.V6] = append(claims[r.V6], r)
		}
	}
	keys := make(map[netip.Addr][]Holding)
	for _, h := range state.Addrs {
		keys[h.Addr] = append(keys[h.Addr], h.Holding)
	}
	for addr, claimants := range claims {
		claimants = slices.DeleteFunc(slices.Clone(claimants), func(r *vip.Row) bool { return rows[r.Key()] == nil })
		if slices.ContainsFunc(claimants, func(r *vip.Row) bool { return several[r.Key()] > 1 }) || len(keys[addr]) > 1 || len(claimants) == 0 {
			continue
		}
		if !slices.ContainsFunc(state.Meta.Pools, func(p Pool) bool { return p.Prefix.Contains(addr) }) {
			continue
		}
		first := claimants[0]
		for _, r := range claimants[1:] {
			if before(rows[r.Key()], rows[first.Key()], addr, keys[addr], l) {
				first = r
			}
		}
		for _, r := range claimants {
			if got := rows[r.Key()].Has(addr); got != (r == first) {
				t.Fatalf("%v is claimed by %d, and %v has it: %v", addr, len(claimants), r.Key(), got)
			}
		}
	}
	for _, r := range fixed.Rows {
		for _, a := range r.Addrs() {
			if !slices.ContainsFunc(claims[a], func(c *vip.Row) bool { return c.Key() == r.Key() }) {
				t.Fatalf("%v was given %v by the repair", r.Key(), a)
			}
		}
	}
}

// before reports whether r's claim to addr comes before that of s.
func before(r, s *vip.Row, addr netip.Addr, keys []Holding, l Layout) bool {
	static := func(r *vip.Row) bool {
		for _, st := range l.Statics {
			if st.Key == r.Key() && st.Addr.Is4() == addr.Is4() {
				return st.Addr == addr
			}
		}
		return r.Static(addr.Is4()) == addr
	}
	holds := func(r *vip.Row) bool {
		return len(keys) == 1 && keys[0].Owner == r.Key() && !keys[0].Released
	}
	switch {
	case static(r) != static(s):
		return static(r)
	case holds(r) != holds(s):
		return holds(r)
	}
	return r.Key().Compare(s.Key()) < 0
}

// transaction: what is written of a repair makes one state of the other.
func transaction(t *testing.T, state, fixed State) {
	d := difference(state, fixed)
	addrs := make(map[netip.Addr]Holding)
	for _, h := range state.Addrs {
		addrs[h.Addr] = h.Holding
	}
	for _, c := range d.Addrs {
		h, ok := addrs[c.Addr]
		if ok != (c.Old != nil) || ok && h != *c.Old {
			t.Fatalf("%v is %v, and the repair takes it for %v", c.Addr, h, c.Old)
		}
		if delete(addrs, c.Addr); c.New != nil {
			addrs[c.Addr] = *c.New
		}
	}
	if len(addrs) != len(fixed.Addrs) {
		t.Fatalf("%d addresses, want %d", len(addrs), len(fixed.Addrs))
	}
	for _, h := range fixed.Addrs {
		if addrs[h.Addr] != h.Holding {
			t.Fatalf("%v is written as %v, want %v", h.Addr, addrs[h.Addr], h.Holding)
		}
	}
}
