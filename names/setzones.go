package names

import (
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// SetZones says which forward zones the server blocks serve, all blocks
// together: lower case, with the final dot. Claims between absolute and
// relative names, the reserved names, and which spellings are too long follow
// from them. It scans the index, and returns what became of names by it.
func (x *Index) SetZones(zones []string) []Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	next, last := newZoneSet(zones), x.zones.Load()
	if slices.Equal(next.names, last.names) {
		return nil
	}
	was := x.clashes(last)
	d := newDraft(x, next, 0)
	for _, name := range last.reserved() {
		if !next.reserves(name) {
			d.promote(d.seat(name), name)
		}
	}
	late := d.respell()
	for _, name := range next.reserved() {
		if s := d.seat(name); s.owner.row != nil {
			d.fall(s, name, s.owner)
			s.owner = claim{}
		}
	}
	for _, l := range late {
		d.enter(l.named, l.row)
	}
	d.settle()
	x.zones.Store(next)
	d.publish()
	is := x.clashes(next)
	x.displace(was, is)
	return d.outcome(was, is)
}

// lateClaim is a claim that a shorter longest zone makes possible.
type lateClaim struct {
	named
	row *vip.Row
}

// respell withdraws the claims of names that are too long from now on, and
// returns those that no longer are.
func (d *draft) respell() []lateClaim {
	var late []lateClaim
	if d.was.longest == d.zones.longest {
		return nil
	}
	longest := max(d.was.longest, d.zones.longest)
	d.x.each(func(r *Record) {
		if r.Row.Entry.Kind != vip.Service || len(r.Row.Entry.Name)+longest <= maxTotal {
			return
		}
		before, after := spell(r.Row, d.was.longest), spell(r.Row, d.zones.longest)
		var b, a [2]named
		old, now := before.claims(vip.Service, b[:0]), after.claims(vip.Service, a[:0])
		for _, n := range old {
			if !slices.Contains(now, n) {
				d.withdraw(n, r.Row)
			}
		}
		for _, n := range now {
			if !slices.Contains(old, n) {
				late = append(late, lateClaim{n, r.Row})
			}
		}
		d.report(r.Row, untold(after.faults, before.faults))
	})
	return late
}

// displace brings the views up to a change of the overlaps. An overlap that
// one of the maps lacks is no clash there.
func (x *Index) displace(was, is map[overlap]sides) {
	for _, v := range x.views {
		for o, after := range is {
			v.displace(o, was[o], after)
		}
		for o, before := range was {
			if _, ok := is[o]; !ok {
				v.displace(o, before, sides{})
			}
		}
	}
}
