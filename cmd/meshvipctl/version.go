package main

import (
	"runtime"

	"github.com/spf13/cobra"
)

// build is what "version" tells.
type build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

func versionCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Tell the version of meshvipctl",
		Long:  "version tells the version of this program. That of a server is in its status.",
		Example: `  meshvipctl version
  meshvipctl version -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := build{Version: version, Go: runtime.Version()}
			return s.print(b, func(p *page) { p.line("meshvipctl %s (%s)", b.Version, b.Go) })
		},
	}
}
