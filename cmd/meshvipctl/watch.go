package main

import (
	"encoding/json"
	"io"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/spf13/cobra"
)

func watchCommand(s *session) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:     "watch",
		GroupID: groupRead,
		Short:   "Show changes of the table as they happen",
		Long: `watch shows what changes in the table as it happens, one line for each thing:
when, the change's id, and what. It goes on until Ctrl-C, through restarts of
the server.

--since SERIAL begins with the changes after that serial, or after a change's
id, as far back as the server remembers. Where it does not remember as far, or
this program was too slow, a line on standard error says which changes are
missing.

With -o json each line is one change; one that tells of missing changes is
{"gap": ...}.`,
		Example: `  meshvipctl watch
  meshvipctl watch --since 1764600000
  meshvipctl watch -o json | jq -r '.events[]? | [.what, .entry] | @tsv'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.connect(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			if c.status.Offline {
				return unopened("%s: there is nothing to watch", c.unserved())
			}
			err = c.Watch(cmd.Context(), since, s.showEvent)
			if cmd.Context().Err() != nil {
				return nil // Ctrl-C is how it ends
			}
			return err
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "begin with what came after this serial, or this change's id")
	return cmd
}

// showEvent shows one event of the stream.
func (s *session) showEvent(e admin.StreamEvent) error {
	if e.Gap != nil && s.format != formatJSON {
		s.note("changes are missing here: those after %s and before %s", orNone(e.Gap.Since), e.Gap.Next)
	}
	var v any = e.Change
	switch {
	case e.Change == nil && s.format != formatJSON:
		return nil
	case e.Change == nil:
		v = map[string]any{"gap": e.Gap}
	case s.format == formatYAML:
		if _, err := io.WriteString(s.out, "---\n"); err != nil {
			return err
		}
	}
	if s.format == formatJSON {
		enc := json.NewEncoder(s.out)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
	return s.print(v, func(p *page) { changeText(p, *e.Change) })
}
