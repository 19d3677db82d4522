package main

import (
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/spf13/cobra"
)

func sourcesCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "sources",
		GroupID: groupRead,
		Short:   "Show how the sources of services fare",
		Long: `sources shows each place that services come from: when it was last read well,
and what is wrong with it now, with the file and line or URL.

While a source was never read completely nothing is released: what it lists is
not known.`,
		Example: `  meshvipctl sources
  meshvipctl sources -o json | jq -r '.sources[].problems[].what'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.connect(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			if c.status.Offline {
				return unopened("%s, and only a server follows sources: start it,"+
					" or look at the files with \"meshvipctl check\"", c.unserved())
			}
			list, err := c.Sources(cmd.Context())
			if err != nil {
				return err
			}
			switch {
			case len(list.Sources) > 0:
			case c.status.Role == admin.Follower && c.status.Leader == "":
				s.note("the server follows no source: the replica that leads does, and none leads at present")
			case c.status.Role == admin.Follower:
				s.note("the server follows no source: %s, which leads, follows them", c.status.Leader)
			default:
				s.note("the server follows no source")
			}
			return s.print(list, func(p *page) { sourcesText(p, list, time.Now()) })
		},
	}
}
