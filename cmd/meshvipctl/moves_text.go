package main

import "github.com/meshvip/coredns-meshvip/admin"

// movesText writes a plan of moves.
func movesText(p *page, m admin.Moves) {
	if m.Count > 0 {
		p.title("Plan %s: %s", m.Plan, count(m.Count, "move"))
		g := &grid{columns: []column{{head: "ENTRY", cut: true}, {head: "FROM"}, {head: "TO"}, {head: "WHY", cut: true}}}
		for _, move := range m.Moves {
			g.add(move.Entry, move.From.String(), move.To.String(), move.Why)
		}
		p.grid(g)
		if n := m.Count - len(m.Moves); n > 0 {
			p.line("and %d more", n)
		}
	}
	if m.StuckCount > 0 {
		if m.Count > 0 {
			p.line("")
		}
		p.title("%s should move, and cannot: add a pool", count(m.StuckCount, "address"))
		g := &grid{columns: []column{{head: "ENTRY", cut: true}, {head: "FROM"}, {head: "WHY", cut: true}}}
		for _, s := range m.Stuck {
			g.add(s.Entry, s.From.String(), s.Why)
		}
		p.grid(g)
		if n := m.StuckCount - len(m.Stuck); n > 0 {
			p.line("and %d more", n)
		}
	}
}

// movedText writes what became of a plan.
func movedText(p *page, c admin.Confirmed) {
	p.title("Plan %s is carried out: %s; generation %d, serial %d", c.Plan, count(len(c.Moves), "move"), c.Generation, c.Serial)
	for _, m := range c.Moves {
		p.line("  %s  %v to %v", m.Entry, m.From, m.To)
	}
}
