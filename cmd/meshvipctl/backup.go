package main

import (
	"context"
	"io"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/spf13/cobra"
)

func backupCommand(s *session) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:     "backup",
		GroupID: groupOffline,
		Short:   "Write a backup of the whole table",
		Long: `backup writes all that a store has as one text: entries and their addresses,
what each mesh says of them, who had which address last, pools, and counters. It
is a consistent snapshot, of a running server too, which goes on meanwhile. The
text ends in a checksum, so that one which was cut short is known as such. With
--out the file is there as a whole or as it was before.

"meshvipctl restore" makes a store of it.`,
		Example: `  meshvipctl backup --out meshvip-backup.json
  meshvipctl backup | gzip > meshvip-backup.json.gz
  meshvipctl backup --store /var/lib/meshvip/meshvip.db --out before.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.backup(c.Context(), out) },
	}
	c.Flags().StringVar(&out, "out", "", "file to write to (default: standard output)")
	return c
}

// backup writes a backup to a file, or to standard output.
func (s *session) backup(ctx context.Context, out string) error {
	state, err := s.wholeState(ctx)
	if err != nil {
		return err
	}
	if err := s.writeOut(out, func(w io.Writer) error { return allocator.WriteBackup(w, state) }); err != nil {
		return unopened("%w", err)
	}
	where := ""
	if out != "" && out != stdStream {
		where = " in " + out
	}
	s.note("backup of %s in %s, serial %d%s", count(len(state.Rows), "entry"), count(len(state.Meshes), "mesh"), state.Meta.Serial, where)
	if n := len(state.Damaged); n > 0 {
		s.note("%s of the store could not be read, and only what reserves their addresses is in it: see \"meshvipctl verify\"", count(n, "record"))
	}
	return nil
}
