package main

import (
	"context"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/spf13/cobra"
)

// shownRows is how many rows are shown on a terminal by default.
const shownRows = 500

func tableCommand(s *session) *cobra.Command {
	var mesh string
	var all bool
	cmd := &cobra.Command{
		Use:     "table",
		GroupID: groupRead,
		Short:   "List entries with their addresses, names and meshes",
		Long: `table lists the entries, or those of one mesh, in the order of their keys:
addresses, how they came to be had, the names that are answered, and the meshes
that list them.

How: auto, from a pool; static, chosen by a Corefile or a tag; given, by Kuma;
waiting, one is lacking ("meshvipctl explain ENTRY" says why).

On a terminal long texts are cut, and so is a long table: --all shows all of it.
In a pipe everything is written. Programs read -o json.`,
		Example: `  meshvipctl table
  meshvipctl table --mesh default --all
  meshvipctl table -o json | jq -r '.rows[] | [.entry, .addresses[0]] | @tsv'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.connect(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			r := tableReader{c: c, mesh: mesh}
			if s.outTerm && s.format == formatText && !all {
				r.limit = shownRows
			}
			c.blind(s)
			if err := s.showTable(cmd.Context(), &r); err != nil {
				return err
			}
			if r.read == 0 {
				s.note("the table has no entry")
			}
			if n := r.last.Total - r.read; n > 0 && r.limit > 0 {
				s.note("%d more: --all shows them", n)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&mesh, "mesh", "", "only what this mesh lists")
	cmd.Flags().BoolVar(&all, "all", false, "show all rows on a terminal too")
	cmd.RegisterFlagCompletionFunc("mesh", s.completeMeshes)
	return cmd
}

// showTable shows the rows that r reads, in the chosen format. A table may be
// large: of its rows only what is shown is kept, or nothing.
func (s *session) showTable(ctx context.Context, r *tableReader) error {
	switch s.format {
	case formatJSON:
		return s.streamTable(ctx, r)
	case formatYAML:
		rows := []admin.Row{}
		err := r.each(ctx, s, func(page []admin.Row) error { rows = append(rows, page...); return nil })
		if err != nil {
			return err
		}
		whole := r.last
		whole.Rows = rows
		return s.print(whole, nil)
	}
	g := newTableGrid()
	err := r.each(ctx, s, func(page []admin.Row) error {
		for _, row := range page {
			g.addRow(row)
		}
		return nil
	})
	if err != nil || len(g.rows) == 0 {
		return err
	}
	return s.print(nil, func(p *page) { p.grid(&g.grid) })
}
