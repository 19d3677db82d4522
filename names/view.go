package names

import (
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/meshvip/coredns-meshvip/vip"
)

// View is what a server block shows of an index: the entries that one of its
// meshes lists, each at the names and addresses that it has here. It counts for itself which names and prefixes have something
// below them. Its query methods may be called by any number of goroutines.
type View struct {
	x      *Index
	id     string
	meshes []string // sorted; nil: all
	refs   int      // guarded by x.mu

	// Who stands in for entries that the view hides; nil in a view of all. turn
	// changes whenever records go from here to the index's own or back: a reader
	// that found none in both, while it did, looks again.
	hosts  *standIns[string]
	guests *standIns[netip.Addr]
	turn   atomic.Uint64

	relative, absolute *tally[string] // shown names below a name
	blocks             blocks         // shown addresses below a prefix
	// displaced counts what relative counts too much in a zone: names that an
	// absolute name takes there. What is shown of those, absolute counts.
	displaced *tally[overlap]
}

// View returns the view of a set of meshes; nil or empty is all of them. Equal
// sets share one view. The first of a set is built by a scan, which holds up
// the writer and no query. Each call wants one [View.Close].
func (x *Index) View(meshes []string) *View {
	x.mu.Lock()
	defer x.mu.Unlock()
	v := &View{x: x}
	if len(meshes) > 0 {
		v.meshes = slices.Compact(slices.Sorted(slices.Values(meshes)))
		v.id = "\x00" + strings.Join(v.meshes, "\x00")
		v.hosts, v.guests = newStandIns[string](), newStandIns[netip.Addr]()
	}
	if shared := x.views[v.id]; shared != nil {
		shared.refs++
		return shared
	}
	v.refs = 1
	v.relative, v.absolute = newTally[string](), newTally[string]()
	v.blocks, v.displaced = newBlocks(), newTally[overlap]()
	var buf [2]string
	add := func(r *Record) {
		for _, name := range r.names(buf[:0]) {
			v.addName(name, 1)
		}
	}
	x.addrs.each(func(addr netip.Addr, r *Record) {
		if v.shows(r.Row) {
			v.blocks.add(addr, 1)
			if x.home(r) == addr {
				add(r)
			}
		}
	})
	x.hidden(func(r *Record) {
		if v.shows(r.Row) {
			add(r)
		}
	})
	if v.meshes != nil {
		v.standIn()
	}
	for o, s := range x.clashes(x.zones.Load()) {
		v.displace(o, sides{}, s)
	}
	x.views[v.id] = v
	return v
}

// Close gives the view back. After the last one the view no longer follows the
// index in what it counts and in who stands in for entries that it hides: queries
// under way may be mistaken about [Empty], or see of the latter how it was.
func (v *View) Close() {
	v.x.mu.Lock()
	defer v.x.mu.Unlock()
	if v.refs--; v.refs == 0 {
		delete(v.x.views, v.id)
	}
}

// Shows reports whether mesh is one of the view's meshes: what it says of an
// entry is then shown.
func (v *View) Shows(mesh string) bool {
	if v.meshes == nil {
		return true
	}
	_, ok := slices.BinarySearch(v.meshes, mesh)
	return ok
}

// shows reports whether one of the view's meshes lists row.
func (v *View) shows(row *vip.Row) bool {
	if v.meshes == nil {
		return true
	}
	if len(v.meshes) < len(row.Listings) {
		for _, mesh := range v.meshes {
			if _, ok := row.Listing(mesh); ok {
				return true
			}
		}
		return false
	}
	for i := range row.Listings {
		if _, ok := slices.BinarySearch(v.meshes, row.Listings[i].Mesh); ok {
			return true
		}
	}
	return false
}

// showsRecord is shows for a record that may be nil.
func (v *View) showsRecord(r *Record) bool { return r != nil && v.shows(r.Row) }

// count brings the counts up to a change: what comes into sight (n = 1), or
// what goes out of it (n = -1).
func (v *View) count(names []nameMove, addrs []addrMove, n int32) {
	turns := func(old, new *Record) bool {
		was, is := v.showsRecord(old), v.showsRecord(new)
		return was != is && is == (n > 0)
	}
	for _, m := range names {
		if turns(m.old, m.new) {
			v.addName(m.name, n)
		}
	}
	for _, m := range addrs {
		if turns(m.old, m.new) {
			v.blocks.add(m.addr, n)
		}
	}
}

func (v *View) addName(name string, n int32) {
	t := v.relative
	if isAbsolute(name) {
		t = v.absolute
	}
	above(name, func(ancestor string) { t.add(ancestor, n) })
}

// displace counts a relative name that is not answered in a zone.
func (v *View) displace(o overlap, was, is sides) {
	before, after := v.displaces(was), v.displaces(is)
	if before == after {
		return
	}
	n := int32(1)
	if before {
		n = -1
	}
	rel, _ := relative(o.name, o.zone)
	above(rel, func(ancestor string) { v.displaced.add(overlap{ancestor, o.zone}, n) })
}

func (v *View) displaces(s sides) bool { return s.clash() && v.showsRecord(s.relative) }
