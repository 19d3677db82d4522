package allocator

import (
	"context"
	"errors"
	"fmt"

	"github.com/meshvip/coredns-meshvip/vip"
)

// ErrOtherPlan: the plan of moves that was confirmed is not the one that waits.
var ErrOtherPlan = errors.New("not the plan that waits")

// ConfirmMoves carries out the plan of moves that has a name, as
// [Config.Confirm] does, and returns what was moved. Nothing is moved where
// another plan waits, or none: the error is ErrOtherPlan then and names the one
// that does.
func (a *Allocator) ConfirmMoves(ctx context.Context, plan string) (Moves, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.mayWrite(ctx); err != nil {
		return Moves{}, err
	}
	if plan == "" {
		return Moves{}, a.otherPlan(plan)
	}
	// As a Tick would: those who wait come first.
	if _, err := a.change(ctx, vip.Batch{Incomplete: a.incomplete}); err != nil {
		return Moves{}, err
	}
	a.unread = true
	done, err := a.move(ctx, plan)
	switch {
	case done.Name != "":
		// What comes after it is looked at again, if that failed.
		return done, nil
	case err != nil:
		return Moves{}, fmt.Errorf("plan %.80q: %w", plan, err)
	}
	return Moves{}, a.otherPlan(plan)
}

func (a *Allocator) otherPlan(plan string) error {
	if a.moves.Name == "" {
		return fmt.Errorf("plan %.80q: %w: no move waits for its confirmation", plan, ErrOtherPlan)
	}
	return fmt.Errorf("plan %.80q: %w: that is %q with %d moves", plan, ErrOtherPlan, a.moves.Name, len(a.moves.List))
}
