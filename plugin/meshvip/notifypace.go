package meshvip

import (
	"slices"
	"time"
)

const (
	// notifyEvery is the time between two NOTIFYs of one zone, whatever changes in
	// between. The first is sent at once.
	notifyEvery = 5 * time.Second
	// notifyAtOnce is of how many zones secondaries are told at the same time. One
	// that does not answer takes some seconds.
	notifyAtOnce = 16
)

// paces says of which zones secondaries are to be told, and when, by the zones'
// names. A zone that is told of is told of once at a time.
type paces map[string]*pace

type pace struct {
	changed bool // there is something to tell of
	telling bool
	next    time.Time // not before
}

// change notes that a zone has changed.
func (p paces) change(zone string) {
	if p[zone] == nil {
		p[zone] = new(pace)
	}
	p[zone].changed = true
}

// due returns the zones that are to be told of at now, sorted, and takes them for
// being told of; and when the next ones are due, the zero Time if none waits.
func (p paces) due(now time.Time) (zones []string, next time.Time) {
	for zone, z := range p {
		switch {
		case !z.changed || z.telling:
		case !z.next.After(now):
			z.changed, z.telling, z.next = false, true, now.Add(notifyEvery)
			zones = append(zones, zone)
		case next.IsZero() || z.next.Before(next):
			next = z.next
		}
	}
	slices.Sort(zones)
	return zones, next
}

// told notes that a zone is not being told of any more.
func (p paces) told(zone string) { p[zone].telling = false }
