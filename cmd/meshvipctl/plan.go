package main

import (
	"context"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/spf13/cobra"
)

func planCommand(s *session) *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:     "plan [--apply [PLAN]]",
		GroupID: groupChange,
		Short:   "Show what waits to move, or would move, and let it go",
		Long: `plan shows the moves that wait for a word: entries that are not where the
Corefile would have them, since a pool was taken away, an exclude or a static
was added. No address moves by itself.

With --corefile it shows what that Corefile would move, before a server has it;
nothing is changed. The table is the one that this Corefile names, or that of
--admin.

--apply carries out the plan that waits, exactly that which was shown: if
another waits by then, nothing moves. On a terminal it asks first. In a script
name the plan.

A store that no server has open can be planned and changed as well, by its
Corefile.`,
		Example: `  meshvipctl plan
  meshvipctl plan --corefile Corefile.new
  meshvipctl plan --apply
  meshvipctl plan --apply 3-9f2a61c0`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && !apply {
				return usage("a plan is named to carry it out: meshvipctl plan --apply %s", args[0])
			}
			how := toRead
			if apply {
				how = toChange
			}
			c, err := s.connect(cmd.Context(), how)
			if err != nil {
				return err
			}
			m, err := s.planned(cmd.Context(), c)
			if err != nil {
				return err
			}
			if !apply {
				return s.showPlan(m)
			}
			return s.applyPlan(cmd.Context(), c, m, args)
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "carry out the plan that waits")
	return cmd
}

// planned returns what waits to move; or, where the command line names a
// Corefile, or there is no server that anything would wait for, what the Corefile
// would move.
func (s *session) planned(ctx context.Context, c *connection) (admin.Moves, error) {
	switch {
	case c.status.Offline && c.configured == nil:
		return admin.Moves{}, usage("%s, and the store does not say what it should be:"+
			" name the Corefile with --corefile", c.unserved())
	case c.status.Offline || s.corefile != "":
		return c.Plan(ctx, wireLayout(c.configured.Layout))
	}
	if err := c.leads("what waits to move"); err != nil {
		return admin.Moves{}, err
	}
	return c.Moves(ctx)
}

func (s *session) showPlan(m admin.Moves) error {
	if m.Count+m.StuckCount == 0 {
		s.note("nothing would move")
	}
	return s.print(m, func(p *page) { movesText(p, m) })
}

// applyPlan carries out the plan that waits, if it is the one that was meant.
func (s *session) applyPlan(ctx context.Context, c *connection, m admin.Moves, named []string) error {
	if s.corefile != "" && !c.status.Offline {
		if err := c.leads("what waits to move"); err != nil {
			return err
		}
		waits, err := c.Moves(ctx)
		if err != nil {
			return err
		}
		if waits.Plan != m.Plan {
			return wrong("the server does not wait with what %s would move (plan %s; it has %s): let it load that Corefile first",
				s.corefile, orNone(m.Plan), orNone(waits.Plan))
		}
	}
	switch {
	case m.Plan == "" && len(named) > 0:
		return wrong("plan %s does not wait: nothing does", named[0])
	case m.Plan == "":
		return s.showPlan(m)
	case len(named) > 0 && named[0] != m.Plan:
		return wrong("plan %s does not wait, plan %s does: look at it with \"meshvipctl plan\"", named[0], m.Plan)
	case len(named) == 0 && !s.asks():
		return usage("name the plan that is meant, which \"meshvipctl plan\" shows: meshvipctl plan --apply PLAN")
	case len(named) == 0:
		if err := s.showPlan(m); err != nil {
			return err
		}
		if !s.ask("Let plan %s move %s?", m.Plan, count(m.Count, "address")) {
			return wrong("nothing was moved")
		}
	}
	done, err := c.ConfirmMoves(ctx, m.Plan)
	if err != nil {
		return err
	}
	return s.print(done, func(p *page) { movedText(p, done) })
}
