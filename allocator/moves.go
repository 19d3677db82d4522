package allocator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// toldMoves bounds how many moves of a plan are logged one by one.
const toldMoves = 100

// Move is an entry that gets, or would get, another address.
type Move struct {
	Key      vip.Key
	From, To netip.Addr
	// Why says what is wrong with From.
	Why string
}

// Moves is a plan of moves that waits for the operator's word. Loading a
// configuration moves nothing; what it would move is planned, told, and done
// only when [Config.Confirm] has the plan's name.
type Moves struct {
	// Name is the table's generation and a digest of what would move and why:
	// "3-9f2a61c0". It does not depend on the addresses that the pools would
	// give at the moment, nor on rows that have left on their own. Empty where
	// nothing waits.
	Name string
	// List are the moves, by key. The To of an automatic address is what the
	// pools would give now.
	List []Move
	// Stuck are rows that should move, and for which the pools have no address.
	Stuck []Move
}

// planMoves plans to put every row that can have a right address in its place.
// It is a pure function of the table, the layout and the clock.
//
// Statics move first, or an address that is asked for might be filled up by one
// who could as well go elsewhere.
func (p *plan) planMoves() Moves {
	defer p.stopReuse()
	causes := make(map[string]struct{})
	var stuck []Move
	move := func(key vip.Key, from, to netip.Addr, was *Holding, fresh bool, why, cause string) {
		e := p.edit(key)
		p.drop(key, e, from.Is4())
		p.take(key, e, to, was, fresh)
		p.moves = append(p.moves, Move{Key: key, From: from, To: to, Why: why})
		causes[cause] = struct{}{}
	}
	keys := sortedKeys(p.t.unsettled)
	for _, statics := range []bool{true, false} {
		for _, key := range keys {
			row := p.t.rows[key]
			for _, addr := range row.Addrs() {
				why, want := p.t.misplaced(key, row, addr), p.t.static(key, row, addr.Is4())
				if e := p.edits[key]; why == "" || e != nil && !e.row.Has(addr) {
					continue
				}
				if want.IsValid() && want != addr {
					v, was, note := p.judgeStatic(key, want)
					put(&p.notes, seat{key, addr.Is4()}, note)
					if v == had {
						move(key, addr, want, was, false, why, fmt.Sprintf("%v to %v", key, want))
						continue
					}
					if why = p.t.unfit(key, addr, false); v == waits {
						p.wishAt(want)
						continue // where it is is as good as any, for now
					}
				}
				if statics || why == "" {
					continue
				}
				if row.Follows() {
					stuck = append(stuck, Move{Key: key, From: addr, Why: why + ", and only Kuma gives it another"})
					continue
				}
				if to, was, fresh, ok := p.next(addr.Is4()); ok {
					move(key, addr, to, was, fresh, why, why)
				} else {
					stuck = append(stuck, Move{Key: key, From: addr, Why: why + ", and the pools have no other address"})
				}
			}
		}
	}
	slices.SortStableFunc(p.moves, func(a, b Move) int { return cmp.Or(a.Key.Compare(b.Key), a.From.Compare(b.From)) })
	m := Moves{List: p.moves, Stuck: stuck}
	if len(p.moves) > 0 {
		m.Name = movesName(p.t.meta.Generation, causes)
	}
	return m
}

// wishAt notes that a move to addr waits for its cooldown.
func (p *plan) wishAt(addr netip.Addr) {
	at, ok := p.t.quarantined(addr)
	if h, known := p.t.released.byAddr[addr]; known {
		at, ok = max(at, h.At+p.cooldown), true
	}
	if ok && (p.wish == 0 || at < p.wish) {
		p.wish = at
	}
}

// movesName returns the name of a plan.
func movesName(generation uint64, causes map[string]struct{}) string {
	h := sha256.New()
	for _, c := range sortedNames(causes) {
		fmt.Fprintf(h, "%q\n", c)
	}
	return fmt.Sprintf("%d-%x", generation, h.Sum(nil)[:4])
}

// move looks at the rows that are not where they should be, tells what would
// move, and moves it where that is confirmed: by the configuration, or by what
// word names.
func (a *Allocator) move(ctx context.Context, word string) (done Moves, err error) {
	for a.unread || a.wish > 0 && a.wish <= a.clock() {
		p := a.newPlan(len(a.t.unsettled))
		m := p.planMoves()
		if m.Name == "" || m.Name != a.cfg.Confirm && m.Name != word {
			a.note(p)
			a.tellMoves(m)
			a.moves, a.unread, a.wish = m, false, p.wish
			a.t.stirred = false
			return done, nil
		}
		p.confirmed = true
		a.expect(p)
		a.cfg.Logger.Warn("the confirmed plan of moves is carried out", "plan", m.Name, "moves", len(m.List))
		if err := a.commit(ctx, p.delta(a.unix(), a.t.meta.Synced), func() {}); err != nil {
			return done, err
		}
		if m.Name == word {
			done = m
		}
		a.note(p)
		a.moves = Moves{}
	}
	return done, nil
}

// tellMoves tells of a plan of moves that waits, if it is another than the last.
func (a *Allocator) tellMoves(m Moves) {
	log := a.cfg.Logger
	switch {
	case m.Name == "" && a.moves.Name != "":
		log.Info("no move waits for its confirmation any more", "plan", a.moves.Name)
	case m.Name != a.moves.Name:
		log.Warn("entries are not where the configuration would have them; nothing is moved until the plan is confirmed:"+
			" put the line \"confirm "+m.Name+"\" into the meshvip of the Corefile, and reload,"+
			" or run \"meshvipctl plan --apply "+m.Name+"\"",
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
		gen, _, _ := strings.Cut(a.cfg.Confirm, "-")
		// One of an earlier generation has done its work.
		if n, err := strconv.ParseUint(gen, 10, 64); err != nil || n >= a.t.meta.Generation {
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

// moved returns which entries get another address by a delta, and logs each, with
// why where no other reason is known.
func (a *Allocator) moved(d Delta, why string) []Move {
	var moves []Move
	for _, c := range d.Rows {
		if c.Old == nil && len(a.whys) == 0 {
			continue
		}
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
			if expected && m.To.IsValid() {
				delete(a.whys, seat{c.Key, v4})
			}
			if !m.From.IsValid() || !m.To.IsValid() || m.From == m.To {
				continue
			}
			m.Key, m.Why = c.Key, cmp.Or(m.Why, why)
			a.cfg.Logger.Warn("moved", "entry", m.Key.String(), "from", m.From, "to", m.To, "why", m.Why)
			moves = append(moves, m)
		}
	}
	return moves
}
