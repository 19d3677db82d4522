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
const chunkRows = 10_000

// split cuts a delta into transactions of at most n rows, each of which leaves
// a sound table. Rows go in the order of their keys, with their addresses; a
// crash between two parts leaves what the next start completes. was is the
// table's meta before the delta.
func (d Delta) split(was Meta, n int) []Delta {
	if len(d.Rows) <= n {
		return []Delta{d}
	}
	// Every address changes with the row that takes it or gives it back.
	byRow := make(map[vip.Key][]AddrChange, len(d.Rows))
	for _, c := range d.Addrs {
		byRow[c.New.Owner] = append(byRow[c.New.Owner], c)
	}
	var parts []Delta
	for rows := range slices.Chunk(d.Rows, n) {
		i := len(parts)
		part := Delta{Base: d.Base + uint64(i), Meta: d.Meta, Rows: rows}
		part.Meta.Revision = part.Base + 1
		part.Meta.Serial += uint32(i)
		part.Meta.Clock += time.Duration(i)
		part.Meta.Synced, part.Meta.Generation = was.Synced, was.Generation
		for _, r := range rows {
			for _, c := range byRow[r.Key] {
				if c.New.Released {
					// What a later part releases is reused later, in memory
					// and after a restart alike.
					h := *c.New
					h.At += time.Duration(i)
					c.New = &h
				}
				part.Addrs = append(part.Addrs, c)
			}
		}
		slices.SortFunc(part.Addrs, func(a, b AddrChange) int { return a.Addr.Compare(b.Addr) })
		parts = append(parts, part)
	}
	// Meshes are there before the first listing, and go after the last.
	last := len(parts) - 1
	parts[0].MeshesNew = d.MeshesNew
	parts[last].MeshesGone = d.MeshesGone
	parts[last].Meta.Synced, parts[last].Meta.Generation = d.Meta.Synced, d.Meta.Generation
	holdCursors(parts, was.Pools)
	return parts
}

// holdCursors keeps the cursors of each part at the lowest address that a later
// part takes from them, or a crash in between would pass those over until they
// are found as gaps. A pool that the delta drops stays until the last part.
func holdCursors(parts []Delta, was []Pool) {
	pools := slices.Clone(parts[len(parts)-1].Meta.Pools)
	for _, p := range was {
		if p.Retired && !slices.ContainsFunc(pools, func(q Pool) bool { return q.Prefix == p.Prefix }) {
			pools = append(pools, p)
		}
	}
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
