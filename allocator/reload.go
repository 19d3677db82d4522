package allocator

import (
	"context"
	"fmt"

	"github.com/meshvip/coredns-meshvip/vip"
)

// readAgain is why an entry has another address than the one that was shown.
const readAgain = "the table was read again from the store"

// Reload makes the table what the store holds, and tells OnCommit of all that
// differs from what was shown. It is for one that cannot follow commit by commit
// any more; one that leads may call it too, after a conflict. If it fails the
// table is what it was. A serial that was shown may be higher than the table's is
// then: who answers queries keeps the higher one.
func (a *Allocator) Reload(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	return a.reload(ctx)
}

func (a *Allocator) reload(ctx context.Context) error {
	state, err := a.store.Load(ctx)
	if err != nil {
		return fmt.Errorf("reading the table again: %w", err)
	}
	if d := a.doubt; d != nil && d.Meta.Revision == state.Meta.Revision && d.Meta.ID == state.Meta.ID {
		d.conclude()
	}
	a.damaged, a.doubt, a.tried, a.half, a.reread = state.Damaged, nil, nil, nil, false
	a.tellDamaged()
	a.show(func() { a.take(state) }, readAgain)
	return nil
}

// show lets take put another table in the place of this one, and tells of what
// differs, and why entries have other addresses. Time goes on where nothing has
// been committed since; else the table knows better how late it is.
func (a *Allocator) show(take func(), why string) {
	was := a.t
	take()
	if a.t.meta.ID != was.meta.ID || a.t.meta.Revision != was.meta.Revision {
		a.base, a.start = a.t.meta.Clock, a.cfg.Running()
	}
	a.unread, a.served, a.wish = true, 0, 0
	a.pruneHeld()
	d := Delta{Rows: rowChanges(was.rows, a.t.rows)}
	for _, c := range d.Rows {
		a.noteLoss(c, why)
	}
	d.MeshesNew, d.MeshesGone = without(a.t.meshes, was.meshes), without(was.meshes, a.t.meshes)
	a.tell(d, 0, why)
}

// pruneHeld forgets held releases of what is not in the table.
func (a *Allocator) pruneHeld() {
	held := make(heldBack, len(a.held))
	for mesh, h := range a.held {
		listed, is := a.t.meshes[mesh]
		if !is {
			continue
		}
		left := &meshHold{gone: h.gone, keys: make(map[vip.Key]struct{})}
		for key := range h.keys {
			if _, lists := listed[key]; lists {
				left.keys[key] = struct{}{}
			}
		}
		if left.gone || len(left.keys) > 0 {
			held[mesh] = left
		}
	}
	a.held = held
}
