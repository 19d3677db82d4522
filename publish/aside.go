package publish

import (
	"errors"
	"slices"

	"github.com/meshvip/coredns-meshvip/kumatable"
	"github.com/meshvip/coredns-meshvip/vip"
)

// SetAside is the error of entries that a file cannot carry, one error for
// each, which names it. What was encoded or written beside it is whole but for
// them: there is nothing to try again before the entries change.
type SetAside = kumatable.SetAside

// asError returns s, or nil where it has no errors.
func asError(s SetAside) error {
	if len(s) == 0 {
		return nil
	}
	return s
}

// both joins what two files of one mesh lack. Most of it is the same.
func both(x, y error) error {
	var all, more SetAside
	errors.As(x, &all)
	errors.As(y, &more)
	all = slices.Clone(all)
	told := make(map[string]struct{}, len(all))
	for _, err := range all {
		told[err.Error()] = struct{}{}
	}
	for _, err := range more {
		if _, ok := told[err.Error()]; !ok {
			all = append(all, err)
		}
	}
	return asError(all)
}

// listed calls do for each row that mesh lists, of the kinds that o publishes
// and that a file can carry, and returns what is wrong with the others.
func listed(mesh string, rows []*vip.Row, o Options, do func(*vip.Row, vip.Listing) error) SetAside {
	var aside SetAside
	for _, r := range rows {
		l, ok := r.Listing(mesh)
		if !ok || !o.publishes(r.Entry.Kind) {
			continue
		}
		err := kumatable.Carriable(r, l)
		if err == nil {
			err = do(r, l)
		}
		if err != nil {
			aside = append(aside, err)
		}
	}
	return aside
}
