package allocator

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// difference returns the transaction that makes one state another.
func difference(was, is State) Delta {
	d := Delta{Base: was.Meta.Revision, Meta: is.Meta}
	d.Meta.Revision = d.Base + 1
	before, after := make(map[vip.Key]*vip.Row, len(was.Rows)), make(map[vip.Key]*vip.Row, len(is.Rows))
	for _, r := range was.Rows {
		if before[r.Key()] == nil {
			before[r.Key()] = r
		}
	}
	for _, r := range is.Rows {
		after[r.Key()] = r
	}
	d.Rows = rowChanges(before, after)
	holdings := make(map[netip.Addr]Holding, len(was.Addrs))
	for _, h := range was.Addrs {
		holdings[h.Addr] = h.Holding
	}
	for _, h := range is.Addrs {
		old, ok := holdings[h.Addr]
		delete(holdings, h.Addr)
		switch {
		case !ok:
			d.Addrs = append(d.Addrs, AddrChange{Addr: h.Addr, New: &h.Holding})
		case !old.is(h.Holding):
			d.Addrs = append(d.Addrs, AddrChange{Addr: h.Addr, Old: &old, New: &h.Holding})
		}
	}
	for addr, old := range holdings {
		d.Addrs = append(d.Addrs, AddrChange{Addr: addr, Old: &old})
	}
	slices.SortFunc(d.Addrs, func(a, b AddrChange) int { return a.Addr.Compare(b.Addr) })
	had, has := setOf(was.Meshes), setOf(is.Meshes)
	d.MeshesNew, d.MeshesGone = without(has, had), without(had, has)
	return d
}

// setOf returns names as a set.
func setOf(names []string) map[string]struct{} {
	set := make(map[string]struct{}, len(names))
	for _, name := range names {
		set[name] = struct{}{}
	}
	return set
}

// without returns the names that are in one set and not in the other, sorted.
func without[V any](these, those map[string]V) []string {
	only := maps.Clone(these)
	maps.DeleteFunc(only, func(name string, _ V) bool {
		_, both := those[name]
		return both
	})
	return sortedNames(only)
}

// rowChanges returns what differs between two sets of rows, by key.
func rowChanges(before, after map[vip.Key]*vip.Row) []RowChange {
	keys := make(map[vip.Key]struct{})
	for key, r := range before {
		if s := after[key]; s == nil || !r.Equal(s) {
			keys[key] = struct{}{}
		}
	}
	for key := range maps.Keys(after) {
		if before[key] == nil {
			keys[key] = struct{}{}
		}
	}
	changes := make([]RowChange, 0, len(keys))
	for _, key := range sortedKeys(keys) {
		changes = append(changes, RowChange{Key: key, Old: before[key], New: after[key]})
	}
	return changes
}
