package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/spf13/cobra"
)

const (
	// completionTime is how long somebody who presses Tab waits at most.
	completionTime = 2 * time.Second
	// completionRows is how many entries are looked at.
	completionRows = 2000
)

// complete asks the table for what a word may be completed to. What goes wrong
// completes to nothing, without a word in the middle of somebody's line.
func (s *session) complete(cmd *cobra.Command, word string, ask func(context.Context, *connection) []string) ([]string, cobra.ShellCompDirective) {
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	s.err = io.Discard
	c, err := s.connect(ctx, toRead)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words := slices.DeleteFunc(ask(ctx, c), func(w string) bool { return !strings.HasPrefix(w, word) })
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeMeshes completes names of meshes.
func (s *session) completeMeshes(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return s.complete(cmd, word, func(ctx context.Context, c *connection) []string {
		list, err := c.Meshes(ctx)
		if err != nil {
			return nil
		}
		var names []string
		for _, m := range list.Meshes {
			names = append(names, m.Name)
		}
		return names
	})
}

// completeEntries completes what can be explained: entries, their names and
// their addresses.
func (s *session) completeEntries(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(cmd, word, func(ctx context.Context, c *connection) []string {
		var words []string
		r := tableReader{c: c, limit: completionRows}
		r.each(ctx, s, func(rows []admin.Row) error {
			for _, row := range rows {
				words = append(words, row.Entry)
				words = append(words, row.Names...)
				words = append(words, addresses(slices.Concat(row.Addresses, row.Given))...)
			}
			return nil
		})
		return words
	})
}

// completeHolds completes the names of holds that are not yet on the line.
func (s *session) completeHolds(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return s.complete(cmd, word, func(ctx context.Context, c *connection) []string {
		held, err := c.Held(ctx)
		if err != nil {
			return nil
		}
		var names []string
		for _, h := range held.Holds {
			if !slices.Contains(args, h.Name) {
				names = append(names, h.Name)
			}
		}
		return names
	})
}

// completePlans completes the name of the plan that waits.
func (s *session) completePlans(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return s.complete(cmd, word, func(ctx context.Context, c *connection) []string {
		var m admin.Moves
		if len(args) == 0 {
			m, _ = c.Moves(ctx)
		}
		return slices.DeleteFunc([]string{m.Plan}, func(w string) bool { return w == "" })
	})
}
