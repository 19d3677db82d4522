package allocator

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// table is the address table in memory. Plans read it; only a delta that has
// been committed changes it. It is not safe for concurrent use.
type table struct {
	meta Meta
	rows map[vip.Key]*vip.Row
	// live are the addresses that rows have.
	live map[netip.Addr]*vip.Row
	// used counts the live addresses of each pool.
	used map[netip.Prefix]int
	// released are the addresses that their owner has given back, or whose
	// row could not be read.
	released *released
	// meshes are the keys that each mesh lists.
	meshes map[string]map[vip.Key]struct{}
	// listed counts the entries of all meshes: one that two list counts twice.
	listed int
	// waiting4 and waiting6 are the entries that lack an address of a family
	// for which there is a pool.
	waiting4, waiting6 map[vip.Key]struct{}
	// reserved are addresses whose holder could not be read: nobody gets them.
	reserved map[netip.Addr]struct{}
	// aside: some address was never released, and yet has no row, for that
	// could not be read.
	aside bool
	// otherPools: the pools have changed since the last delta.
	otherPools bool
}

// newTable builds the table of a state, with the pools of its meta. It is of use
// only if Check finds the state sound.
func newTable(s State) *table {
	t := &table{
		meta:     s.Meta,
		rows:     make(map[vip.Key]*vip.Row, len(s.Rows)),
		live:     make(map[netip.Addr]*vip.Row, len(s.Addrs)),
		used:     make(map[netip.Prefix]int),
		released: newReleased(s.Meta.Pools),
		meshes:   make(map[string]map[vip.Key]struct{}, len(s.Meshes)),
		waiting4: make(map[vip.Key]struct{}),
		waiting6: make(map[vip.Key]struct{}),
		reserved: make(map[netip.Addr]struct{}),
	}
	for _, m := range s.Meshes {
		t.meshes[m] = make(map[vip.Key]struct{})
	}
	for _, r := range s.Rows {
		for _, l := range r.Listings {
			if t.meshes[l.Mesh] == nil { // Check will say so
				t.meshes[l.Mesh] = make(map[vip.Key]struct{})
			}
		}
		t.setRow(r.Key(), nil, r)
	}
	for _, d := range s.Damaged {
		if d.Addr.IsValid() {
			t.reserved[d.Addr] = struct{}{}
		}
	}
	lone := slices.DeleteFunc(slices.Clone(s.Addrs), func(h Held) bool { return t.live[h.Addr] != nil })
	t.aside = slices.ContainsFunc(lone, func(h Held) bool { return !h.Released })
	t.queue(lone)
	return t
}

// queue fills the released addresses, in the order in which they are reused.
func (t *table) queue(held []Held) {
	t.released = newReleased(t.meta.Pools)
	slices.SortFunc(held, compareReleased)
	for _, h := range held {
		t.released.add(h)
	}
}

// setPools gives the table other pools. Retired ones in which nobody has an
// address are dropped.
func (t *table) setPools(pools []Pool) {
	t.meta.Pools = pools
	t.otherPools = true
	clear(t.used)
	clear(t.waiting4)
	clear(t.waiting6)
	for key, r := range t.rows {
		for _, a := range r.Addrs() {
			t.count(a, 1)
		}
		t.wait(key, r)
	}
	for a, h := range t.released.byAddr {
		if !h.Released {
			t.count(a, 1) // its row is set aside, and may come back
		}
	}
	t.dropRetired()
	t.requeue()
}

// dropRetired drops the retired pools in which nobody has an address.
func (t *table) dropRetired() {
	t.meta.Pools = slices.DeleteFunc(slices.Clone(t.meta.Pools), func(p Pool) bool { return p.Retired && t.used[p.Prefix] == 0 })
}

// requeue puts the released addresses into the queues of the pools as they are
// now.
func (t *table) requeue() {
	held := make([]Held, 0, len(t.released.byAddr))
	for a, h := range t.released.byAddr {
		held = append(held, Held{a, h})
	}
	t.queue(held)
}

