package allocator

import (
	"context"
	"errors"
	"fmt"
)

// Errors of [Allocator.ReleaseHeld].
var (
	// ErrOtherHold: what is to be released is not held, or is another hold by now.
	ErrOtherHold = errors.New("no such hold")
	// ErrIncomplete: the sources cannot be read completely, so that nobody knows
	// what they no longer list.
	ErrIncomplete = errors.New("nothing is released while a source cannot be read completely")
)

// ReleaseHeld lets the holds of the given names go, those and no other, all of
// them or none. What stays held is judged by the next change as it always is.
func (a *Allocator) ReleaseHeld(ctx context.Context, names ...string) (Report, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.mayWrite(ctx); err != nil {
		return Report{}, err
	}
	if a.incomplete != "" {
		return Report{}, fmt.Errorf("%w: %s", ErrIncomplete, a.incomplete)
	}
	meshes, err := a.holdsNamed(names)
	if err != nil {
		return Report{}, err
	}
	for _, mesh := range sortedNames(meshes) {
		a.cfg.Logger.Warn("held releases are let go, as somebody has asked", "mesh", mesh, "entries", len(a.held[mesh].keys))
	}
	p := a.newPlan(0)
	p.letGo(meshes)
	a.expect(p)
	err = a.commit(ctx, p.delta(a.unix(), a.t.meta.Synced), func() {
		a.logHolds(p)
		a.held, a.reasons = p.held, p.reasons
	})
	if err != nil {
		return Report{}, err
	}
	a.note(p)
	a.t.relaid, a.served = false, p.now
	return p.report(), nil
}

// holdsNamed returns the meshes whose holds have the names.
func (a *Allocator) holdsNamed(names []string) (map[string]bool, error) {
	byName := make(map[string]string, len(a.held))
	for mesh, h := range a.held {
		byName[h.name(mesh, sortedKeys(h.keys))] = mesh
	}
	meshes := make(map[string]bool, len(names))
	for _, name := range names {
		mesh, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("hold %.80q: %w: what is held has changed, or has gone; look again", name, ErrOtherHold)
		}
		meshes[mesh] = true
	}
	return meshes, nil
}

// letGo plans to release what is held of some meshes.
func (p *plan) letGo(meshes map[string]bool) {
	defer p.stopReuse()
	held, reasons := make(heldBack), make(map[string]string)
	for mesh, h := range p.held {
		if !meshes[mesh] {
			held[mesh], reasons[mesh] = h, p.reasons[mesh]
			continue
		}
		for key := range h.keys {
			p.edit(key).unlist(mesh)
		}
		if h.gone {
			put(&p.meshesGone, mesh, struct{}{})
		}
	}
	p.held, p.reasons = held, reasons
	for _, e := range p.edits {
		e.merge()
	}
	p.release()
	p.assign()
}
