package allocator

import (
	"iter"
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

// split cuts a delta into transactions of at most n rows, each of which leaves
// a sound table. Rows go in the order of their keys, with their addresses; a
// crash between two parts leaves what the next start completes. was is the
// table's meta before the delta.
func (d Delta) split(was Meta, n int) []Delta {
	if len(d.Rows) <= n {
		return []Delta{d}
	}
	// Every address changes with the row that takes it or gives it back.
	byRow := chain(d.Addrs)
	var parts []Delta
	for rows := range slices.Chunk(d.Rows, n) {
		i := len(parts)
		part := Delta{Base: d.Base + uint64(i), Meta: d.Meta, Rows: rows}
		part.Meta.Revision = part.Base + 1
		part.Meta.Serial += uint32(i)
		part.Meta.Clock += time.Duration(i)
		part.Meta.Synced, part.Meta.Generation = was.Synced, was.Generation
		for _, r := range rows {
			for c := range byRow.of(r.Key) {
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

// chained finds the changes of a row's addresses.
type chained struct {
	changes []AddrChange
	last    map[vip.Key]int32 // by row
	before  []int32           // that of the same row before this one, or -1
}

func chain(changes []AddrChange) chained {
	c := chained{changes: changes, last: make(map[vip.Key]int32, len(changes)), before: make([]int32, len(changes))}
	for i, change := range changes {
		c.before[i] = -1
		if last, ok := c.last[change.New.Owner]; ok {
			c.before[i] = last
		}
		c.last[change.New.Owner] = int32(i)
	}
	return c
}

// of yields the changes of row's addresses, in no order that matters.
func (c chained) of(row vip.Key) iter.Seq[AddrChange] {
	return func(yield func(AddrChange) bool) {
		i, ok := c.last[row]
		for ok && i >= 0 && yield(c.changes[i]) {
			i = c.before[i]
		}
	}
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
