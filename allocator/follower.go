package allocator

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// follower makes a delta of a patch and the table that it follows.
type follower struct {
	t     *table
	p     Patch
	edits map[vip.Key]*patched
	d     Delta
	now   map[vip.Key]*vip.Row // that the patch changes, nil: gone
}

// patched is what a patch says of one entry.
type patched struct {
	row  *RowPatch // nil: its addresses are what they were
	set  []vip.Listing
	drop []string
}

// deltaOf returns a patch as the delta that makes the table the next one, or an
// error that says what in it does not fit the table. It changes nothing.
func (t *table) deltaOf(p Patch) (Delta, error) {
	f := follower{t: t, p: p, edits: make(map[vip.Key]*patched), now: make(map[vip.Key]*vip.Row)}
	for _, step := range []func() error{f.meta, f.collect, f.rows, f.pools, f.meshes, f.addrs} {
		if err := step(); err != nil {
			return Delta{}, err
		}
	}
	return f.d, nil
}

func (f *follower) meta() error {
	was, is := f.t.meta, f.p.Meta
	switch {
	case f.p.Base != was.Revision || is.Revision != was.Revision+1:
		return fmt.Errorf("it is based on %d, and the table is at %d", f.p.Base, was.Revision)
	case is.ID != was.ID:
		return fmt.Errorf("it is of store %q, and the table of %q", is.ID, was.ID)
	case is.Clock < was.Clock || !plausible(is):
		return errors.New("what the table says of itself cannot be")
	}
	f.d.Base, f.d.Meta = f.p.Base, is
	f.d.MeshesNew, f.d.MeshesGone = slices.Sorted(slices.Values(f.p.MeshesNew)), slices.Sorted(slices.Values(f.p.MeshesGone))
	return nil
}

// collect puts together what is said of each entry.
func (f *follower) collect() error {
	of := func(key vip.Key) *patched {
		e := f.edits[key]
		if e == nil {
			e = &patched{}
			f.edits[key] = e
		}
		return e
	}
	for i := range f.p.Rows {
		e := of(f.p.Rows[i].Key)
		if e.row != nil {
			return fmt.Errorf("entry %v stands in it twice", f.p.Rows[i].Key)
		}
		e.row = &f.p.Rows[i]
	}
	for _, l := range f.p.Listings {
		e := of(l.Key)
		if l.Listing == nil {
			e.drop = append(e.drop, l.Mesh)
			continue
		}
		if l.Listing.Mesh != l.Mesh {
			return fmt.Errorf("entry %v in mesh %q is told to be in mesh %q", l.Key, l.Mesh, l.Listing.Mesh)
		}
		e.set = append(e.set, *l.Listing)
	}
	return nil
}

// rows makes the rows.
func (f *follower) rows() error {
	for _, key := range sortedKeys(f.edits) {
		old := f.t.rows[key]
		row, err := f.row(key, old, f.edits[key])
		if err != nil {
			return fmt.Errorf("entry %v: %w", key, err)
		}
		if f.now[key] = row; old == nil || row == nil || !old.Equal(row) {
			f.d.Rows = append(f.d.Rows, RowChange{Key: key, Old: old, New: row})
		}
	}
	return nil
}

// row returns the row of an entry after the patch, nil if it has gone.
func (f *follower) row(key vip.Key, old *vip.Row, e *patched) (*vip.Row, error) {
	slices.SortFunc(e.set, func(a, b vip.Listing) int { return strings.Compare(a.Mesh, b.Mesh) })
	slices.Sort(e.drop)
	base := vip.Row{Entry: vip.Entry(key)}
	switch {
	case old != nil:
		base = *old
	case e.row == nil || e.row.Gone:
		return nil, errors.New("it has no row")
	}
	for _, mesh := range e.drop {
		if _, listed := base.Listing(mesh); !listed {
			return nil, fmt.Errorf("mesh %q does not list it", mesh)
		}
	}
	if e.row != nil {
		base.V4, base.V6 = e.row.V4, e.row.V6
	}
	row := base.With(e.set, e.drop)
	switch gone := e.row != nil && e.row.Gone; {
	case gone && len(row.Listings) > 0:
		return nil, fmt.Errorf("it has gone, and mesh %q lists it", row.Listings[0].Mesh)
	case gone:
		return nil, nil
	case row.Key() != key || !wellFormed(row, f.p.Meta.Pools, f.knows):
		return nil, fmt.Errorf("its row cannot be: %v, listed by %d meshes", row.Addrs(), len(row.Listings))
	}
	return row, nil
}

