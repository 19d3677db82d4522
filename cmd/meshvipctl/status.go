package main

import (
	"time"

	"github.com/spf13/cobra"
)

func statusCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		GroupID: groupRead,
		Short:   "Show the server and its table at a glance",
		Long: `status shows the server and its table at a glance: where the table is durable,
its serial, how much it holds, whether it is in step with its sources, and what
wants attention, with the command that shows more of it.`,
		Example: `  meshvipctl status
  meshvipctl --admin 10.0.0.5:9253 status
  meshvipctl status -o json | jq .serial`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.connect(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			c.blind(s)
			return s.print(c.status, func(p *page) { statusText(p, c.status, time.Now()) })
		},
	}
}
