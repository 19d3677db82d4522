package allocator_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// oracle says what a table must be, by the plainest means: it looks at every
// address of every pool for each entry that wants one.
type oracle struct {
	pools []netip.Prefix
	// table are the pools of the table, with those that are configured no more.
	table    []allocator.Pool
	cooldown time.Duration
	limit    allocator.Limit

	rows   map[vip.Key]*vip.Row
	meshes map[string]bool
	// past are the addresses that nobody has, and who had them until when.
	past map[netip.Addr]release
	// held is what each mesh no longer lists, and keeps.
	held       map[string]holding
	incomplete string
}

type release struct {
	owner vip.Key
	at    time.Duration
}

type holding struct {
	gone bool
	keys map[vip.Key]bool
}

func newOracle() *oracle {
	return &oracle{
		rows: make(map[vip.Key]*vip.Row), meshes: make(map[string]bool),
		past: make(map[netip.Addr]release), held: make(map[string]holding),
	}
}

// lists returns the keys that mesh lists.
func (o *oracle) lists(mesh string) map[vip.Key]bool {
	keys := make(map[vip.Key]bool)
	for key, row := range o.rows {
		if _, ok := row.Listing(mesh); ok {
			keys[key] = true
		}
	}
	return keys
}

// apply makes the table what b asks for at a time of the table's clock.
func (o *oracle) apply(b vip.Batch, now time.Duration) {
	want := o.unwanted(b)
	o.held, o.incomplete = o.mayNotGo(want, b.Incomplete), b.Incomplete
	waiting := make(map[vip.Key]bool)
	for key := range o.rows {
		waiting[key] = true
	}
	for mesh, h := range want {
		if _, held := o.held[mesh]; held {
			continue
		}
		for key := range h.keys {
			o.rows[key] = o.rows[key].WithoutListing(mesh)
		}
		if h.gone {
			delete(o.meshes, mesh)
		}
	}
	for _, m := range b.Meshes {
		if m.Gone {
			continue
		}
		o.meshes[m.Mesh] = true
		for _, r := range m.Set {
			row := o.rows[r.Entry.Key()]
			if row == nil {
				row = &vip.Row{Entry: r.Entry}
			}
			o.rows[r.Entry.Key()] = row.WithListing(vip.Listing{Mesh: m.Mesh, Name: r.Entry.Name, Outbounds: r.Outbounds})
		}
	}
	for key, row := range o.rows {
		if len(row.Listings) == 0 {
			for _, addr := range row.Addrs() {
				o.past[addr] = release{key, now}
			}
			delete(o.rows, key)
		}
	}
	for _, v4 := range []bool{true, false} {
		o.assign(v4, waiting, now)
	}
}

// unwanted returns what each mesh no longer asks for after b.
func (o *oracle) unwanted(b vip.Batch) map[string]holding {
	want := make(map[string]holding)
	said := make(map[string]vip.MeshUpdate)
	for _, m := range b.Meshes {
		said[m.Mesh] = m
	}
	for mesh := range o.meshes {
		m, ok := said[mesh]
		h := holding{keys: make(map[vip.Key]bool)}
		for key := range o.lists(mesh) {
			asked := slices.ContainsFunc(m.Set, func(r vip.Request) bool { return r.Entry.Key() == key })
			dropped := slices.Contains(m.Drop, key) || m.Gone || b.Full || o.held[mesh].keys[key]
			if dropped && !asked {
				h.keys[key] = true
			}
		}
		switch {
		case ok:
			h.gone = m.Gone
		case b.Full:
			h.gone = mesh != vip.DefaultMesh
		default:
			h.gone = o.held[mesh].gone
		}
		if h.gone || len(h.keys) > 0 {
			want[mesh] = h
		}
	}
	return want
}

// mayNotGo is rule 7: nothing goes on the word of a source that could not be
// read, no mesh with entries goes unless somebody stated a limit, and not more
// than the limit goes of a mesh, or of all.
func (o *oracle) mayNotGo(want map[string]holding, incomplete string) map[string]holding {
	held := make(map[string]holding)
	listings, going := 0, 0
	for mesh := range o.meshes {
		listings += len(o.lists(mesh))
	}
	for mesh, h := range want {
		n := len(h.keys)
		if incomplete != "" || n > 0 && (h.gone && !o.limit.Stated || n > o.most(len(o.lists(mesh)))) {
			held[mesh] = h
		} else {
			going += n
		}
	}
	if going > o.most(listings) {
		for mesh, h := range want {
			if len(h.keys) > 0 {
				held[mesh] = h
			}
		}
	}
	return held
}