// pools looks whether everybody has left the pools that go.
func (f *follower) pools() error {
	left := func(addr netip.Addr) bool {
		return !slices.ContainsFunc(f.p.Meta.Pools, func(p Pool) bool { return p.Prefix.Contains(addr) })
	}
	for _, p := range f.t.meta.Pools {
		if slices.ContainsFunc(f.p.Meta.Pools, func(q Pool) bool { return q.Prefix == p.Prefix }) {
			continue
		}
		for addr, holder := range f.t.live { // a pool goes once in its life
			if row, changed := f.now[holder.row.Key()]; left(addr) && (!changed || addrIn(row, addr)) {
				return fmt.Errorf("pool %v has gone, and entry %v has %v", p.Prefix, holder.row.Key(), addr)
			}
		}
	}
	return nil
}

// knows reports whether a mesh has a table after the patch.
func (f *follower) knows(mesh string) bool {
	if _, gone := slices.BinarySearch(f.d.MeshesGone, mesh); gone {
		return false
	}
	_, created := slices.BinarySearch(f.d.MeshesNew, mesh)
	return created || f.t.meshes[mesh] != nil
}

// meshes looks whether the meshes that come were not there, and those that go are
// empty.
func (f *follower) meshes() error {
	for _, mesh := range f.d.MeshesNew {
		if f.t.meshes[mesh] != nil {
			return fmt.Errorf("mesh %q is new, and was there", mesh)
		}
	}
	for _, mesh := range f.d.MeshesGone {
		if f.t.meshes[mesh] == nil {
			return fmt.Errorf("mesh %q has gone, and was not there", mesh)
		}
		for key := range f.t.meshes[mesh] {
			row, changed := f.now[key]
			if !changed {
				return fmt.Errorf("mesh %q has gone, and lists %v", mesh, key)
			}
			if row == nil {
				continue
			}
			if _, lists := row.Listing(mesh); lists {
				return fmt.Errorf("mesh %q has gone, and lists %v", mesh, key)
			}
		}
	}
	return nil
}

// addrs makes the changes of addresses, and holds them against the rows.
func (f *follower) addrs() error {
	after := make(map[netip.Addr]*Holding, len(f.p.Addrs))
	for _, c := range f.p.Addrs {
		if _, twice := after[c.Addr]; twice {
			return fmt.Errorf("address %v stands in it twice", c.Addr)
		}
		after[c.Addr] = c.Holding
		old, err := f.addr(c)
		if err != nil {
			return fmt.Errorf("address %v: %w", c.Addr, err)
		}
		f.d.Addrs = append(f.d.Addrs, AddrChange{Addr: c.Addr, Old: old, New: c.Holding})
	}
	slices.SortFunc(f.d.Addrs, func(a, b AddrChange) int { return a.Addr.Compare(b.Addr) })
	for _, c := range f.d.Rows {
		for _, addr := range addrsOf(c.New) {
			if h := after[addr]; !addrIn(c.Old, addr) && (h == nil || h.Released || h.Owner != c.Key) {
				return fmt.Errorf("entry %v gets %v, which is not told to be its", c.Key, addr)
			}
		}
		for _, addr := range addrsOf(c.Old) {
			_, told := after[addr]
			if _, unreadable := f.t.reserved[addr]; !addrIn(c.New, addr) && !told && !unreadable {
				return fmt.Errorf("entry %v loses %v, and it is not told who has it", c.Key, addr)
			}
		}
	}
	return nil
}

// addr returns who had an address until now, if what is told of it can be.
func (f *follower) addr(c AddrPatch) (old *Holding, err error) {
	holder := f.t.live[c.Addr]
	was, released := f.t.released.byAddr[c.Addr]
	switch {
	case holder.row != nil:
		old = &Holding{Owner: holder.row.Key(), Since: holder.since}
		if row, changed := f.now[old.Owner]; (!changed || addrIn(row, c.Addr)) &&
			(c.Holding == nil || c.Holding.Released || c.Holding.Owner != old.Owner) {
			return nil, fmt.Errorf("entry %v has it", old.Owner)
		}
	case released:
		old = &was
	case c.Holding == nil:
		return nil, errors.New("it is forgotten, and nobody had it")
	}
	switch h := c.Holding; {
	case h == nil:
	case h.Released && h.At > f.p.Meta.Clock:
		return nil, fmt.Errorf("it is released at %v, after the table's clock %v", h.At, f.p.Meta.Clock)
	case !h.Released:
		row, changed := f.now[h.Owner]
		if !changed {
			row = f.t.rows[h.Owner]
		}
		if !addrIn(row, c.Addr) {
			return nil, fmt.Errorf("entry %v is told to have it, and has not", h.Owner)
		}
	}
	return old, nil
}

// addrsOf returns the addresses of a row, none of nil.
func addrsOf(row *vip.Row) []netip.Addr {
	if row == nil {
		return nil
	}
	return row.Addrs()
}

// addrIn reports whether a row, which may be nil, has an address.
func addrIn(row *vip.Row, addr netip.Addr) bool { return row != nil && row.Has(addr) }
