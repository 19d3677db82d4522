package names

import (
	"fmt"

	"github.com/meshvip/coredns-meshvip/vip"
)

const (
	reservedReason   = "the name is reserved for the zone's name server"
	absoluteReason   = "a host or an fqdn comes before a service"
	unreservedReason = "the name is no longer reserved for a zone's name server"
)

// outcome returns the events of a draft that has been published. was and is
// are its overlaps before and after.
func (d *draft) outcome(was, is map[overlap]sides) []Event {
	events := d.unserved
	for name, s := range d.seats {
		if s.before != nil || s.lost != nil || d.was.reserves(name) {
			events = d.seatEvents(events, name, s)
		}
	}
	for o, after := range is {
		events = d.addOverlap(events, o, was[o], after)
	}
	for o, before := range was {
		if _, ok := is[o]; !ok && d.zones.has(o.zone) {
			events = d.addOverlap(events, o, before, d.x.sides(o, d.zones))
		}
	}
	sortEvents(events)
	return events
}

func (d *draft) addOverlap(events []Event, o overlap, was, is sides) []Event {
	ev, ok := overlapEvent(o, was, is)
	if !ok || ev.Kind == NameFree && d.x.disputed(o.name, d.zones) {
		return events
	}
	return append(events, ev)
}

// seatEvents adds what became of one name among the claims of its own sort.
func (d *draft) seatEvents(events []Event, name string, s *seat) []Event {
	owner := s.owner.row
	var behind lost
	if s.lost != nil {
		behind = *s.lost
	}
	var had, has vip.Key
	if s.before != nil {
		had = s.before.Row.Key()
	}
	if owner != nil {
		has = owner.Key()
	}
	switch {
	case owner == nil:
	case s.before != nil && had != has:
		events = append(events, Event{
			Kind: NameMoved, Name: name, Entry: owner.Entry, Other: s.before.Row.Entry,
			Reason: moveReason(s, behind.fell, had),
		})
	case s.before == nil && d.was.reserves(name):
		events = append(events, Event{Kind: NameMoved, Name: name, Entry: owner.Entry, Reason: unreservedReason})
	case s.before != nil && behind.left && !d.x.disputed(name, d.zones):
		events = append(events, Event{Kind: NameFree, Name: name, Entry: owner.Entry})
	}
	for _, c := range behind.fell {
		switch {
		case owner == nil:
			events = append(events, Event{Kind: NameLost, Name: name, Entry: c.row.Entry, Reason: reservedReason})
		case s.before == nil || c.row.Key() != had:
			events = append(events, Event{
				Kind: NameLost, Name: name, Entry: c.row.Entry, Other: owner.Entry, Reason: before(s.owner, c),
			})
		}
	}
	return events
}

// moveReason says why the entry with key had lost a name that it had, where
// fell are those that lost it to another's claim.
func moveReason(s *seat, fell []claim, had vip.Key) string {
	for _, c := range fell {
		if c.row.Key() == had {
			return before(s.owner, c)
		}
	}
	return fmt.Sprintf("%s claims it no longer", holder(s.before.Row.Entry))
}

// before says why claim a comes before claim b.
func before(a, b claim) string {
	switch {
	case a.rank == b.rank && a.ofMesh() && b.ofMesh() && a.row.Entry.Mesh != b.row.Entry.Mesh:
		return "where the meshes of both are shown, the smaller key comes first"
	case a.rank == b.rank:
		return "of two claims alike the smaller key comes first"
	}
	return fmt.Sprintf("%s comes before %s", a.rank, b.rank)
}

// disputed reports whether more than one entry claims name. It is asked for
// absolute names of which the relative side matters too.
func (x *Index) disputed(name string, zones *zoneSet) bool {
	if len(x.losers[name]) > 0 {
		return true
	}
	if !isAbsolute(name) {
		return false
	}
	for _, zone := range zones.names {
		if rel, ok := relative(name, zone); ok && zone != "." && x.owner(rel) != nil {
			return true
		}
	}
	return false
}
