package names

import (
	"cmp"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Conflicts returns the names that more than one entry claims now, or that an
// entry claims and the apex has, sorted by name. It scans the absolute names
// and holds up the writer, not the readers.
func (x *Index) Conflicts() []Conflict {
	x.mu.Lock()
	defer x.mu.Unlock()
	byName := make(map[string]*Conflict, len(x.losers))
	at := func(name string) *Conflict {
		c := byName[name]
		if c == nil {
			c = &Conflict{Name: name, Winner: x.owner(name).entry()}
			byName[name] = c
		}
		return c
	}
	for name, l := range x.losers {
		c := at(name)
		for _, claim := range l {
			c.Losers = append(c.Losers, claim.row.Entry)
		}
	}
	// A name may be relative in two zones: the longer one's owner comes first.
	type behind struct {
		overlap
		loser vip.Entry
	}
	var services []behind
	for o, s := range x.clashes(x.zones.Load()) {
		services = append(services, behind{o, s.relative.Row.Entry})
	}
	slices.SortFunc(services, func(a, b behind) int {
		return cmp.Or(-cmp.Compare(len(a.zone), len(b.zone)), cmp.Compare(a.name, b.name))
	})
	for _, s := range services {
		c := at(s.name)
		c.Losers = append(c.Losers, s.loser)
	}
	all := make([]Conflict, 0, len(byName))
	for _, c := range byName {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Conflict) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
