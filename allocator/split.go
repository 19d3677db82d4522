package allocator

import (
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// chunkRows is how many rows one transaction changes at most: enough that the
// sync to disk does not count, few enough that memory and the time in which
// nothing else is committed stay small.
// A mesh's part of the store is rewritten by every transaction that has a row of
// it, and a first sync in the order of keys has rows of all meshes: with fewer
// rows it writes several times as much.
const chunkRows = 50_000

// Split cuts a delta into transactions that a store with limits takes, each of
// which leaves a sound table. was is the table's meta before the delta. Allocators
// do it by themselves.
func Split(d Delta, was Meta, l Limits) []Delta { return d.split(was, l, chunkRows) }

// split cuts a delta into transactions of at most n rows that keep to limits, each
// of which leaves a sound table, if no address goes from one entry straight to
// another. Meshes come first, then rows in the order of their keys, each with its
// addresses; what is forgotten, and meshes that go, come last. A crash between two
// parts leaves what the next start completes.
func (d Delta) split(was Meta, l Limits, n int) []Delta {
	if len(d.Rows) <= n && d.fits(l) {
		return []Delta{d}
	}
	c := cutter{limits: l, rows: n, meta: metaCost(d.Meta)}
	c.meta.bytes += len(was.Pools) * keyBytes // those that go are there until the last part
	c.cost = c.meta
	byRow, loose := attach(d)
	for _, m := range d.MeshesNew {
		c.room(keyCost(m))
		c.part.MeshesNew = append(c.part.MeshesNew, m)
	}
	for _, r := range d.Rows {
		c.row(r, byRow[r.Key])
	}
	for _, a := range loose {
		c.room(a.cost())
		c.part.Addrs = append(c.part.Addrs, a)
	}
	for _, m := range d.MeshesGone {
		c.room(keyCost(m))
		c.part.MeshesGone = append(c.part.MeshesGone, m)
	}
	c.flush()
	if len(c.parts) == 0 {
		return []Delta{d}
	}
	number(c.parts, d, was)
	holdCursors(c.parts, was.Pools)
	return c.parts
}

// fits reports whether a store with limits takes d as it is.
func (d Delta) fits(l Limits) bool {
	if l == (Limits{}) {
		return true
	}
	keys, bytes := d.Cost()
	return cost{keys, bytes}.within(l)
}

// attach returns the changes of addresses that go with a row's, and the others.
func attach(d Delta) (byRow map[vip.Key][]AddrChange, loose []AddrChange) {
	byRow = make(map[vip.Key][]AddrChange, len(d.Rows))
	for _, r := range d.Rows {
		byRow[r.Key] = nil
	}
	for _, c := range d.Addrs {
		var owners []vip.Key
		if c.New != nil {
			owners = append(owners, c.New.Owner)
		}
		if c.Old != nil {
			owners = append(owners, c.Old.Owner)
		}
		if len(owners) == 2 && c.New.Released && !c.Old.Released {
			slices.Reverse(owners) // who loses it
		}
		with := slices.IndexFunc(owners, func(key vip.Key) bool {
			_, changes := byRow[key]
			return changes
		})
		if with < 0 {
			loose = append(loose, c)
			continue
		}
		byRow[owners[with]] = append(byRow[owners[with]], c)
	}
	return byRow, loose
}

// number makes of parts transactions that follow each other. What the whole says
// of the table is true after the last.
func number(parts []Delta, d Delta, was Meta) {
	for i := range parts {
		part := &parts[i]
		later := time.Duration(i)
		part.Base, part.Meta = d.Base+uint64(i), d.Meta
		part.Meta.Revision = part.Base + 1
		part.Meta.Clock += later
		if d.Meta.Serial != was.Serial {
			part.Meta.Serial += uint32(i)
		}
		if i < len(parts)-1 {
			part.Meta.Synced, part.Meta.Generation = was.Synced && d.Meta.Synced, was.Generation
		}
		for j, c := range part.Addrs {
			if i > 0 && c.New != nil && c.New.Released && c.New.At == d.Meta.Clock {
				// What a later part releases is reused later, in memory
				// and after a restart alike.
				h := *c.New
				h.At += later
				part.Addrs[j].New = &h
			}
		}
		slices.SortFunc(part.Addrs, func(a, b AddrChange) int { return a.Addr.Compare(b.Addr) })
	}
}

// holdCursors keeps the cursors of each part at the lowest address that a later
// part takes from them, or a crash in between would pass those over until they
// are found as gaps. A pool that the delta drops stays until the last part.
func holdCursors(parts []Delta, was []Pool) {
	pools := withRetired(parts[len(parts)-1].Meta.Pools, was)
	for i := len(parts) - 2; i >= 0; i-- {
		pools = slices.Clone(pools)
		for _, c := range parts[i+1].Addrs {
			if !c.Fresh {
				continue
			}
			j := slices.IndexFunc(pools, func(p Pool) bool { return p.Prefix.Contains(c.Addr) })
			if next := pools[j].Next; next == (netip.Addr{}) || c.Addr.Less(next) {
				pools[j].Next = c.Addr
			}
		}
		parts[i].Meta.Pools = pools
	}
}
