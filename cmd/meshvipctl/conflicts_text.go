package main

import (
	"fmt"
	"strings"

	"github.com/meshvip/coredns-meshvip/admin"
)

// quiet reports whether nothing is in conflict.
func quiet(c admin.Conflicts) bool {
	return c.WaitingCount+c.RefusedCount+c.NamesCount+c.Moves.Count+c.Moves.StuckCount+c.HeldCount+c.DamagedCount == 0
}

// conflictsText writes all that is not as somebody asked for it.
func conflictsText(p *page, c admin.Conflicts) {
	s := sections{p: p}
	s.begin(c.WaitingCount, len(c.Waiting), "Without an address", "")
	for _, w := range c.Waiting {
		p.line("  %s  %s: %s", w.Entry, w.Family, w.Reason)
	}
	s.end()
	s.begin(c.RefusedCount, len(c.Refused), "Static addresses that are not had", "choose another address, or take the static away")
	for _, r := range c.Refused {
		p.line("  %s  %s", r.Entry, refusedWords(r))
	}
	s.end()
	s.begin(c.NamesCount, len(c.Names), "Names that several claim", "rename all but one; \"meshvipctl explain NAME\" tells by which rule it is decided")
	for _, n := range c.Names {
		winner := n.Winner
		if winner == "" {
			winner = "the zone's name server"
		}
		p.line("  %s  %s has it, not %s", n.Name, winner, strings.Join(n.Losers, ", "))
	}
	s.end()
	s.begin(c.Moves.Count, len(c.Moves.Moves), "Moves that wait", "\"meshvipctl plan\" shows them, \"meshvipctl plan --apply\" makes them")
	for _, m := range c.Moves.Moves {
		p.line("  %s  %v to %v: %s", m.Entry, m.From, m.To, m.Why)
	}
	s.end()
	s.begin(c.Moves.StuckCount, len(c.Moves.Stuck), "Should move, and cannot", "add a pool")
	for _, m := range c.Moves.Stuck {
		p.line("  %s  %v: %s", m.Entry, m.From, m.Why)
	}
	s.end()
	s.begin(c.HeldCount, len(c.Held), "Releases that are held", "\"meshvipctl release\" shows them and lets them go")
	for _, h := range c.Held {
		p.line("  %s  mesh %s, %s: %s", h.Name, h.Mesh, count(len(h.Entries), "entry"), h.Reason)
	}
	s.end()
	s.begin(c.DamagedCount, len(c.Damaged), "Damaged records", "\"meshvipctl verify\" reads all of the store; their addresses stay reserved")
	for _, d := range c.Damaged {
		p.line("  %s  %s", d.Record, d.Error)
	}
	s.end()
	if len(c.Unknown) > 0 {
		s.gap()
		p.line("Not known here: %s", strings.Join(c.Unknown, ", "))
	}
}

// sections writes lists under titles, with a free line between them.
type sections struct {
	p     *page
	begun bool
	more  int
}

// begin writes the title of n things, of which shown follow, and what is to be
// done about them, unless each says that itself; nothing where there are none.
func (s *sections) begin(n, shown int, title, remedy string) {
	s.more = n - shown
	if n > 0 {
		s.gap()
		s.p.title("%s", joined(": ", fmt.Sprintf("%s (%d)", title, n), remedy))
	}
}

// end says how many more there are than were shown.
func (s *sections) end() {
	if s.more > 0 {
		s.p.line("  and %d more", s.more)
	}
}

func (s *sections) gap() {
	if s.begun {
		s.p.line("")
	}
	s.begun = true
}
