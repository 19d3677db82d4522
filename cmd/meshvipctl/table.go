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
			limit := 0
			if s.outTerm && s.format == formatText && !all {
				limit = shownRows
			}
			t, err := s.readTable(cmd.Context(), c, mesh, limit)
			if err != nil {
				return err
			}
			c.blind(s)
			if len(t.Rows) == 0 {
				s.note("the table has no entry")
				return s.print(t, func(*page) {})
			}
			if err := s.print(t, func(p *page) { tableText(p, t.Rows) }); err != nil {
				return err
			}
			if n := t.Total - len(t.Rows); n > 0 && limit > 0 {
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

// readTable reads the rows that a mesh lists, or all, up to a limit if there is
// one, as one page.
func (s *session) readTable(ctx context.Context, c *connection, mesh string, limit int) (admin.TablePage, error) {
	whole := admin.TablePage{Rows: []admin.Row{}}
	var bar *progress
	for q := (admin.TableQuery{Mesh: mesh}); ; {
		if left := limit - len(whole.Rows); limit > 0 {
			q.Limit = left
		}
		page, err := c.Table(ctx, q)
		if err != nil {
			return admin.TablePage{}, err
		}
		if bar == nil {
			bar = s.progress("reading the table", page.Total)
			defer bar.end()
		}
		rows := append(whole.Rows, page.Rows...)
		whole = page
		whole.Rows = rows
		bar.at(len(rows))
		if q.After = page.Next; q.After == "" || limit > 0 && len(rows) >= limit {
			return whole, nil
		}
	}
}
