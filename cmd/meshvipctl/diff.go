package main

import (
	"context"
	"os"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/spf13/cobra"
)

func diffCommand(s *session) *cobra.Command {
	var addrsOnly bool
	var mesh string
	c := &cobra.Command{
		Use:     "diff A B",
		GroupID: groupOffline,
		Short:   "Compare two tables",
		Long: `diff compares two tables entry by entry: which only one of them has, which have
another address, and which a mesh lists otherwise. Each of A and B is one of

  a store            a file, read through its server where one has it open
  a backup           as "meshvipctl backup" writes it
  tables of Kuma's   a file or a directory, in whatever form "import" reads
  a server           its admin interface: unix:PATH, HOST:PORT or http://...

A line begins with "-" where only A has something, with "+" where only B has,
with "~" where both have, and not alike. Kuma's tables know neither entries of
types 3 to 5 nor a second address: these are left out where one of the two is
such.

The exit code is 0 where the two are equal, 1 where they differ.`,
		Example: `  meshvipctl diff tables/ meshvip.db
  meshvipctl diff backup.json unix:/run/meshvip.sock
  meshvipctl diff --addresses-only old.db new.db`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, names []string) error {
			var sides [2]diffSide
			for i, name := range names {
				var err error
				if sides[i], err = s.diffSide(c.Context(), name, mesh); err != nil {
					return err
				}
			}
			r := compare(sides[0], sides[1], addrsOnly)
			if err := s.print(r, r.text); err != nil {
				return err
			}
			if s.format == formatText {
				s.note("%s", r.summary())
			}
			if !r.Equal {
				return errFound
			}
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&addrsOnly, "addresses-only", false, "compare entries and their addresses, and not what meshes say of them")
	f.StringVar(&mesh, "mesh", "", "mesh of a table of Kuma's whose name does not tell it")
	return c
}

// diffSide reads one of two tables.
func (s *session) diffSide(ctx context.Context, name, mesh string) (diffSide, error) {
	if isServer(name) {
		state, err := s.serverState(ctx, name)
		return diffSide{name: name, rows: diffRows(state.Rows)}, err
	}
	kind := kindTable
	if name != stdStream {
		info, err := os.Stat(name)
		if err != nil {
			return diffSide{}, unopened("%w: name a store, a backup, a table of Kuma's, or a server", err)
		}
		if !info.IsDir() {
			if kind, err = kindOf(name); err != nil {
				return diffSide{}, unopened("%w", err)
			}
		}
	}
	if kind != kindTable {
		state, err := s.fileState(ctx, name, kind)
		return diffSide{name: name, rows: diffRows(state.Rows)}, err
	}
	in := s.readTables([]string{name}, mesh)
	in.tell(s)
	if len(in.broken) > 0 || len(in.tables) == 0 {
		return diffSide{}, unopened("%s: not every table in it can be read whole, so there is nothing to compare", name)
	}
	side := diffSide{name: name, reduced: true}
	var rows []*vip.Row
	for _, t := range in.tables {
		rows = append(rows, t.Rows...)
		side.bare = side.bare || t.Format < 3
	}
	side.rows = diffRows(rows)
	return side, nil
}
