package allocator

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// mender makes a state sound.
type mender struct {
	s     State
	l     Layout
	rows  map[vip.Key]*vip.Row
	holds map[netip.Addr]Holding
	steps []Step
}

// mend returns the sound state that differs least from s, and the steps to it;
// s itself is left as it is. It is a pure function. An entry that loses its
// address has none in the state that is returned: it waits for another.
func mend(s State, l Layout) (State, []Step) {
	m := mender{s: s, l: l, rows: make(map[vip.Key]*vip.Row, len(s.Rows)), holds: make(map[netip.Addr]Holding, len(s.Addrs))}
	m.meta()
	m.eachRow()
	m.meshes()
	m.addresses()
	m.holdings()
	fixed := m.s
	fixed.Rows = make([]*vip.Row, 0, len(m.rows))
	for _, key := range sortedKeys(m.rows) {
		fixed.Rows = append(fixed.Rows, m.rows[key])
	}
	fixed.Addrs = make([]Held, 0, len(m.holds))
	for a, h := range m.holds {
		fixed.Addrs = append(fixed.Addrs, Held{a, h})
	}
	slices.SortFunc(fixed.Addrs, func(a, b Held) int { return a.Addr.Compare(b.Addr) })
	return fixed, m.steps
}

func (m *mender) step(key vip.Key, addr netip.Addr, format string, args ...any) {
	m.steps = append(m.steps, Step{Key: key, Addr: addr, What: fmt.Sprintf(format, args...)})
}

// meta makes the table's word of itself sound.
func (m *mender) meta() {
	meta := &m.s.Meta
	pools := make([]Pool, 0, len(meta.Pools))
	for _, p := range meta.Pools {
		if slices.ContainsFunc(pools, func(q Pool) bool { return q.Prefix == p.Prefix }) {
			m.step(vip.Key{}, netip.Addr{}, "pool %v stands twice in the table: once is enough", p.Prefix)
			continue
		}
		if p.Next.IsValid() && !p.Prefix.Contains(p.Next) {
			m.step(vip.Key{}, p.Next, "the cursor of pool %v lies outside it: it begins again", p.Prefix)
			p.Next = newPool(p.Prefix).Next
		}
		pools = append(pools, p)
	}
	meta.Pools = pools
	var quarantine []Quarantine
	for _, q := range meta.Quarantine {
		if !q.Range.IsValid() {
			m.step(vip.Key{}, netip.Addr{}, "quarantine %v is no range: it is left out", q.Range)
			continue
		}
		quarantine = append(quarantine, q)
	}
	meta.Quarantine = quarantine
	if meta.Revision > 0 && meta.Serial == 0 {
		m.step(vip.Key{}, netip.Addr{}, "the serial is 0: it begins again")
		meta.Serial = 1
	}
}

// eachRow makes every row sound by itself.
func (m *mender) eachRow() {
	for _, r := range m.s.Rows {
		key := r.Key()
		if err := checkEntry(r.Entry); err != nil {
			m.step(key, netip.Addr{}, "%v: it is left out", err)
			continue
		}
		fixed := m.row(key, r)
		if fixed == nil {
			continue
		}
		if was := m.rows[key]; was != nil {
			m.step(key, netip.Addr{}, "it has two rows, with %v and %v: they become one", was.Addrs(), r.Addrs())
			fixed = merged(was, fixed)
		}
		m.rows[key] = fixed
	}
}

// row returns r with what is wrong with it alone put right; nil if nothing is
// left of it.
func (m *mender) row(key vip.Key, r *vip.Row) *vip.Row {
	c := *r
	if c.V4.IsValid() && !c.V4.Is4() {
		m.lose(key, &c, true, "%v is no IPv4 address", c.V4)
	}
	if c.V6.IsValid() && (!c.V6.Is6() || c.V6.Is4In6()) {
		m.lose(key, &c, false, "%v is no IPv6 address", c.V6)
	}
	c.Listings = make([]vip.Listing, 0, len(r.Listings))
	for _, l := range r.Listings {
		switch {
		case checkMesh(l.Mesh) != nil:
			m.step(key, netip.Addr{}, "mesh %.80q lists it: %v; that is left out", l.Mesh, checkMesh(l.Mesh))
			continue
		case vip.Fold(l.Name) != key.Name:
			m.step(key, netip.Addr{}, "mesh %q spells it %q: that is left out", l.Mesh, l.Name)
			continue
		}
		l.Outbounds = slices.Clone(l.Outbounds)
		slices.SortFunc(l.Outbounds, vip.Outbound.Compare)
		l.Outbounds = slices.CompactFunc(l.Outbounds, vip.Outbound.Equal)
		c.Listings = append(c.Listings, l)
	}
	slices.SortStableFunc(c.Listings, func(a, b vip.Listing) int { return strings.Compare(a.Mesh, b.Mesh) })
	c.Listings = slices.CompactFunc(c.Listings, func(a, b vip.Listing) bool { return a.Mesh == b.Mesh })
	if len(c.Listings) == 0 {
		m.step(key, netip.Addr{}, "no mesh lists it: it is released")
		return nil
	}
	fixed := c.With(nil, nil) // with its spelling
	if !fixed.Equal(&c) || !slices.EqualFunc(c.Listings, r.Listings, vip.Listing.Equal) {
		m.step(key, netip.Addr{}, "its listings are out of order: they are sorted")
	}
	return fixed
}

// merged returns two rows of one entry as one.
func merged(a, b *vip.Row) *vip.Row {
	c := a.With(b.Listings, nil)
	c.V4, c.V6 = cmp.Or(a.V4, b.V4), cmp.Or(a.V6, b.V6)
	return c
}

