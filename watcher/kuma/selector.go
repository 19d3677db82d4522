package kuma

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/meshvip/coredns-meshvip/vip"
)

// anyValue is the value of a selector that every value of its tag matches.
const anyValue = "*"

// Selector is a set of tags that a service has to have, sorted by key. The
// value "*" stands for any.
type Selector []vip.Tag

// Rank says how narrowly a selector selects. Of the policies that give one name
// and port, the one that selects most narrowly has it.
type Rank struct {
	Tags  int // how many tags it has
	Exact int // how many of them are not "*"
}

// Compare orders ranks: by tags, then by exact ones.
func (r Rank) Compare(o Rank) int {
	return cmp.Or(cmp.Compare(r.Tags, o.Tags), cmp.Compare(r.Exact, o.Exact))
}

// match returns the rank of s if tags, which are sorted by key, have all that
// it wants.
func (s Selector) match(tags []vip.Tag) (Rank, bool) {
	r := Rank{Tags: len(s)}
	for _, want := range s {
		value, ok := tagOf(tags, want.Key)
		switch {
		case !ok, want.Value != anyValue && want.Value != value:
			return Rank{}, false
		case want.Value != anyValue:
			r.Exact++
		}
	}
	return r, true
}

// selectors reads the list selectors of o, each a mapping match. As in Kuma,
// one that wants no tag is an error, not one that selects everything.
func selectors(o object) ([]Selector, error) {
	list, err := o.objects("selectors")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%sselectors is missing or empty: write what is selected, as in selectors: [{match: {kuma.io/service: '*'}}]", o.path)
	}
	ss := make([]Selector, len(list))
	for i, item := range list {
		tags, err := item.textMap("match")
		if err == nil && len(tags) == 0 {
			err = fmt.Errorf("%smatch is missing or empty: %w", item.path, errMatchNothing)
		}
		if err != nil {
			return nil, err
		}
		ss[i] = tags
	}
	return ss, nil
}

var errMatchNothing = errors.New("write a tag, as in kuma.io/service: '*' for every service")
