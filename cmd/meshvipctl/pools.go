package main

import "github.com/spf13/cobra"

func poolsCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "pools",
		GroupID: groupRead,
		Short:   "Show how far the pools are used",
		Long: `pools shows each range that addresses are taken from, in the order in which they
are used: how many addresses it has, how many an entry has now (live), how many
stay with the owner that gave them up (cooling), how many are free, and which
address the next newcomer gets.

States: open; full, it has no address to give; drain, it gives out no new one;
retired, it is no longer configured, and is kept for those that are still in it.`,
		Example: `  meshvipctl pools
  meshvipctl pools -o json | jq '.pools[] | {prefix, free}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.connect(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			list, err := c.Pools(cmd.Context())
			if err != nil {
				return err
			}
			c.blind(s)
			if len(list.Pools) == 0 {
				s.note("the table has no pool")
				return s.print(list, func(*page) {})
			}
			return s.print(list, func(p *page) { poolsText(p, list) })
		},
	}
}
