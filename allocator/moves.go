package allocator

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Move is an entry that gets, or would get, another address.
type Move struct {
	Key      vip.Key
	From, To netip.Addr
	// Why says what is wrong with From.
	Why string
}

// String says all of it in one line.
func (m Move) String() string {
	return fmt.Sprintf("%v: %v -> %v: %s", m.Key, m.From, m.To, m.Why)
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
func (p *plan) planMoves() Moves {
	defer p.stopReuse()
	causes := make(map[string]struct{})
	var stuck []Move
	for _, key := range sortedKeys(p.t.unsettled) {
		row := p.t.rows[key]
		for _, addr := range row.Addrs() {
			why := p.t.misplaced(key, row, addr)
			if why == "" {
				continue
			}
			cause := why
			want := p.t.static(key, row, addr.Is4())
			var was *Holding
			fresh := false
			if want.IsValid() && want != addr {
				var v verdict
				v, was, p.notes[seat{key, addr.Is4()}] = p.judgeStatic(key, want)
				cause = fmt.Sprintf("%v to %v", key, want)
				if v != had {
					why = p.t.unfit(key, addr, false)
					cause, want = why, netip.Addr{}
				}
				if v == waits || why == "" {
					continue // where it is is as good as any, for now
				}
			} else {
				want = netip.Addr{}
			}
			if !want.IsValid() {
				var ok bool
				if want, was, fresh, ok = p.next(addr.Is4()); !ok {
					stuck = append(stuck, Move{Key: key, From: addr, Why: why + ", and the pools have no other address"})
					continue
				}
			}
			e := p.edit(key)
			p.drop(key, e, addr.Is4())
			p.take(key, e, want, was, fresh)
			p.moves = append(p.moves, Move{Key: key, From: addr, To: want, Why: why})
			causes[cause] = struct{}{}
		}
	}
	m := Moves{List: p.moves, Stuck: stuck}
	if len(p.moves) > 0 {
		m.Name = movesName(p.t.meta.Generation, causes)
	}
	return m
}

// movesName returns the name of a plan.
func movesName(generation uint64, causes map[string]struct{}) string {
	sorted := make([]string, 0, len(causes))
	for c := range causes {
		sorted = append(sorted, c)
	}
	slices.Sort(sorted)
	h := sha256.New()
	for _, c := range sorted {
		fmt.Fprintf(h, "%q\n", c)
	}
	return fmt.Sprintf("%d-%x", generation, h.Sum(nil)[:4])
}
