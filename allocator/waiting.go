package allocator

import (
	"net/netip"

	"github.com/google/btree"
	"github.com/meshvip/coredns-meshvip/vip"
)

// waiting are the entries that lack an address of one family, in the order of
// their keys, so that those who come first are found without a look at the
// others.
type waiting struct {
	keys *btree.BTreeG[vip.Key]
	// static are those of them that are to have an address of their own.
	static map[vip.Key]struct{}
	// owed are those of them whose own address has come free again.
	owed map[vip.Key]struct{}
}

func newWaiting() *waiting {
	return &waiting{
		keys:   btree.NewG(32, func(a, b vip.Key) bool { return a.Compare(b) < 0 }),
		static: make(map[vip.Key]struct{}),
		owed:   make(map[vip.Key]struct{}),
	}
}

func (w *waiting) clear() {
	w.keys.Clear(false)
	clear(w.static)
	clear(w.owed)
}

func (w *waiting) len() int { return w.keys.Len() }

func (w *waiting) has(key vip.Key) bool { return w.keys.Len() > 0 && w.keys.Has(key) }

func (w *waiting) drop(key vip.Key) {
	if w.keys.Len() > 0 {
		w.keys.Delete(key)
		delete(w.static, key)
		delete(w.owed, key)
	}
}

// owe notes that the entry of key, if it waits, can have its own address back.
func (w *waiting) owe(key vip.Key) {
	if w.has(key) {
		w.owed[key] = struct{}{}
	}
}

// set notes whether the entry of key waits, and for which address: the zero
// Addr is any.
func (w *waiting) set(key vip.Key, waits bool, static netip.Addr) {
	if !waits {
		w.drop(key)
		return
	}
	w.keys.ReplaceOrInsert(key)
	if static.IsValid() {
		w.static[key] = struct{}{}
	} else {
		delete(w.static, key)
	}
}
