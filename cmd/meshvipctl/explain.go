package main

import (
	"time"

	"github.com/spf13/cobra"
)

func explainCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "explain NAME|ADDRESS|ENTRY",
		GroupID: groupRead,
		Short:   "Tell all that is known of a name, an address or an entry",
		Long: `explain tells all that is known of a name, an address or an entry: which
addresses an entry has, how it came to each and since when; which meshes list
it, and which resources ask for it, with file and line; all names that it
claims, and who has those that it lost, by which rule; and why it waits, is held
or would move.

Of an address it tells who has it, or had it last and until when it is kept for
them.

A name without a final dot is looked for as it stands, and in each zone. An
entry is written as in Kuma's tables: 0:backend (a service), 1:httpbin.org (a
host), 2:api.mesh (a full name), 3:default/backend (a MeshService of mesh
default).`,
		Example: `  meshvipctl explain backend.mesh
  meshvipctl explain 240.0.0.7
  meshvipctl explain 0:backend_kuma-demo_svc_5678`,
		Args:              oneArg("what to explain: a name, an address or an entry"),
		ValidArgsFunction: s.completeEntries,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.connect(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			e, err := c.Explain(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			c.blind(s)
			return s.print(e, func(p *page) { explainText(p, e, time.Now()) })
		},
	}
}
