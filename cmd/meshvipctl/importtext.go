package main

import (
	"fmt"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// text writes the report: the tables, and the rows mesh by mesh; the addresses
// that the tables only point at where all is wanted.
func (r importReport) text(all bool) func(p *page) {
	return func(p *page) {
		g := &grid{columns: []column{{head: "MESH"}, {head: "FORMAT"}, {head: "ROWS", right: true}, {head: "READ FROM", cut: true, left: true}}}
		for _, t := range r.Tables {
			g.add(t.Mesh, fmt.Sprint(t.Format), fmt.Sprint(t.Rows), t.From)
		}
		p.grid(g)
		r.rowsText(p)
		if !all || len(r.Foreign) == 0 {
			return
		}
		p.line("")
		p.title("not taken over, for nobody has to give them")
		g = &grid{columns: []column{{head: "MESH"}, {head: "ENTRY", cut: true}, {head: "ADDRESS"}, {head: "WHY", wrap: true}}}
		for _, f := range r.Foreign {
			g.add(f.Mesh, f.Entry, f.Address.String(), f.Why)
		}
		p.grid(g)
	}
}

// rowsText writes rows under the names of their meshes.
func (r importReport) rowsText(p *page) {
	var g *grid
	mesh := ""
	end := func() {
		if g != nil {
			p.line("")
			p.title("mesh %s", mesh)
			p.grid(g)
		}
	}
	for _, row := range r.Rows {
		if g == nil || row.Mesh != mesh {
			end()
			mesh = row.Mesh
			g = &grid{columns: []column{{head: "ENTRY", cut: true}, {head: "IN THE TABLE"}, {head: "IN THE STORE"}, {head: "WHAT"}, {head: "WHY", wrap: true}}}
		}
		g.add(row.Entry, addrOrNone(row.From.IsValid(), row.From), addrOrNone(row.To.IsValid(), row.To),
			string(row.Result), row.Why)
	}
	end()
}

func addrOrNone(valid bool, addr fmt.Stringer) string {
	if !valid {
		return none
	}
	return addr.String()
}

// summary says how it went, in one line.
func (r importReport) summary() string {
	var parts []string
	for _, c := range []struct {
		result allocator.Result
		words  string
	}{
		{allocator.Kept, "kept"},
		{allocator.New, "new"},
		{allocator.Conflict, "moved by conflicts"},
		{allocator.Moved, "moved"},
		{allocator.Waits, "waiting"},
		{allocator.LeftOut, "left out"},
	} {
		if n := r.Counts[c.result]; n > 0 || c.result == allocator.Kept {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.words))
		}
	}
	if n := len(r.BadRows); n > 0 {
		parts = append(parts, fmt.Sprintf("%d bad rows set aside", n))
	}
	if n := len(r.Foreign); n > 0 {
		parts = append(parts, fmt.Sprintf("%d only pointed at", n))
	}
	rows := strings.Join(parts, ", ")
	switch r.Outcome {
	case importThere:
		return fmt.Sprintf("%s has all of it already: %s; nothing was written", r.Store, rows)
	case importDone:
		return fmt.Sprintf("%s: %s", r.Store, rows)
	}
	return fmt.Sprintf("plan for %s: %s; nothing was written", r.Store, rows)
}
