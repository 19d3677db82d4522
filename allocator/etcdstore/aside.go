package etcdstore

import (
	"slices"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// aside are the keys of listings that were set aside, or are of an entry that
// was. They are deleted when their entry comes back, with what its meshes say
// then, or when their mesh goes; and not before.
type aside struct {
	byEntry map[vip.Key][]string
	byMesh  map[string][]string
	// due are those to delete, as soon as a transaction has room for them.
	due []string
}

// add notes a key of mesh; entry is the zero Key where that cannot be read.
func (a *aside) add(mesh string, entry vip.Key, key string) {
	if a.byMesh == nil {
		a.byEntry, a.byMesh = make(map[vip.Key][]string), make(map[string][]string)
	}
	a.byMesh[mesh] = append(a.byMesh[mesh], key)
	if entry != (vip.Key{}) {
		a.byEntry[entry] = append(a.byEntry[entry], key)
	}
}

// empty reports whether nothing was set aside.
func (a *aside) empty() bool { return len(a.byMesh) == 0 && len(a.due) == 0 }

// with returns the keys that a delta lets be deleted, and those that are due.
func (a *aside) with(d allocator.Delta) []string {
	if a.empty() {
		return nil
	}
	due := slices.Clone(a.due)
	for _, c := range d.Rows {
		if c.Old == nil {
			due = append(due, a.byEntry[c.Key]...)
		}
	}
	for _, m := range d.MeshesGone {
		due = append(due, a.byMesh[m]...)
	}
	slices.Sort(due)
	return slices.Compact(due)
}

// settle notes that a delta was committed, and wrote some keys.
func (a *aside) settle(d allocator.Delta, wrote []string) {
	if a.empty() {
		return
	}
	a.due = a.with(d)
	for _, c := range d.Rows {
		if c.Old == nil {
			delete(a.byEntry, c.Key)
		}
	}
	for _, m := range d.MeshesGone {
		delete(a.byMesh, m)
	}
	a.written(wrote)
}

// written forgets keys that say something else now, or are gone.
func (a *aside) written(keys []string) {
	if a.empty() {
		return
	}
	for _, key := range keys {
		is := func(k string) bool { return k == key }
		a.due = slices.DeleteFunc(a.due, is)
		for e, list := range a.byEntry {
			if slices.Contains(list, key) {
				a.byEntry[e] = slices.DeleteFunc(slices.Clone(list), is)
			}
		}
		for m, list := range a.byMesh {
			if slices.Contains(list, key) {
				a.byMesh[m] = slices.DeleteFunc(slices.Clone(list), is)
			}
		}
	}
}
