package allocator

import (
	"errors"
	"log/slog"
	"maps"

	"github.com/meshvip/coredns-meshvip/vip"
)

// PlanFor returns the plan of moves that would wait if l were the layout, with
// the name by which it would be confirmed. It changes nothing: it works on a
// copy of the table, which stands still only while it is copied.
func (a *Allocator) PlanFor(l Layout) (Moves, error) {
	if err := l.Check(); err != nil {
		return Moves{}, err
	}
	twin, s, err := a.twin(l)
	if err != nil {
		return Moves{}, err
	}
	twin.t = newTable(s, twin.cfg.Layout)
	// Those who wait come first, as they would.
	p := twin.newPlan(0)
	p.ask(vip.Batch{Incomplete: twin.incomplete}, twin.cfg.MaxRelease)
	if d := p.delta(twin.unix(), s.Meta.Synced); d != nil {
		twin.t.apply(*d)
	}
	return twin.newPlan(len(twin.t.unsettled)).planMoves(), nil
}

// twin returns an allocator with another layout and neither store nor table, and
// the state to make its table of.
func (a *Allocator) twin(l Layout) (*Allocator, State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, State{}, ErrClosed
	case a.broken:
		return nil, State{}, errors.New("the table breaks invariants: let it be repaired first (see verify)")
	}
	cfg := a.cfg
	cfg.Layout, cfg.Logger, cfg.OnCommit = l.clone(), slog.New(slog.DiscardHandler), func(Commit) {}
	twin := &Allocator{
		cfg: cfg, held: maps.Clone(a.held), reasons: a.reasons, incomplete: a.incomplete, base: a.base, start: a.start,
	}
	s := a.t.state(a.damaged)
	s.Meta.Quarantine = standing(s.Meta.Quarantine, a.clock()) // the others end before anything else is done
	return twin, s, nil
}

// state returns what a table is made of, as the store has it.
func (t *table) state(damaged []Damage) State {
	s := State{
		Meta: t.meta, Rows: rowsOf(t, t.rows), Meshes: t.meshNames(), Damaged: damaged,
		Addrs: make([]Held, 0, len(t.live)+len(t.released.byAddr)),
	}
	s.Meta.Pools = t.durable
	for addr, now := range t.live {
		s.Addrs = append(s.Addrs, Held{addr, Holding{Owner: now.row.Key(), Since: now.since}})
	}
	for addr, h := range t.released.byAddr {
		if t.live[addr].row == nil {
			s.Addrs = append(s.Addrs, Held{addr, h})
		}
	}
	return s
}
