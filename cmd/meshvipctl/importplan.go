package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// importTable is a table that was read.
type importTable struct {
	From   string `json:"from"`
	Mesh   string `json:"mesh"`
	Format int    `json:"format"`
	Rows   int    `json:"rows"`
}

// importRow is what becomes of one row of one mesh's table.
type importRow struct {
	Mesh  string `json:"mesh"`
	Entry string `json:"entry"`
	// From is the address in the table, To the one in the store.
	From   netip.Addr       `json:"from,omitzero"`
	To     netip.Addr       `json:"to,omitzero"`
	Result allocator.Result `json:"result"`
	// Rule is by what the row is not kept as it is, Why the same in words. Winner
	// is the entry that has From, or WinnerMesh the mesh whose address counts.
	Rule       allocator.Rule `json:"rule,omitempty"`
	Why        string         `json:"why,omitempty"`
	Winner     string         `json:"winner,omitempty"`
	WinnerMesh string         `json:"winner_mesh,omitempty"`
}

// How an import ended.
const (
	importPlanned = "planned" // nothing was written, for none was to be
	importRefused = "refused" // nothing was written, for addresses would move
	importDone    = "done"
	importThere   = "there" // the store has all of it already
)

// importReport is what an import did, or would do.
type importReport struct {
	Store   string        `json:"store"`
	Outcome string        `json:"outcome"`
	Tables  []importTable `json:"tables"`
	// Rows are by mesh, then by entry. Where people read them, those that are kept
	// are left out unless they are asked for.
	Rows   []importRow              `json:"rows"`
	Counts map[allocator.Result]int `json:"counts"`
	// Pools are those to add so that no address lies outside.
	Pools []netip.Prefix `json:"pools"`
	// BadRows were not read, OddRows were, not quite as they stand. Foreign are
	// addresses that the tables only point at, and that are nobody's to give.
	BadRows []string        `json:"bad_rows"`
	OddRows []string        `json:"odd_rows"`
	Foreign []importForeign `json:"foreign"`
}

// importForeign is an address that a table only points at.
type importForeign struct {
	Mesh    string     `json:"mesh"`
	Entry   string     `json:"entry"`
	Address netip.Addr `json:"address"`
	Why     string     `json:"why"`
}

// newImportReport returns the report of what was read and what becomes of it, of
// rows that are kept too if all is wanted.
func newImportReport(store string, in tablesRead, plan allocator.Import, all bool) importReport {
	r := importReport{
		Store: store, Outcome: importPlanned, Tables: []importTable{}, Rows: []importRow{},
		Counts: make(map[allocator.Result]int), Pools: orEmpty(plan.Pools),
		BadRows: orEmpty(in.bad), OddRows: orEmpty(in.odd), Foreign: []importForeign{},
	}
	for _, t := range in.tables {
		r.Tables = append(r.Tables, importTable{From: t.From, Mesh: t.Mesh, Format: t.Format, Rows: len(t.Rows)})
		for _, f := range t.Foreign {
			r.Foreign = append(r.Foreign, importForeign{Mesh: t.Mesh, Entry: f.Entry.String(), Address: f.Addr, Why: f.Why})
		}
	}
	for _, o := range plan.Outcomes {
		r.Counts[o.Result]++
		if o.Result == allocator.Kept && !all {
			continue
		}
		row := importRow{
			Mesh: o.Mesh, Entry: o.Entry.String(), From: o.From, To: o.To, Result: o.Result,
			Rule: o.Rule, Why: o.Why, WinnerMesh: o.WinnerMesh,
		}
		if o.Winner != (vip.Key{}) {
			row.Winner = o.Winner.String()
		}
		r.Rows = append(r.Rows, row)
	}
	slices.SortStableFunc(r.Rows, func(x, y importRow) int { return strings.Compare(x.Mesh, y.Mesh) })
	return r
}

// moving counts the rows whose entry would get another address, or none.
func (r *importReport) moving() (n int) {
	for _, row := range r.Rows {
		switch row.Result {
		case allocator.Conflict, allocator.Moved, allocator.Waits:
			if row.From.IsValid() {
				n++
			}
		}
	}
	return n
}

// remedy says what to do about addresses that would move.
func (r *importReport) remedy() string {
	s := "let them move with --accept-moves, and hand the tables of --out back to Kuma"
	if len(r.Pools) > 0 {
		s = fmt.Sprintf("add the missing pools (%s), or %s", listed(prefixes(r.Pools)), s)
	}
	return s
}

// prefixes returns ranges as text.
func prefixes(list []netip.Prefix) []string {
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = p.String()
	}
	return texts
}