// lose takes the address of a family from a row that is not shared yet.
func (m *mender) lose(key vip.Key, row *vip.Row, v4 bool, format string, args ...any) {
	m.step(key, addrOf(row, v4), format+": it gets another", args...)
	m.steps[len(m.steps)-1].lost = true
	*row = *withAddr(row, netip.Addr{}, v4)
}

// meshes gives every mesh that lists something one table.
func (m *mender) meshes() {
	names := make(map[string]bool, len(m.s.Meshes))
	meshes := make([]string, 0, len(m.s.Meshes))
	add := func(name string) {
		if !names[name] {
			meshes = append(meshes, name)
		}
		names[name] = true
	}
	for _, name := range m.s.Meshes {
		if names[name] {
			m.step(vip.Key{}, netip.Addr{}, "mesh %q has two tables: they become one", name)
		}
		add(name)
	}
	for _, key := range sortedKeys(m.rows) {
		for _, l := range m.rows[key].Listings {
			if !names[l.Mesh] {
				m.step(key, netip.Addr{}, "mesh %q lists it, and has no table: it gets one", l.Mesh)
				add(l.Mesh)
			}
		}
	}
	m.s.Meshes = meshes
}

// addresses lets every address have one row, in a pool.
func (m *mender) addresses() {
	keys := make(map[netip.Addr]Holding, len(m.s.Addrs))
	for _, h := range m.s.Addrs {
		if was, ok := keys[h.Addr]; ok {
			m.step(h.Owner, h.Addr, "the address has two keys, of %v and %v: one is left out", was.Owner, h.Owner)
			if row := m.rows[was.Owner]; row != nil && row.Has(h.Addr) && !was.Released {
				continue
			}
		}
		keys[h.Addr] = h.Holding
	}
	m.holds = keys
	claims := make(map[netip.Addr][]vip.Key)
	for key, row := range m.rows {
		for _, a := range row.Addrs() {
			claims[a] = append(claims[a], key)
		}
	}
	for _, addr := range slices.SortedFunc(maps.Keys(claims), netip.Addr.Compare) {
		claimants := claims[addr]
		slices.SortFunc(claimants, func(a, b vip.Key) int {
			return cmp.Or(-cmp.Compare(m.rank(a, addr), m.rank(b, addr)), a.Compare(b))
		})
		if !slices.ContainsFunc(m.s.Meta.Pools, func(p Pool) bool { return p.Prefix.Contains(addr) }) {
			for _, key := range claimants {
				m.take(key, addr, "%v lies in no pool", addr)
			}
			continue
		}
		for _, key := range claimants[1:] {
			m.take(key, addr, "%v has %v too, and comes first (%s)", claimants[0], addr, m.reason(claimants[0], key, addr))
		}
	}
}

// take takes addr from the entry of key.
func (m *mender) take(key vip.Key, addr netip.Addr, format string, args ...any) {
	row := *m.rows[key]
	m.lose(key, &row, addr.Is4(), format, args...)
	m.rows[key] = &row
}

// rank says how strong an entry's claim to an address is: static before
// automatic, and of either the present holder before anybody else.
func (m *mender) rank(key vip.Key, addr netip.Addr) int {
	want := m.rows[key].Static(addr.Is4())
	for _, s := range m.l.Statics {
		if s.Key == key && s.Addr.Is4() == addr.Is4() {
			want = s.Addr
		}
	}
	n := 0
	if want == addr {
		n = 2
	}
	if h, ok := m.holds[addr]; ok && !h.Released && h.Owner == key {
		n++
	}
	return n
}

// reason says in words why the first of two claims came before the second.
func (m *mender) reason(first, second vip.Key, addr netip.Addr) string {
	switch r, s := m.rank(first, addr), m.rank(second, addr); {
	case r == s:
		return "it is the smaller key"
	case r >= 2 && s < 2:
		return "it is static"
	}
	return "it is the present holder"
}

// holdings makes the address keys say what the rows say. What a row has lost
// or an entry has too many of cools down from now on.
func (m *mender) holdings() {
	damaged := make(map[netip.Addr]bool)
	for _, d := range m.s.Damaged {
		damaged[d.Addr] = true
	}
	owners := make(map[netip.Addr]vip.Key, len(m.rows))
	for key, row := range m.rows {
		for _, a := range row.Addrs() {
			owners[a] = key
		}
	}
	now := m.s.Meta.Clock
	for _, addr := range slices.SortedFunc(maps.Keys(m.holds), netip.Addr.Compare) {
		h := m.holds[addr]
		key, has := owners[addr]
		row := m.rows[h.Owner]
		switch {
		case has && (h.Released || h.Owner != key):
			m.step(key, addr, "the key of the address says that it is %v's (released: %v): it becomes the row's", h.Owner, h.Released)
			m.holds[addr] = Holding{Owner: key}
		case has:
		case h.Released && h.At > now:
			m.step(h.Owner, addr, "it was released at %v, after the table's clock %v: it counts from now", h.At, now)
			h.At = now
			m.holds[addr] = h
		case h.Released:
		case row == nil && len(m.s.Damaged) > 0:
			// Its row may be the one that cannot be read.
		default:
			h.Released, h.At, h.Since = true, now, 0
			if row != nil {
				m.step(h.Owner, addr, "the entry has %v, and %v besides: that is released", row.Addrs(), addr)
				h.Mesh = row.Listings[0].Mesh
			} else {
				m.step(h.Owner, addr, "the entry that has it has no row: it is released")
			}
			m.holds[addr] = h
		}
	}
	for _, addr := range slices.SortedFunc(maps.Keys(owners), netip.Addr.Compare) {
		if _, ok := m.holds[addr]; !ok && !damaged[addr] {
			m.step(owners[addr], addr, "the address has no key: it gets one")
			m.holds[addr] = Holding{Owner: owners[addr]}
		}
	}
}
