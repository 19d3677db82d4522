package names

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// EventKind says what happened to a name.
type EventKind uint8

// The kinds of events.
const (
	// NameLost: Entry claims Name and does not get it, for Other has it; or,
	// where Other is the zero Entry, the zone's apex.
	NameLost EventKind = iota
	// NameMoved: Name changed hands, from Other to Entry. Other is the zero
	// Entry where the name was reserved until now.
	NameMoved
	// NameFree: nobody but Entry claims Name any more.
	NameFree
	// Unservable: DNS cannot carry Name, a spelling of Entry.
	Unservable
)

// String returns the kind as logs and metrics show it.
func (k EventKind) String() string {
	switch k {
	case NameLost:
		return "lost"
	case NameMoved:
		return "moved"
	case NameFree:
		return "free"
	case Unservable:
		return "unservable"
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// Event tells the operator of a name that begins to be disputed, changes
// hands, ceases to be disputed, or cannot be served. It is given once, when
// that begins.
type Event struct {
	Kind EventKind
	// Name is relative, without a final dot, where it is meant below every
	// zone, and full, with the dot, otherwise.
	Name         string
	Entry, Other vip.Entry
	// Reason says why, in words.
	Reason string
}

// String returns the event as a line for the log.
func (e Event) String() string {
	switch e.Kind {
	case NameMoved:
		return fmt.Sprintf("name %s changes hands: from %s to %s: %s", shown(e.Name), holder(e.Other), holder(e.Entry), e.Reason)
	case NameFree:
		return fmt.Sprintf("name %s is no longer disputed: %s has it", shown(e.Name), holder(e.Entry))
	case Unservable:
		return fmt.Sprintf("name %s of %s is not served: %s", shown(e.Name), holder(e.Entry), e.Reason)
	}
	return fmt.Sprintf("name %s of %s is answered for %s: %s", shown(e.Name), holder(e.Entry), holder(e.Other), e.Reason)
}

// Conflict is a name that more than one entry claims, or that an entry claims
// and the zone's apex has.
type Conflict struct {
	// Name is relative, without a final dot, or full, with it, as in [Event].
	Name string
	// Winner has the name; the zero Entry is the zone's apex.
	Winner vip.Entry
	// Losers are the others, the one that is next first.
	Losers []vip.Entry
}

// String returns the conflict as a line for the operator.
func (c Conflict) String() string {
	s := fmt.Sprintf("name %s is answered for %s, not for", shown(c.Name), holder(c.Winner))
	for i, l := range c.Losers {
		if i > 0 {
			s += ","
		}
		s += " " + holder(l)
	}
	return s
}

// shown returns a name short enough for a line, with nothing in it that could
// break one: canonical names are printable ASCII.
func shown(name string) string {
	if len(name) > 260 {
		return name[:257] + "..."
	}
	return name
}

func holder(e vip.Entry) string {
	if e == (vip.Entry{}) {
		return "the zone's name server"
	}
	s := fmt.Sprintf("%.260q", e.String())
	return s[1 : len(s)-1]
}

func sortEvents(events []Event) {
	slices.SortFunc(events, func(a, b Event) int {
		return cmp.Or(
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind),
			a.Entry.Key().Compare(b.Entry.Key()),
			a.Other.Key().Compare(b.Other.Key()),
			cmp.Compare(a.Reason, b.Reason),
		)
	})
}
