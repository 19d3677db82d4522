package allocator

import (
	"context"
	"errors"
	"fmt"
)

// allBreaches bounds how many breaches Breaches names before it only counts.
const allBreaches = 10_000

// Verify reads the whole store back, runs [Check] over it, and compares it
// with the table in memory. It returns an error that names the differences, or
// the first of them where they are many.
func (a *Allocator) Verify(ctx context.Context) error {
	s, differences, err := a.readBack(ctx, maxBreaches)
	if err != nil {
		return err
	}
	return errors.Join(append(breaches(s, maxBreaches), differences...)...)
}

// Breaches is Verify that names all it finds, up to 10,000 of each sort, and says
// of which table. The table stands still while the store is read back and
// compared, which takes seconds for a million entries.
func (a *Allocator) Breaches(ctx context.Context) ([]error, Meta, error) {
	s, differences, err := a.readBack(ctx, allBreaches)
	if err != nil {
		return nil, Meta{}, err
	}
	return append(breaches(s, allBreaches), differences...), s.Meta, nil
}

// peeker is a store that others write too. Its Load is the state that commits are
// planned on and followed from; Peek only looks.
type peeker interface {
	Peek(ctx context.Context) (State, error)
}

// readBack returns what the store holds, and where the table in memory differs.
func (a *Allocator) readBack(ctx context.Context, most int) (State, []error, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.settle(ctx); err != nil {
		return State{}, nil, err
	}
	read := a.store.Load
	if p, ok := a.store.(peeker); ok {
		read = p.Peek
	}
	s, err := read(ctx)
	if err != nil {
		return State{}, nil, err
	}
	if a.follows && s.Meta.Revision != a.t.meta.Revision {
		return s, []error{fmt.Errorf("the store is at revision %d, and this replica has followed it to %d: ask again", s.Meta.Revision, a.t.meta.Revision)}, nil
	}
	return s, a.differences(s, most), nil
}

// differences returns where the table in memory is not that of a state.
func (a *Allocator) differences(s State, most int) []error {
	var errs []error
	n := 0
	differ := func(format string, args ...any) {
		if n++; n <= most {
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
		now, live := a.t.live[h.Addr]
		was, released := a.t.released.byAddr[h.Addr]
		switch {
		case live && released, live && (h.Released || now.row.Key() != h.Owner), released && was != h.Holding, !live && !released:
			differ("address %v differs between store and table", h.Addr)
		}
	}
	if n > most {
		errs = append(errs, fmt.Errorf("and %d more differences between store and table", n-most))
	}
	return errs
}
