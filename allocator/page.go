package allocator

import (
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Line is a row with what the table knows beside.
type Line struct {
	Row *vip.Row
	// Static are the addresses that the entry is to have by somebody's choice,
	// had or not, v4 first.
	Static []netip.Addr
	// Waits: it lacks an address of a family that there is a pool of.
	Waits bool
}

// Page is a part of the table.
type Page struct {
	Lines []Line
	// More: there are rows after these.
	More bool
	// Total counts the rows of all pages.
	Total int
	Meta  Meta
}

// Page returns the first rows after a key, in the order of their keys: of those
// that mesh lists, or of all where it is empty. ok is false if there is no such
// mesh. The zero Key comes before all rows. The first call makes an order of the
// keys, which takes seconds for a million; then a page costs what it holds, and
// of a small mesh what that lists.
func (a *Allocator) Page(mesh string, after vip.Key, limit int) (p Page, ok bool) {
	a.ordered()
	defer a.mu.Unlock()
	p.Total, p.Meta = len(a.t.rows), a.t.meta
	var keys []vip.Key
	if mesh == "" {
		keys = a.order.after(after, limit+1, nil)
	} else {
		listed, is := a.t.meshes[mesh]
		if !is {
			return Page{}, false
		}
		p.Total = len(listed)
		if len(listed) > len(a.t.rows)/16 {
			keys = a.order.after(after, limit+1, listed)
		} else {
			keys = sortedAfter(listed, after, limit+1)
		}
	}
	if p.More = len(keys) > limit; p.More {
		keys = keys[:limit]
	}
	for _, key := range keys {
		p.Lines = append(p.Lines, a.line(a.t.rows[key]))
	}
	return p, true
}

// line returns a row with what is known beside.
func (a *Allocator) line(row *vip.Row) Line {
	l, key := Line{Row: row}, row.Key()
	for _, v4 := range []bool{true, false} {
		if addr := a.t.static(key, row, v4); addr.IsValid() {
			l.Static = append(l.Static, addr)
		}
		l.Waits = l.Waits || a.t.waiting(v4).has(key)
	}
	return l
}

// after returns the first n keys after a key, of those in a set if that is not
// nil.
func (o *order) after(key vip.Key, n int, among map[vip.Key]struct{}) (keys []vip.Key) {
	o.tree.AscendGreaterOrEqual(key, func(k vip.Key) bool {
		if _, in := among[k]; k != key && (among == nil || in) {
			keys = append(keys, k)
		}
		return len(keys) < n
	})
	return keys
}

// sortedAfter returns the first n keys of a set after a key.
func sortedAfter(set map[vip.Key]struct{}, after vip.Key, n int) []vip.Key {
	keys := make([]vip.Key, 0, len(set))
	for k := range set {
		if k.Compare(after) > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, vip.Key.Compare)
	return keys[:min(n, len(keys))]
}

// MeshCount is a mesh and how many entries it lists.
type MeshCount struct {
	Mesh    string
	Entries int
}

// MeshCounts returns all meshes that have a table, sorted.
func (a *Allocator) MeshCounts() []MeshCount {
	a.mu.Lock()
	defer a.mu.Unlock()
	var counts []MeshCount
	for _, mesh := range a.t.meshNames() {
		counts = append(counts, MeshCount{mesh, len(a.t.meshes[mesh])})
	}
	return counts
}
