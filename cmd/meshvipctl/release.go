package main

import (
	"context"
	"slices"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/spf13/cobra"
)

func releaseCommand(s *session) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "release [HOLD...]",
		GroupID: groupChange,
		Short:   "Show releases that are held, and let them go",
		Long: `release shows what sources no longer list and the table keeps all the same: too
much at once to be believed without somebody's word for it, such as a mesh with
all its entries. If it is a mistake, put the resources back, and nothing has
happened.

Named holds are let go: their entries give up their addresses, which cool down
before anybody else gets them. A hold's name stands for exactly what it held
when it was shown: if that has changed, nothing goes. --all lets all go that are
shown, after a question, on a terminal only; in a script name the holds.`,
		Example: `  meshvipctl release
  meshvipctl release --all
  meshvipctl release 5d41402a 7d793037`,
		ValidArgsFunction: s.completeHolds,
		RunE: func(cmd *cobra.Command, names []string) error {
			if all && len(names) > 0 {
				return usage("name holds, or say --all, not both")
			}
			c, err := s.connect(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			if err := c.leads("what its sources no longer list"); err != nil {
				return err
			}
			held, err := c.Held(cmd.Context())
			if err != nil {
				return err
			}
			switch {
			case all:
				return s.releaseAll(cmd.Context(), c, held)
			case len(names) > 0:
				return s.release(cmd.Context(), c, held, names)
			}
			return s.showHeld(held)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "let all go that are shown, after a question")
	return cmd
}

// showHeld shows what is held, and how it is let go.
func (s *session) showHeld(held admin.Held) error {
	if len(held.Holds) == 0 {
		s.note("no release is held")
	}
	if err := s.print(held, func(p *page) { holdsText(p, held.Holds) }); err != nil {
		return err
	}
	if len(held.Holds) > 0 && s.outTerm {
		s.note("\nLet them go with: meshvipctl release HOLD...")
	}
	return nil
}

// releaseAll lets everything go that it has shown, if that is what is wanted.
func (s *session) releaseAll(ctx context.Context, c *connection, held admin.Held) error {
	var names []string
	for _, h := range held.Holds {
		names = append(names, h.Name)
	}
	switch {
	case len(names) == 0:
		return s.showHeld(held)
	case !s.asks():
		return usage("--all asks first, and there is nobody to ask: name the holds that \"meshvipctl release\" shows")
	}
	if err := s.print(held, func(p *page) { holdsText(p, held.Holds) }); err != nil {
		return err
	}
	if !s.ask("Let %s go?", count(len(names), "hold")) {
		return wrong("nothing was released")
	}
	return s.release(ctx, c, held, names)
}

// release lets the named holds go.
func (s *session) release(ctx context.Context, c *connection, held admin.Held, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(held.Holds, func(h admin.Hold) bool { return h.Name == name }) {
			return wrong("there is no hold %s, or it holds something else by now: nothing was released;"+
				" look again with \"meshvipctl release\"", name)
		}
	}
	done, err := c.ReleaseHeld(ctx, names...)
	if err != nil {
		return err
	}
	return s.print(done, func(p *page) {
		p.line("%s let go: %s given up, serial %d", count(len(done.Holds), "hold"), count(done.Addresses, "address"), done.Serial)
	})
}
