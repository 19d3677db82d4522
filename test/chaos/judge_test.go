package chaos

import (
	"errors"
	"fmt"
	"time"
)

// judge returns everything that is wrong with a history.
func (h *history) judge(thin, limit time.Duration) error {
	h.dropUnseen()
	var wrong []error
	apart, _ := h.apart()
	taken, owned := h.taken(), h.owned()
	if len(taken)+len(owned) > 0 {
		limit = min(limit, 5*time.Second) // to find that nothing fits may take for ever
	}
	for _, found := range [][]error{
		taken, h.ordered(), owned, h.denied(), apart, h.moves(), h.unasked(), h.kept(), h.refused(),
	} {
		for i, err := range found {
			if i == 5 {
				wrong = append(wrong, fmt.Errorf("and %d more like that", len(found)-i))
				break
			}
			wrong = append(wrong, err)
		}
	}
	illegal, undecided := h.linearizable(thin, limit)
	for _, addr := range illegal {
		wrong = append(wrong, fmt.Errorf("the history of %v is none of a register", addr))
	}
	for _, addr := range undecided {
		wrong = append(wrong, fmt.Errorf("it could not be decided within %v whether the history of %v is one of a register", limit, addr))
	}
	return errors.Join(wrong...)
}
