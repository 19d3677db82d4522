package allocator_test

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// oracle says what a table must be, by the plainest means: it looks at every
// row and at every address of every pool, each time.
//
//	oracle_test.go         what a batch lists, releases and holds
//	oracle_assign_test.go  who gets which address
//	oracle_pools_test.go   what a layout and its pools allow
//	oracle_moves_test.go   what time and the operator do
type oracle struct {
	layout   allocator.Layout
	cooldown time.Duration
	limit    allocator.Limit
	forget   int

	// durable are the pools as they were written last; table are these under
	// the layout, as the step at hand leaves them.
	durable, table []allocator.Pool
	clock          time.Duration // of the last commit
	generation     uint64
	synced         bool
	options        string
	quarantine     []allocator.Quarantine

	rows   map[vip.Key]*vip.Row
	meshes map[string]bool
	// past are the addresses that nobody has, and who had them until when.
	past map[netip.Addr]release
	// given are the addresses that Kuma has given before the step at hand or
	// after it.
	given map[netip.Addr]bool
	// held is what each mesh no longer lists, and keeps.
	held       map[string]holding
	incomplete string
	// served and looked are when those who wait, and what should move, were looked
	// at last.
	served, looked time.Duration
	// planned is what should move, moved what was moved on the operator's word.
	planned itinerary
	moved   []allocator.Move
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
		rows: make(map[vip.Key]*vip.Row), meshes: make(map[string]bool), given: make(map[netip.Addr]bool),
		past: make(map[netip.Addr]release), held: make(map[string]holding),
	}
}

// clone returns a copy that may change.
func (o *oracle) clone() *oracle {
	c := *o
	c.durable, c.table = slices.Clone(o.durable), slices.Clone(o.table)
	c.rows, c.meshes, c.past, c.held = maps.Clone(o.rows), maps.Clone(o.meshes), maps.Clone(o.past), maps.Clone(o.held)
	c.given = maps.Clone(o.given)
	return &c
}

// commit lets change make the next table of this one, at a time of the table's
// clock, and reports whether there is anything to write. What is not written
// leaves no trace.
func (o *oracle) commit(now time.Duration, confirmed bool, change func()) bool {
	o.table = merge(o.durable, o.layout)
	was := o.clone()
	o.given = make(map[netip.Addr]bool)
	o.seeGiven()
	change()
	o.dropPools(was, now, confirmed)
	if sameRows(o.rows, was.rows) && maps.Equal(o.past, was.past) && maps.Equal(o.meshes, was.meshes) &&
		o.synced == was.synced && len(o.table) == len(was.table) && !confirmed {
		o.table = was.table
		return false
	}
	if confirmed {
		o.generation++
	}
	o.clock, o.durable = now, o.table
	return true
}

// seeGiven notes what Kuma gives now.
func (o *oracle) seeGiven() {
	for _, row := range o.rows {
		for _, a := range row.Given() {
			o.given[a] = true
		}
	}
}

// lapse ends the quarantines whose time has come.
func (o *oracle) lapse(t time.Duration) bool {
	now := o.at(t)
	var rest []allocator.Quarantine
	for _, q := range o.quarantine {
		if q.Until > now {
			rest = append(rest, q)
		}
	}
	if len(rest) == len(o.quarantine) {
		return false
	}
	return o.commitAsIs(now, func() { o.quarantine = rest })
}

// quarantined reports whether somebody who is not known may have had addr.
func (o *oracle) quarantined(addr netip.Addr) bool {
	return slices.ContainsFunc(o.quarantine, func(q allocator.Quarantine) bool { return q.Range.Contains(addr) })
}

// at is the table's clock at a time since its start.
func (o *oracle) at(t time.Duration) time.Duration { return max(t, o.clock+1) }

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

// apply makes the table what b asks for.
func (o *oracle) apply(b vip.Batch, t time.Duration) bool {
	now := o.at(t)
	o.served = now
	return o.commit(now, false, func() {
		before := maps.Clone(o.rows)
		o.synced = o.synced || b.Full
		o.list(b)
		o.settle(before, now)
	})
}

// settle releases what nobody lists any more, and gives those who have nothing
// what there is.
func (o *oracle) settle(before map[vip.Key]*vip.Row, now time.Duration) {
	for key, row := range o.rows {
		if len(row.Listings) > 0 && len(row.Given()) == 0 {
			continue
		}
		for _, addr := range row.Addrs() {
			o.release(key, addr, now)
		}
		if len(row.Listings) == 0 {
			delete(o.rows, key)
		}
	}
	o.seeGiven()
	for _, v4 := range []bool{true, false} {
		o.assign(v4, before, now)
	}
}

// list notes what the meshes say in b.
func (o *oracle) list(b vip.Batch) {
	want := o.unwanted(b)
	o.held, o.incomplete = o.mayNotGo(want, b.Incomplete), b.Incomplete
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
			o.rows[r.Entry.Key()] = row.WithListing(vip.Listing{
				Mesh: m.Mesh, Name: r.Entry.Name, Outbounds: r.Outbounds, Terms: r.Terms,
			})
		}
	}
}

// release takes addr from key: it cools down from now on.
func (o *oracle) release(key vip.Key, addr netip.Addr, now time.Duration) {
	row := *o.rows[key]
	if addr.Is4() {
		row.V4 = netip.Addr{}
	} else {
		row.V6 = netip.Addr{}
	}
	o.rows[key], o.past[addr] = &row, release{key, now}
}

// give gives addr to key.
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
