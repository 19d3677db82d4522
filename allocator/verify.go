package allocator

import (
	"context"
	"errors"
	"fmt"
)

// Verify reads the whole store back, runs [Check] over it, and compares it
// with the table in memory. It returns an error that names every difference.
func (a *Allocator) Verify(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.settle(ctx); err != nil {
		return err
	}
	s, err := a.store.Load(ctx)
	if err != nil {
		return err
	}
	errs := []error{Check(s)}
	differ := func(format string, args ...any) {
		if len(errs) <= maxBreaches {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if s.Meta.Revision != a.t.meta.Revision || s.Meta.Serial != a.t.meta.Serial {
		differ("the store is at revision %d, serial %d; the table at %d, %d",
			s.Meta.Revision, s.Meta.Serial, a.t.meta.Revision, a.t.meta.Serial)
	}
	if len(s.Rows) != len(a.t.rows) || len(s.Meshes) != len(a.t.meshes) {
		differ("the store has %d entries in %d meshes, the table %d in %d",
			len(s.Rows), len(s.Meshes), len(a.t.rows), len(a.t.meshes))
	}
	for _, r := range s.Rows {
		if row := a.t.rows[r.Key()]; row == nil || !row.Equal(r) {
			differ("entry %v differs between store and table", r.Key())
		}
	}
	for _, h := range s.Addrs {
		row, live := a.t.live[h.Addr]
		was, released := a.t.released.byAddr[h.Addr]
		switch {
		case live && released, live && (h.Released || row.Key() != h.Owner), released && was != h.Holding, !live && !released:
			differ("address %v differs between store and table", h.Addr)
		}
	}
	return errors.Join(errs...)
}
