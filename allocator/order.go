package allocator

import (
	"slices"
	"sync"

	"github.com/google/btree"
	"github.com/meshvip/coredns-meshvip/vip"
)

// order has the keys of a table in their order. It is made when somebody first
// asks for a page, for it costs memory and a start does not need it, and then
// follows what changes.
type order struct {
	building sync.Mutex // held while it is made, without the allocator's
	// tree is nil until it is made; since are the keys that changed while it is.
	tree  *btree.BTreeG[vip.Key]
	since map[vip.Key]struct{}
}

func newOrderTree() *btree.BTreeG[vip.Key] {
	return btree.NewG(64, func(a, b vip.Key) bool { return a.Compare(b) < 0 })
}

// follow brings committed changes into the order. The allocator is locked.
func (o *order) follow(rows []RowChange) {
	for _, c := range rows {
		switch {
		case (c.Old == nil) == (c.New == nil):
		case o.since != nil:
			o.since[c.Key] = struct{}{}
		case o.tree == nil:
			return
		case c.New != nil:
			o.tree.ReplaceOrInsert(c.Key)
		default:
			o.tree.Delete(c.Key)
		}
	}
}

// ordered returns with the allocator locked and its order made.
func (a *Allocator) ordered() {
	o := &a.order
	o.building.Lock()
	defer o.building.Unlock()
	a.mu.Lock()
	if o.tree != nil {
		return
	}
	o.since = make(map[vip.Key]struct{})
	keys := make([]vip.Key, 0, len(a.t.rows))
	for key := range a.t.rows {
		keys = append(keys, key)
	}
	a.mu.Unlock()
	// This takes seconds for a million keys, and the table goes on meanwhile.
	slices.SortFunc(keys, vip.Key.Compare)
	tree := newOrderTree()
	for _, key := range keys {
		tree.ReplaceOrInsert(key)
	}
	a.mu.Lock()
	for key := range o.since {
		if a.t.rows[key] != nil {
			tree.ReplaceOrInsert(key)
		} else {
			tree.Delete(key)
		}
	}
	o.tree, o.since = tree, nil
}
