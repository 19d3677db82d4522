package allocator

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

const (
	// rememberAtLeast is how many past owners are remembered in a small table.
	rememberAtLeast = 100_000
	// forgetMost bounds how many are forgotten in one transaction.
	forgetMost = 10_000
	// toldMoves bounds how many moves of a plan are logged one by one.
	toldMoves = 100
)

// Due returns after how long something falls due by itself that [Allocator.Tick]
// does: an entry that waits can be served, or moves are to be looked at; ok is
// false if nothing does. It is a lower bound, at least 0.
func (a *Allocator) Due() (d time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unread {
		return 0, true
	}
	now := a.clock()
	soonest := func(at time.Duration) {
		if left := max(at+a.cfg.Cooldown-now, 0); !ok || left < d {
			d, ok = left, true
		}
	}
	for _, v4 := range []bool{true, false} {
		w := a.t.waiting(v4)
		for key := range w.static {
			h, had := a.t.released.byAddr[a.t.static(key, a.t.rows[key], v4)]
			if had && h.Released {
				soonest(h.At)
			}
		}
		if w.len() == len(w.static) {
			continue
		}
		for _, s := range a.t.spaces {
			if s.closed || s.prefix.Addr().Is4() != v4 {
				continue
			}
			for addr, h := range a.t.released.available(s.prefix, now) {
				if a.t.given[addr] == 0 {
					soonest(h.At)
					break
				}
			}
		}
	}
	return d, ok
}

// move looks at the rows that are not where they should be, tells what would
// move, and moves it where that is confirmed.
func (a *Allocator) move(ctx context.Context) error {
	for a.unread {
		p := a.newPlan(len(a.t.unsettled))
		m := p.planMoves()
		if m.Name == "" || m.Name != a.cfg.Confirm {
			a.note(p)
			a.tellMoves(m)
			a.moves, a.unread = m, false
			a.t.stirred = false
			return nil
		}
		p.confirmed = true
		a.expect(p)
		a.cfg.Logger.Warn("the confirmed plan of moves is carried out", "plan", m.Name, "moves", len(m.List))
		if err := a.commit(ctx, p.delta(a.unix(), a.t.meta.Synced), func() {}); err != nil {
			return err
		}
		a.note(p)
	}
	return nil
}

// tellMoves tells of a plan of moves that waits, if it is another than the last.
func (a *Allocator) tellMoves(m Moves) {
	log := a.cfg.Logger
	switch {
	case m.Name == "" && a.moves.Name != "":
		log.Info("no move waits for its confirmation any more", "plan", a.moves.Name)
	case m.Name != a.moves.Name:
		log.Warn("entries are not where the configuration would have them; nothing is moved until the plan is confirmed:"+
			" put the line \"confirm "+m.Name+"\" into the meshvip of the Corefile, and reload",
			"plan", m.Name, "moves", len(m.List))
		for _, move := range m.List[:min(len(m.List), toldMoves)] {
			log.Warn("would move", "plan", m.Name, "entry", move.Key.String(), "from", move.From, "to", move.To, "why", move.Why)
		}
		if n := len(m.List) - toldMoves; n > 0 {
			log.Warn("would move more", "plan", m.Name, "moves", n)
		}
	}
	if n := len(m.Stuck); n > 0 && n != len(a.moves.Stuck) {
		log.Warn("entries should move, and the pools have no address for them: add a pool", "entries", n, "first", m.Stuck[0].Key.String())
	}
	if told := a.cfg.Confirm + " " + m.Name; m.Name != "" && a.cfg.Confirm != "" && a.stale != told {
		if gen, _, _ := strings.Cut(a.cfg.Confirm, "-"); gen >= strconv.FormatUint(a.t.meta.Generation, 10) {
			log.Warn("confirm names another plan than the one that waits, and is not followed", "confirm", a.cfg.Confirm, "plan", m.Name)
		}
		a.stale = told
	}
}

