package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// The groups of the commands in the help.
const (
	groupRead    = "read"
	groupChange  = "change"
	groupOffline = "offline"
)

// commands are all that there are, in the order of the help. Each returns a new
// command that works in s.
var commands = []func(s *session) *cobra.Command{
	statusCommand,
	tableCommand,
	meshesCommand,
	explainCommand,
	poolsCommand,
	conflictsCommand,
	sourcesCommand,
	watchCommand,
	planCommand,
	releaseCommand,
	checkCommand,
	importCommand,
	exportCommand,
	diffCommand,
	backupCommand,
	restoreCommand,
	migrateCommand,
	verifyCommand,
	versionCommand,
}

const rootLong = `meshvipctl looks into the address table of meshvip: which entry of which mesh
has which virtual IP, why, and since when. It explains what is not as it was
asked for, and does what only an operator may do.

It finds the table by the first of these that is given:

  --admin ADDRESS   the admin interface of a running server: unix:PATH or HOST:PORT
  --store PATH      the store: through the socket of the server that has it open
                    (PATH.sock), or else the file itself
  --corefile PATH   the Corefile that the server runs with, which names both; a
                    table in etcd is read from there where no server answers
  MESHVIP_ADMIN     an environment variable, as --admin
  ./Corefile        where the current directory has one, as --corefile
  ./meshvip.db      as --store

A store that no server has open is read as it lies: only import, restore and
migrate make one, and commands that only show something change nothing in it. A
table in etcd is only ever changed by the replica that leads: --admin asks it.`

const rootExitCodes = `Exit codes:
  0  done, and all is well
  1  something is not as it should be: a breach, a difference, a refused plan
  2  the command line is not understood
  3  a table or file cannot be reached, opened or read
  4  what was asked for is not there
130  a signal ended it, such as Ctrl-C (watch ends with 0)`

const rootExample = `  meshvipctl status
  meshvipctl explain backend.mesh
  meshvipctl explain 240.0.0.7
  meshvipctl --store /var/lib/meshvip/meshvip.db table --mesh default
  MESHVIP_ADMIN=unix:/run/meshvip.sock meshvipctl watch`

// newRoot returns the whole tool, working in s.
func newRoot(s *session) *cobra.Command {
	root := &cobra.Command{
		Use:           "meshvipctl",
		Short:         "Look into meshvip's address table, and explain it",
		Long:          rootLong + "\n\n" + rootExitCodes,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			// A script's variable that is empty must not lead to another table.
			for _, name := range []string{"admin", "store", "corefile"} {
				if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
					return usage("--%s is given and has no value: name one, or leave it out", name)
				}
			}
			// The command line is understood: what fails now is no usage error.
			s.begun = true
			return nil
		},
	}
	root.AddGroup(
		&cobra.Group{ID: groupRead, Title: "See and explain:"},
		&cobra.Group{ID: groupChange, Title: "Change:"},
		&cobra.Group{ID: groupOffline, Title: "Carry tables from place to place:"},
	)
	s.bind(root.PersistentFlags())
	root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	for _, command := range commands {
		root.AddCommand(command(s))
	}
	// Whatever a flag says fits a terminal of 80 columns.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	return root
}

// run runs one command line in s and returns the exit code.
func run(ctx context.Context, s *session, args []string) int {
	root := newRoot(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	err = errors.Join(ended(ctx, err), s.close())
	code := exitCode(err, s.begun)
	if err != nil && err.Error() != "" {
		fmt.Fprintln(s.err, "meshvipctl: "+printableLines(strings.TrimSpace(err.Error())))
	}
	if code == codeUsage {
		fmt.Fprintf(s.err, "%q tells how.\n", cmd.CommandPath()+" --help")
	}
	return code
}

// oneArg wants one argument, which is what.
func oneArg(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("give %s; %d arguments are not one", what, len(args))
		}
		if strings.TrimSpace(args[0]) == "" {
			return usage("give %s; the argument is empty", what)
		}
		return nil
	}
}

// formatNames returns the names of the output formats.
func formatNames() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	return slices.Clip(names)
}
