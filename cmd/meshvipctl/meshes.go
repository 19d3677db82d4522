package main

import "github.com/spf13/cobra"

func meshesCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "meshes",
		GroupID: groupRead,
		Short:   "List the meshes and how many entries each has",
		Long: `meshes lists every mesh that has a table, and how many entries it lists. An
entry that two meshes list counts in both, and has one address.`,
		Example: `  meshvipctl meshes
  meshvipctl meshes -o json | jq -r '.meshes[].name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.connect(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			list, err := c.Meshes(cmd.Context())
			if err != nil {
				return err
			}
			if len(list.Meshes) == 0 {
				s.note("no mesh has a table")
				return s.print(list, func(*page) {})
			}
			return s.print(list, func(p *page) { meshesText(p, list) })
		},
	}
}