// apply changes the table by a delta that is durable.
func (t *table) apply(d Delta) {
	for _, m := range d.MeshesNew {
		t.meshes[m] = make(map[vip.Key]struct{})
	}
	for _, c := range d.Addrs {
		if c.Old != nil && (c.Old.Released || t.live[c.Addr] == nil) {
			t.released.remove(c.Addr)
			if !c.Old.Released {
				t.count(c.Addr, -1) // the row counts it from now on
			}
		}
		if c.New.Released {
			t.released.add(Held{c.Addr, *c.New})
		}
	}
	for _, c := range d.Rows {
		t.setRow(c.Key, c.Old, c.New)
	}
	for _, m := range d.MeshesGone {
		delete(t.meshes, m)
	}
	t.meta = d.Meta
	t.otherPools = false
	for _, p := range t.meta.Pools {
		if p.Retired && t.used[p.Prefix] == 0 {
			t.dropRetired()
			t.requeue()
			return
		}
	}
}

// setRow replaces old by row in every index; either may be nil.
func (t *table) setRow(key vip.Key, old, row *vip.Row) {
	if old != nil {
		for _, a := range old.Addrs() {
			if t.live[a] == old {
				delete(t.live, a)
				t.count(a, -1)
			}
		}
		for _, l := range old.Listings {
			if row == nil {
				delete(t.meshes[l.Mesh], key)
			} else if _, still := row.Listing(l.Mesh); !still {
				delete(t.meshes[l.Mesh], key)
			}
		}
	}
	if old != nil {
		t.listed -= len(old.Listings)
	}
	delete(t.waiting4, key)
	delete(t.waiting6, key)
	if row == nil {
		delete(t.rows, key)
		return
	}
	t.rows[key] = row
	t.listed += len(row.Listings)
	for _, a := range row.Addrs() {
		t.live[a] = row
		t.count(a, 1)
	}
	for _, l := range row.Listings {
		t.meshes[l.Mesh][key] = struct{}{}
	}
	t.wait(key, row)
}

// wait notes for which families row waits for an address.
func (t *table) wait(key vip.Key, row *vip.Row) {
	v4, v6 := families(t.meta.Pools)
	if v4 && !row.V4.IsValid() {
		t.waiting4[key] = struct{}{}
	}
	if v6 && !row.V6.IsValid() {
		t.waiting6[key] = struct{}{}
	}
}

// count adds n to the use of the pool that addr lies in.
func (t *table) count(addr netip.Addr, n int) {
	for _, p := range t.meta.Pools {
		if p.Prefix.Contains(addr) {
			t.used[p.Prefix] += n
			return
		}
	}
}

// cooling reports whether some address was released after the given time of
// the table's clock.
func (t *table) cooling(since time.Duration) bool {
	for _, p := range t.meta.Pools {
		if at, ok := t.released.latest(p.Prefix); ok && at > since {
			return true
		}
	}
	return false
}

// waiting returns the entries that lack an address of the family.
func (t *table) waiting(v4 bool) map[vip.Key]struct{} {
	if v4 {
		return t.waiting4
	}
	return t.waiting6
}

// families reports for which families some pool gives addresses.
func families(pools []Pool) (v4, v6 bool) {
	for _, p := range pools {
		if !p.Retired {
			v4 = v4 || p.Prefix.Addr().Is4()
			v6 = v6 || p.Prefix.Addr().Is6()
		}
	}
	return v4, v6
}

// rowsOf returns the rows of a set of keys, in no order. The caller sorts them,
// when the table need not be still any more.
func rowsOf[V any](t *table, keys map[vip.Key]V) []*vip.Row {
	rows := make([]*vip.Row, 0, len(keys))
	for k := range keys {
		rows = append(rows, t.rows[k])
	}
	return rows
}

// sortRows sorts rows by key, and returns them.
func sortRows(rows []*vip.Row) []*vip.Row {
	slices.SortFunc(rows, func(a, b *vip.Row) int { return a.Key().Compare(b.Key()) })
	return rows
}

// sortedKeys returns the keys of a map in the order of allocation.
func sortedKeys[V any](m map[vip.Key]V) []vip.Key {
	keys := make([]vip.Key, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, vip.Key.Compare)
	return keys
}

// meshNames returns the names of all meshes, sorted.
func (t *table) meshNames() []string {
	names := make([]string, 0, len(t.meshes))
	for m := range t.meshes {
		names = append(names, m)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
