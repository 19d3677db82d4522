package allocator

import (
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// table is the address table in memory. Plans read it; only a delta that has
// been committed changes it. It is not safe for concurrent use.
type table struct {
	meta Meta
	rows map[vip.Key]*vip.Row
	// ordered are the rows in the order of the store, until the first change:
	// to go through a million of them in any other takes seconds.
	ordered []*vip.Row
	// live are the addresses that the table gave to rows.
	live map[netip.Addr]tenure
	// given counts the rows that Kuma gave an address to.
	given map[netip.Addr]int
	// ungiven are those that some row no longer has, of the delta at hand.
	ungiven []netip.Addr
	// inParts: the delta at hand is a part of one, so that the pools' cursors are
	// held back. later are the addresses that have come free in it.
	inParts bool
	later   []netip.Addr
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
	waiting4, waiting6 *waiting
	// unsettled are the rows that have an address which they should not: see
	// misplaced. It says nothing of whether they can have another.
	unsettled map[vip.Key]struct{}
	// wanting are those of them that should be at a static address: whether it
	// is free depends on others.
	wanting map[vip.Key]struct{}
	// stirred: something came to unsettled, or left it.
	stirred bool
	// frozen are the rows that share an address with another, in a table that
	// is not to be repaired: they are shown, and own nothing.
	frozen map[vip.Key]struct{}
	// reserved are addresses whose holder could not be read: nobody gets them.
	reserved map[netip.Addr]struct{}
	// aside: some address was never released, and yet has no row, for that
	// could not be read.
	aside bool

	// durable are the pools as the store has them: a layout is held against
	// these, so that one which was never written leaves no trace.
	durable []Pool
	// layout is the one that the table was given last.
	layout Layout
	// What it says: spaces are in the order of meta.Pools.
	spaces   []space
	statics  map[vip.Key][2]netip.Addr // v4, v6
	staticOf map[netip.Addr]vip.Key
	// relaid: the layout has changed since those who wait were looked at.
	relaid bool
}

// tenure is who has an address, and since when (see Holding.Since).
type tenure struct {
	row   *vip.Row
	since int64
}

// newTable builds the table of a state under a layout. It is of use only if
// Check finds the state sound.
func newTable(s State, l Layout) *table {
	t, _ := buildTable(s)
	t.lay(l)
	return t
}

// lay gives the table the pools of a layout.
func (t *table) lay(l Layout) { t.setPools(mergePools(t.durable, l), l) }

// setPools gives the table other pools, under a layout.
func (t *table) setPools(pools []Pool, l Layout) {
	t.meta.Pools, t.relaid, t.layout = pools, true, l
	t.spaces = newSpaces(pools, l, t.meta.Quarantine)
	t.setStatics(l.Statics)
	clear(t.used)
	for addr := range t.live {
		t.count(addr, 1)
	}
	t.released.queue(t)
	for addr, h := range t.released.byAddr {
		if !h.Released {
			t.count(addr, 1) // its row is set aside, and may come back
		}
	}
	t.findGaps()
	t.waiting4.clear()
	t.waiting6.clear()
	clear(t.unsettled)
	clear(t.wanting)
	if t.ordered != nil { // in the order in which they lie in memory
		for _, r := range t.ordered {
			t.place(r.Key(), r)
		}
		return
	}
	for key, r := range t.rows {
		t.place(key, r)
	}
}

// apply changes the table by a delta that is durable.
func (t *table) apply(d Delta) {
	for _, m := range d.MeshesNew {
		t.meshes[m] = make(map[vip.Key]struct{})
	}
	var free []netip.Addr // forgotten, or given by Kuma no more
	for _, c := range d.Addrs {
		if c.Old != nil && (c.Old.Released || t.live[c.Addr].row == nil) {
			t.released.remove(t, c.Addr)
			if !c.Old.Released {
				t.count(c.Addr, -1) // the row counts it from now on
			}
		}
		i := t.spaceAt(c.Addr)
		switch {
		case c.New == nil:
			free = append(free, c.Addr)
		case c.New.Released:
			t.released.note(Held{c.Addr, *c.New})
			t.released.enqueue(t, Held{c.Addr, *c.New})
		}
		if c.Old == nil && i >= 0 {
			t.spaces[i].fill(c.Addr)
		}
	}
	for _, c := range d.Rows {
		t.setRow(c.Key, c.Old, c.New)
	}
	for _, c := range d.Addrs {
		if now := t.live[c.Addr]; now.row != nil && c.New != nil {
			t.live[c.Addr] = tenure{now.row, c.New.Since}
		}
	}
	for _, m := range d.MeshesGone {
		delete(t.meshes, m)
	}
	was, quarantined := t.meta.Pools, t.meta.Quarantine
	t.meta, t.durable = d.Meta, d.Meta.Pools
	if len(was) != len(t.meta.Pools) { // a retired one was dropped
		t.spaces = slices.DeleteFunc(t.spaces, func(s space) bool {
			return !slices.ContainsFunc(t.meta.Pools, func(p Pool) bool { return p.Prefix == s.prefix })
		})
		t.released.queue(t)
	}
	if !slices.Equal(quarantined, t.meta.Quarantine) { // once, when a range comes free
		t.ungiven = nil
		t.setPools(t.meta.Pools, t.layout)
		return
	}
	free = append(free, t.ungiven...)
	if t.ungiven = nil; t.inParts {
		t.later = append(t.later, free...)
		return
	}
	t.reopen(free)
}

// whole says that the delta which the last ones were parts of has come to its end.
func (t *table) whole() {
	free := t.later
	t.inParts, t.later = false, nil
	t.reopen(free)
}

// setRow replaces old by row in every index; either may be nil.
func (t *table) setRow(key vip.Key, old, row *vip.Row) {
	t.ordered = nil
	_, frozen := t.frozen[key]
	if old != nil {
		for _, a := range old.Addrs() {
			if t.live[a].row == old && (row == nil || !row.Has(a)) {
				delete(t.live, a)
				t.count(a, -1)
			}
		}
		t.unlist(key, old, row)
	}
	if row == nil {
		delete(t.rows, key)
		delete(t.frozen, key)
		t.waiting4.drop(key)
		t.waiting6.drop(key)
		t.settle(key)
		return
	}
	t.rows[key] = row
	for _, a := range row.Addrs() {
		if frozen {
			continue
		}
		was, had := t.live[a]
		if t.live[a] = (tenure{row, was.since}); !had {
			t.count(a, 1)
		}
	}
	t.list(key, row)
	t.place(key, row)
	for _, a := range row.Given() {
		if holder := t.live[a].row; holder != nil {
			t.place(holder.Key(), holder)
		}
	}
}

// list notes who lists the row, and what Kuma gave it.
func (t *table) list(key vip.Key, row *vip.Row) {
	t.listed += len(row.Listings)
	for _, l := range row.Listings {
		t.meshes[l.Mesh][key] = struct{}{}
	}
	for _, a := range row.Given() {
		t.given[a]++
	}
}

// unlist takes back what list noted of old. row is what comes in its place, or
// nil.
func (t *table) unlist(key vip.Key, old, row *vip.Row) {
	t.listed -= len(old.Listings)
	for _, l := range old.Listings {
		if row != nil {
			if _, still := row.Listing(l.Mesh); still {
				continue
			}
		}
		delete(t.meshes[l.Mesh], key)
	}
	for _, a := range old.Given() {
		if t.given[a]--; t.given[a] > 0 {
			continue
		}
		delete(t.given, a)
		t.ungiven = append(t.ungiven, a)
		if holder := t.live[a].row; holder != nil {
			t.place(holder.Key(), holder)
		}
	}
}

// place notes what a row lacks, and what it should not have.
func (t *table) place(key vip.Key, row *vip.Row) {
	v4, v6 := families(t.meta.Pools)
	_, frozen := t.frozen[key]
	t.waiting4.set(key, v4 && lacks(row, true) && !frozen, t.static(key, row, true))
	t.waiting6.set(key, v6 && lacks(row, false) && !frozen, t.static(key, row, false))
	t.settle(key)
	for _, addr := range row.Addrs() {
		if frozen || t.misplaced(key, row, addr) == "" {
			continue
		}
		t.unsettled[key], t.stirred = struct{}{}, true
		if want := t.static(key, row, addr.Is4()); want.IsValid() && want != addr {
			t.wanting[key] = struct{}{}
		}
	}
}

// settle notes that the entry of key is where it should be, or is no more.
func (t *table) settle(key vip.Key) {
	if _, ok := t.unsettled[key]; ok {
		t.stirred = true
		delete(t.unsettled, key)
		delete(t.wanting, key)
	}
}

// count adds n to the use of the pool that addr lies in.
func (t *table) count(addr netip.Addr, n int) {
	if s := t.spaceOf(addr); s != nil {
		t.used[s.prefix] += n
	}
}

// cooling reports whether some address was released after the given time of
// the table's clock, or is quarantined: the clock is to be durable then.
func (t *table) cooling(since time.Duration) bool {
	if len(t.meta.Quarantine) > 0 {
		return true
	}
	for _, s := range t.spaces {
		if at, ok := t.released.latest(s.prefix); ok && at > since {
			return true
		}
	}
	return t.released.loneAt > max(since, 0)
}

// waiting returns the entries that lack an address of the family.
func (t *table) waiting(v4 bool) *waiting {
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

// lacks reports whether a row has no address of the family and is to have one:
// what Kuma gave addresses to gets none from us.
func lacks(row *vip.Row, v4 bool) bool {
	return !hasFamily(row, v4) && len(row.Given()) == 0 && !row.Follows()
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
func (t *table) meshNames() []string { return sortedNames(t.meshes) }

// sortedNames returns the keys of a map, sorted.
func sortedNames[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// put sets a value of a map that is made when it has its first: most plans need
// few of theirs.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}
