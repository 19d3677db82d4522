package admin

import (
	"net/http"
	"net/url"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// listed and mostListed are how many of each sort the conflicts have, and at
// most.
const (
	listed     = 100
	mostListed = 100_000
)

func (h *handler) conflicts(_ http.ResponseWriter, _ *http.Request, q url.Values) (any, error) {
	n, err := limit(q, listed, mostListed)
	if err != nil {
		return nil, err
	}
	x := Conflicts{Unknown: h.unsaid(), Damaged: []Damage{}, Held: []Hold{}}
	waits, count := h.t.Alloc.Waiting(n)
	x.Waiting, x.WaitingCount = waiting(waits), count
	notes, count := h.t.Alloc.Refused(n)
	x.Refused, x.RefusedCount = refused(notes), count
	x.Moves = moves(h.t.Alloc.Moves(), n)
	holds := h.t.Alloc.Held()
	x.HeldCount = len(holds)
	for _, hold := range holds[:min(n, len(holds))] {
		x.Held = append(x.Held, holdOf(hold))
	}
	damaged := h.t.Alloc.Damaged()
	x.DamagedCount = len(damaged)
	for _, d := range damaged[:min(n, len(damaged))] {
		x.Damaged = append(x.Damaged, Damage{Record: d.Place, Error: d.Err.Error(), Address: d.Addr})
	}
	if h.names.x != nil {
		x.Names = []NameConflict{}
		all := h.names.x.Conflicts()
		x.NamesCount = len(all)
		for _, c := range all[:min(n, len(all))] {
			nc := NameConflict{Name: c.Name, Winner: entryText(c.Winner), Losers: []string{}}
			for _, l := range c.Losers {
				nc.Losers = append(nc.Losers, l.String())
			}
			x.Names = append(x.Names, nc)
		}
	}
	return x, nil
}

// entryText returns an entry's text, and none for the zero Entry.
func entryText(e vip.Entry) string {
	if e == (vip.Entry{}) {
		return ""
	}
	return e.String()
}

func waiting(wants []allocator.Want) []Waiting {
	out := []Waiting{}
	for _, w := range wants {
		out = append(out, Waiting{Entry: w.Key.String(), Family: family(w.V4), Reason: w.Why})
	}
	return out
}

func refused(wants []allocator.Want) []Refused {
	out := []Refused{}
	for _, w := range wants {
		out = append(out, Refused{Entry: w.Key.String(), Address: w.Static, Reason: w.Why})
	}
	return out
}

func family(v4 bool) string {
	if v4 {
		return "v4"
	}
	return "v6"
}

// moves returns a plan, and of each list the first n.
func moves(m allocator.Moves, n int) Moves {
	out := Moves{Plan: m.Name, Count: len(m.List), Moves: moveList(m.List, n), StuckCount: len(m.Stuck), Stuck: []Stuck{}}
	for _, s := range m.Stuck[:min(n, len(m.Stuck))] {
		out.Stuck = append(out.Stuck, Stuck{Entry: s.Key.String(), From: s.From, Why: s.Why})
	}
	return out
}

func moveList(moves []allocator.Move, n int) []Move {
	out := []Move{}
	for _, m := range moves[:min(n, len(moves))] {
		out = append(out, Move{Entry: m.Key.String(), From: m.From, To: m.To, Why: m.Why})
	}
	return out
}

func holdOf(h allocator.Hold) Hold {
	out := Hold{Name: h.Name, Mesh: h.Mesh, Gone: h.Gone, Entries: []string{}, Reason: h.Reason}
	for _, k := range h.Entries {
		out.Entries = append(out.Entries, k.String())
	}
	return out
}
