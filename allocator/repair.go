package allocator

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Step is one thing that a repair changes.
type Step struct {
	// Key is the entry that it concerns, Addr the address; either may be zero.
	Key  vip.Key
	Addr netip.Addr
	// What was wrong, and what is done about it.
	What string
	// lost: the entry has to get another address.
	lost bool
}

// Repair reads the store back, verifies it, and makes it sound with the least
// change: of several entries on one address one keeps it, a static one before
// the present holder before the smaller key, and the others get another; of
// several addresses of one entry it keeps its row's. Every step is logged. With
// [Config.ReportOnly] it changes nothing, and only tells what it would do.
func (a *Allocator) Repair(ctx context.Context) ([]Step, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.mayWrite(ctx); err != nil {
		return nil, err
	}
	return a.repair(ctx)
}

// heal repairs the store, if it has been found broken.
func (a *Allocator) heal(ctx context.Context) error {
	if !a.broken || a.cfg.ReportOnly {
		return nil
	}
	_, err := a.repair(ctx)
	return err
}

func (a *Allocator) repair(ctx context.Context) ([]Step, error) {
	state, err := a.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	// One that failed may be there all the same, or in part.
	begun := len(a.tried) > 0 && a.t.meta.Revision < state.Meta.Revision && state.Meta.Revision <= a.reach
	if state.Meta.Revision != a.t.meta.Revision && !begun {
		return nil, fmt.Errorf("the store is at revision %d, want %d: %w", state.Meta.Revision, a.t.meta.Revision, ErrConflict)
	}
	fixed, steps := mend(state, a.cfg.Layout)
	a.logBreaches(steps)
	was := a.broken // then the table may not be the store's, though that is sound by now
	a.broken = len(steps) > 0
	if !begun && (len(steps) == 0 && !was || len(steps) > 0 && a.cfg.ReportOnly) {
		return steps, nil
	}
	if len(steps) > 0 && !a.cfg.ReportOnly {
		if !begun {
			a.tried = nil
		}
		if fixed, err = a.mendStore(ctx, state, fixed, steps); err != nil {
			return nil, fmt.Errorf("repairing the table: %w", err)
		}
	}
	a.repaired += len(a.tried)
	a.logSteps(a.tried, true)
	for _, s := range a.tried {
		if s.lost {
			a.whys[seat{s.Key, s.Addr.Is4()}] = Move{Key: s.Key, From: s.Addr, Why: s.What}
		}
	}
	a.tried, a.unread = nil, true
	shown := a.t.rows
	if a.broken = len(steps) > 0 && a.cfg.ReportOnly; a.broken {
		a.take(state) // the word has come while it was half done
	} else {
		a.t = newTable(fixed, a.cfg.Layout)
	}
	a.tell(Delta{Rows: rowChanges(shown, a.t.rows)}, 0, "")
	return steps, nil
}

// mendStore writes what makes a store sound, in as many parts as it takes, and
// returns what it holds then. Until the last part the table is broken.
func (a *Allocator) mendStore(ctx context.Context, state, fixed State, steps []Step) (State, error) {
	d := difference(state, fixed)
	d.Meta.Serial = nextSerial(state.Meta.Serial, a.unix())
	parts := d.split(state.Meta, a.store.Limits(), len(d.Rows)+1)
	if err := ctx.Err(); err != nil {
		return State{}, err
	}
	done := make(map[Step]bool, len(a.tried)) // or tried, by an attempt before this
	for _, s := range a.tried {
		done[s] = true
	}
	for _, s := range steps {
		if !done[s] {
			a.tried = append(a.tried, s)
		}
	}
	a.reach = state.Meta.Revision + uint64(len(parts))
	if err := a.write(ctx, parts); err != nil {
		return State{}, err
	}
	return after(fixed, parts), nil
}

// logBreaches tells that the table is broken, and of one that is only reported
// on, what a repair would do.
func (a *Allocator) logBreaches(steps []Step) {
	switch {
	case len(steps) == 0:
	case a.follows:
		a.cfg.Logger.Error("the table breaks invariants, and is shown as a repair would make it: the replica that allocates repairs it",
			"steps", len(steps))
		a.logSteps(steps, false)
	case a.cfg.ReportOnly:
		a.cfg.Logger.Error("the table breaks invariants, and is served as it is: let meshvip repair it by taking \"repair report\" out of the Corefile",
			"steps", len(steps))
		a.logSteps(steps, false)
	default:
		a.cfg.Logger.Error("the table breaks invariants, and is repaired", "steps", len(steps))
	}
}

// logSteps tells of each step of a repair, and whether it is done.
func (a *Allocator) logSteps(steps []Step, done bool) {
	for _, s := range steps {
		var about []any
		if s.Key != (vip.Key{}) {
			about = append(about, "entry", s.Key.String())
		}
		if s.Addr.IsValid() {
			about = append(about, "address", s.Addr)
		}
		a.cfg.Logger.Warn("repair", append(about, "step", s.What, "done", done)...)
	}
}

// take makes the table of a state. Of one that breaks an invariant it is what a
// repair will make of it, unless it is not to be repaired: then it shows what
// the store has, and touches nothing that a repair would change. One that follows
// leaves the repair to the other, and shows what will come of it.
func (a *Allocator) take(s State) {
	t, err := soundTable(s, a.lay)
	if a.broken = err != nil; !a.broken {
		a.t = t
		return
	}
	fixed, steps := mend(s, a.cfg.Layout)
	a.t, _ = buildTable(fixed)
	a.lay(a.t)
	if a.follows {
		a.logBreaches(steps)
		return
	}
	if !a.cfg.ReportOnly {
		return
	}
	a.logBreaches(steps)
	doubt := func(addr netip.Addr) {
		a.t.reserved[addr] = struct{}{}
		a.t.released.forgetOwner(a.t, addr)
	}
	for _, c := range difference(s, fixed).Addrs {
		doubt(c.Addr)
	}
	for _, r := range s.Rows {
		now := a.t.rows[r.Key()]
		if now != nil && now.V4 == r.V4 && now.V6 == r.V6 {
			continue
		}
		for _, addr := range r.Addrs() {
			doubt(addr) // the store has it so, and frozen rows own nothing
		}
		if now != nil {
			shown := *now
			shown.V4, shown.V6 = r.V4, r.V6
			a.t.freeze(r.Key(), &shown)
		}
	}
}

// freeze shows row in the place of what the table has of its entry. It owns no
// address.
func (t *table) freeze(key vip.Key, row *vip.Row) {
	t.setRow(key, t.rows[key], nil)
	t.frozen[key] = struct{}{}
	t.setRow(key, nil, row)
}
