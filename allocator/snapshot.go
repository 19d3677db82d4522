package allocator

import "context"

// State returns all that the store holds, as one commit left it: for backups. The
// table stands still while it is copied. Of a table that breaks invariants it is
// what the store has, and not what a repair would make of it.
func (a *Allocator) State(ctx context.Context) (State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return State{}, ErrClosed
	}
	if a.broken || a.doubt != nil {
		return a.store.Load(ctx)
	}
	return a.t.state(a.damaged), nil
}
