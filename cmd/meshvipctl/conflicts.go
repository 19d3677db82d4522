package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
)

func conflictsCommand(s *session) *cobra.Command {
	var limit limitFlag
	var exit bool
	cmd := &cobra.Command{
		Use:     "conflicts",
		GroupID: groupRead,
		Short:   "Show all that is not as somebody asked for it",
		Long: `conflicts shows all that is not as somebody asked for it: entries without an
address, static addresses that are not had, names that several entries claim,
moves that wait for a word, releases that are held, and records that could not
be read. Each sort says what to do about it.`,
		Example: `  meshvipctl conflicts
  meshvipctl conflicts --limit 1000 -o json
  meshvipctl conflicts --exit-code > /dev/null || page the-operator`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.connect(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			list, err := c.Conflicts(cmd.Context(), int(limit))
			if err != nil {
				return err
			}
			c.blind(s)
			if quiet(list) {
				s.note("nothing is in conflict")
			}
			if err := s.print(list, func(p *page) { conflictsText(p, list) }); err != nil {
				return err
			}
			if exit && !quiet(list) {
				return errFound
			}
			return nil
		},
	}
	cmd.Flags().Var(&limit, "limit", "show at most so many of each sort (default: the server's choice)")
	cmd.Flags().BoolVar(&exit, "exit-code", false, "end with 1 if there is anything to show")
	return cmd
}

// limitFlag is the number of a flag --limit, 0 where it is not given.
type limitFlag int

// String implements [pflag.Value].
func (l *limitFlag) String() string {
	if *l == 0 {
		return ""
	}
	return strconv.Itoa(int(*l))
}

// Type implements [pflag.Value].
func (l *limitFlag) Type() string { return "number" }

// Set implements [pflag.Value].
func (l *limitFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("want a number from 1 on")
	}
	*l = limitFlag(n)
	return nil
}