// Moves returns the plan of moves that waits for its confirmation.
func (a *Allocator) Moves() Moves {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.moves
}

// expect notes why the rows of a plan move, until they have.
func (a *Allocator) expect(p *plan) {
	for _, m := range p.moves {
		a.whys[seat{m.Key, m.From.Is4()}] = m
	}
}

// moved returns which entries get another address by a delta, and logs each.
func (a *Allocator) moved(d Delta) []Move {
	var moves []Move
	for _, c := range d.Rows {
		for _, v4 := range []bool{true, false} {
			m, expected := a.whys[seat{c.Key, v4}]
			if c.New == nil {
				delete(a.whys, seat{c.Key, v4})
				continue
			}
			if c.Old != nil && hasFamily(c.Old, v4) {
				m.From = addrOf(c.Old, v4)
			}
			if m.To = addrOf(c.New, v4); !m.To.IsValid() && len(c.New.Given()) > 0 {
				m.To = c.New.Given()[0]
			}
			if !m.From.IsValid() || !m.To.IsValid() || m.From == m.To {
				continue
			}
			m.Key = c.Key
			if expected {
				delete(a.whys, seat{c.Key, v4})
			}
			a.cfg.Logger.Warn("moved", "entry", m.Key.String(), "from", m.From, "to", m.To, "why", m.Why)
			moves = append(moves, m)
		}
	}
	return moves
}

// note keeps and tells what became of static addresses.
func (a *Allocator) note(p *plan) {
	for s, why := range p.notes {
		if why == "" {
			continue
		}
		if a.notes[s] != why {
			a.cfg.Logger.Error("an entry does not have its static address", "entry", s.key.String(), "reason", why)
		}
		a.notes[s] = why
	}
	for s := range a.notes {
		row := a.t.rows[s.key]
		if row == nil || p.notes[s] == "" && a.settledStatic(s, row) {
			delete(a.notes, s)
		}
	}
}

// settledStatic reports whether the entry has its static address, or is to have
// none.
func (a *Allocator) settledStatic(s seat, row *vip.Row) bool {
	want := a.t.static(s.key, row, s.v4)
	return !want.IsValid() || want == addrOf(row, s.v4)
}

// forget lets go of who had an address long ago: of past owners the table keeps
// as many as it has entries, or Config.Forget, whichever is more.
func (a *Allocator) forget(ctx context.Context) error {
	keep := max(a.cfg.Forget, len(a.t.rows))
	if len(a.t.released.byAddr) <= keep {
		return nil
	}
	old := a.t.released.past(a.clock() - a.cfg.Cooldown)
	n := min(len(old)-keep, forgetMost)
	if n <= 0 {
		return nil
	}
	d := a.metaDelta()
	for _, h := range old[:n] {
		d.Addrs = append(d.Addrs, AddrChange{Addr: h.Addr, Old: &h.Holding})
	}
	slices.SortFunc(d.Addrs, func(a, b AddrChange) int { return a.Addr.Compare(b.Addr) })
	if err := a.commit(ctx, d, func() {}); err != nil {
		return fmt.Errorf("forgetting %d past owners: %w", n, err)
	}
	return nil
}

// past returns the addresses that were released at or before the given time of
// the table's clock, the longest released first.
func (r *released) past(before time.Duration) []Held {
	var old []Held
	for prefix := range maps.Keys(r.queues) {
		for addr, h := range r.available(prefix, before) {
			old = append(old, Held{addr, h})
		}
	}
	for addr := range r.lone {
		if h := r.byAddr[addr]; h.Released && h.At <= before {
			old = append(old, Held{addr, h})
		}
	}
	slices.SortFunc(old, compareReleased)
	return old
}

// forgetOwner keeps addr from its last owner: it is nobody's.
func (r *released) forgetOwner(t *table, addr netip.Addr) {
	if _, ok := r.byAddr[addr]; ok {
		r.remove(t, addr)
	}
}
