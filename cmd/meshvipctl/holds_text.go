package main

import "github.com/meshvip/coredns-meshvip/admin"

// shownEntries is how many entries of a hold are shown on a terminal.
const shownEntries = 20

// holdsText writes what is held: of each hold its name first, by which it is let
// go.
func holdsText(p *page, holds []admin.Hold) {
	for i, h := range holds {
		if i > 0 {
			p.line("")
		}
		p.title("%s", h.Name)
		if h.Gone {
			p.field("mesh", "%s, which is no longer declared", h.Mesh)
		} else {
			p.field("mesh", "%s", h.Mesh)
		}
		p.field("held", "%s", h.Reason)
		shown := h.Entries
		if p.width > 0 && len(shown) > shownEntries {
			shown = shown[:shownEntries]
		}
		label := "entries"
		for _, e := range shown {
			p.field(label, "%s", e)
			label = ""
		}
		if n := len(h.Entries) - len(shown); n > 0 {
			p.field("", "and %d more", n)
		}
	}
}