// most is how many of n may go at once.
func (o *oracle) most(n int) int {
	switch {
	case !o.limit.Stated:
		return max(10, n/10)
	case o.limit.Percent:
		return n * o.limit.N / 100
	}
	return o.limit.N
}

// assign gives an address of a family to everybody who has none: first back
// what was theirs, then to those who have waited, then to the others.
func (o *oracle) assign(v4 bool, waited map[vip.Key]bool, now time.Duration) {
	var needy []vip.Key
	for key, row := range o.rows {
		if has(row, v4) == (netip.Addr{}) {
			needy = append(needy, key)
		}
	}
	slices.SortFunc(needy, func(a, b vip.Key) int {
		if waited[a] != waited[b] {
			if waited[a] {
				return -1
			}
			return 1
		}
		if a.Kind != b.Kind {
			return int(a.Kind) - int(b.Kind)
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, key := range needy {
		if waited[key] && !o.configured(v4) {
			continue
		}
		if addr := o.own(key, v4); addr.IsValid() {
			o.give(key, addr)
		}
	}
	for _, key := range needy {
		if has(o.rows[key], v4).IsValid() {
			continue
		}
		addr := o.unused(v4)
		if !addr.IsValid() {
			addr = o.rested(v4, now)
		}
		if addr.IsValid() {
			o.give(key, addr)
		}
	}
}

// configured reports whether there is a pool of the family.
func (o *oracle) configured(v4 bool) bool {
	return slices.ContainsFunc(o.pools, func(p netip.Prefix) bool { return p.Addr().Is4() == v4 })
}

func has(row *vip.Row, v4 bool) netip.Addr {
	if v4 {
		return row.V4
	}
	return row.V6
}

func (o *oracle) give(key vip.Key, addr netip.Addr) {
	row := *o.rows[key]
	if addr.Is4() {
		row.V4 = addr
	} else {
		row.V6 = addr
	}
	o.rows[key] = &row
	delete(o.past, addr)
}

// own returns the address that key gave back last, of those in the table's pools.
func (o *oracle) own(key vip.Key, v4 bool) (last netip.Addr) {
	for addr, r := range o.past {
		in := slices.ContainsFunc(o.table, func(p allocator.Pool) bool { return p.Prefix.Contains(addr) }) ||
			slices.ContainsFunc(o.pools, func(p netip.Prefix) bool { return p.Contains(addr) })
		if in && addr.Is4() == v4 && r.owner == key && (!last.IsValid() || r.at > o.past[last].at) {
			last = addr
		}
	}
	return last
}

// inPool returns the addresses of a pool that may be given out, in order.
func inPool(p netip.Prefix) (addrs []netip.Addr) {
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		addrs = append(addrs, a)
	}
	if p.Addr().Is4() && p.Bits() <= 30 {
		addrs = addrs[1 : len(addrs)-1]
	}
	return addrs
}

// unused returns the lowest address that nobody ever had, of the first pool
// with one: first of those beyond the pool's cursor.
func (o *oracle) unused(v4 bool) netip.Addr {
	if a := o.unusedFrom(v4, true); a.IsValid() {
		return a
	}
	return o.unusedFrom(v4, false)
}

func (o *oracle) unusedFrom(v4, beyond bool) netip.Addr {
	for _, p := range o.pools {
		for _, a := range inPool(p) {
			if beyond && o.passed(p, a) {
				continue
			}
			_, had := o.past[a]
			if a.Is4() == v4 && !had && !slices.ContainsFunc(slices.Collect(maps.Values(o.rows)), func(r *vip.Row) bool { return r.Has(a) }) {
				return a
			}
		}
	}
	return netip.Addr{}
}

// passed reports whether the cursor of a pool, as the table had it, has passed a.
func (o *oracle) passed(p netip.Prefix, a netip.Addr) bool {
	for _, q := range o.table {
		if q.Prefix == p {
			return !q.Next.IsValid() || a.Less(q.Next)
		}
	}
	return false
}

// rested returns the longest released address whose cooldown is over, of the
// first pool with one.
func (o *oracle) rested(v4 bool, now time.Duration) (best netip.Addr) {
	for _, p := range o.pools {
		for _, a := range inPool(p) {
			r, had := o.past[a]
			if a.Is4() == v4 && had && r.at < now && now-r.at >= o.cooldown && (!best.IsValid() || r.at < o.past[best].at) {
				best = a
			}
		}
		if best.IsValid() {
			return best
		}
	}
	return best
}
