package names

import (
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// An overlap is a full name that is absolute, or the apex's, and that is at
// the same time a relative name below zone.
type overlap struct{ name, zone string }

// sides are who has the two names of an overlap: nil where nobody has.
type sides struct {
	absolute, relative *Record
	reserved           bool // the absolute name is the apex's
}

// clash reports whether both names are somebody's, so that the relative one is
// not answered in that zone.
func (s sides) clash() bool { return (s.reserved || s.absolute != nil) && s.relative != nil }

// sides returns who has the names of o now, where zones are the zones.
func (x *Index) sides(o overlap, zones *zoneSet) sides {
	rel, _ := relative(o.name, o.zone)
	return sides{x.owner(o.name), x.owner(rel), zones.reserves(o.name)}
}

// overlaps returns the overlaps that the draft may change, as they are now. It
// is called after settle and before publish.
func (d *draft) overlaps() map[overlap]sides {
	all := make(map[overlap]sides)
	absolutes := d.x.absolutes.Load() > 0
	for name := range d.seats {
		absolutes = absolutes || isAbsolute(name)
	}
	add := func(name string) {
		for _, zone := range d.zones.names {
			if zone == "." {
				continue
			}
			full := name
			if !isAbsolute(name) {
				if !absolutes && !strings.HasPrefix(name, "ns") {
					return
				}
				full = under(name, zone)
				if d.seats[full] == nil && d.x.owner(full) == nil && !d.zones.reserves(full) {
					continue
				}
			} else if _, ok := relative(full, zone); !ok {
				continue
			}
			o := overlap{full, zone}
			all[o] = d.x.sides(o, d.was)
		}
	}
	for name := range d.seats {
		add(name)
	}
	var buf [2]string
	for _, e := range d.edits {
		for _, name := range e.new.names(buf[:0]) {
			if d.seats[name] == nil {
				add(name)
			}
		}
	}
	return all
}

// clashes returns all overlaps that are clashes now, by a scan of the absolute
// names.
func (x *Index) clashes(zones *zoneSet) map[overlap]sides {
	all := make(map[overlap]sides)
	add := func(name string) {
		for _, zone := range zones.names {
			if _, ok := relative(name, zone); !ok || zone == "." {
				continue
			}
			o := overlap{name, zone}
			if s := x.sides(o, zones); s.clash() {
				all[o] = s
			}
		}
	}
	x.absolute.Range(func(name string, _ *Record) bool { add(name); return true })
	for _, name := range zones.reserved() {
		add(name)
	}
	return all
}

// overlapEvent says what became of an overlap, if an operator wants to know.
func overlapEvent(o overlap, was, is sides) (Event, bool) {
	ev := Event{Name: o.name, Entry: is.relative.entry(), Other: is.absolute.entry()}
	switch {
	case is.reserved && is.clash() && !(was.clash() && sameEntry(was.relative, is.relative)):
		ev.Kind, ev.Reason = NameLost, reservedReason
	case is.clash() && !was.clash() && sameEntry(was.relative, is.relative):
		ev.Kind, ev.Reason = NameMoved, absoluteReason
		ev.Entry, ev.Other = ev.Other, ev.Entry
	case is.clash() && !(was.clash() && sameEntry(was.relative, is.relative)):
		ev.Kind, ev.Reason = NameLost, absoluteReason
	case was.clash() && !is.clash() && is.relative != nil:
		ev.Kind, ev.Other = NameMoved, was.absolute.entry()
		ev.Reason = "nothing comes before the service any more"
	case was.clash() && !is.clash() && is.absolute != nil:
		ev.Kind, ev.Entry, ev.Other = NameFree, is.absolute.entry(), vip.Entry{}
	default:
		return Event{}, false
	}
	return ev, true
}

// sameEntry reports whether two records are of one entry.
func sameEntry(a, b *Record) bool {
	return a == b || a != nil && b != nil && a.Row.Key() == b.Row.Key()
}
