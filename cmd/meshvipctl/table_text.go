package main

import (
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/admin"
)

// tableGrid is a table of entries, one a line.
type tableGrid struct{ grid }

func newTableGrid() *tableGrid {
	return &tableGrid{grid{columns: []column{
		{head: "ENTRY", cut: true}, {head: "ADDRESS"}, {head: "HOW"}, {head: "NAMES", cut: true}, {head: "MESHES", cut: true},
	}}}
}

// addRow adds an entry.
func (g *tableGrid) addRow(r admin.Row) {
	meshes := make([]string, len(r.Listings))
	for i, l := range r.Listings {
		meshes[i] = l.Mesh
	}
	g.add(r.Entry, listed(addresses(slices.Concat(r.Addresses, r.Given))), had(r), listed(r.Names), listed(meshes))
}

// had says in one word how an entry has its addresses, or that it lacks one.
func had(r admin.Row) string {
	switch {
	case r.Waiting:
		return "waiting"
	case len(r.Given) > 0:
		return "given"
	case slices.ContainsFunc(r.Addresses, func(a netip.Addr) bool { return slices.Contains(r.Static, a) }):
		return "static"
	case len(r.Addresses) > 0:
		return "auto"
	}
	return none
}

// meshesText writes the meshes and how much each lists.
func meshesText(p *page, m admin.Meshes) {
	g := &grid{columns: []column{{head: "MESH", cut: true}, {head: "ENTRIES", right: true}}}
	for _, mesh := range m.Meshes {
		g.add(mesh.Name, number(mesh.Entries))
	}
	p.grid(g)
}
