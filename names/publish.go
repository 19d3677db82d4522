package names

import (
	"net/netip"
	"slices"
)

// nameMove and addrMove say whose a name or an address was and is: nil for
// nobody.
type nameMove struct {
	name     string
	old, new *Record
}

type addrMove struct {
	addr     netip.Addr
	old, new *Record
}

// moves returns all that readers are to see of the draft. An address that goes
// from one entry to another is two moves.
func (d *draft) moves() ([]nameMove, []addrMove, []*sight) {
	ns := d.nameMoves()
	sights := d.sights(ns)
	as := make([]addrMove, 0, len(d.edits))
	seen := newSeen(d.brought)
	for _, e := range d.edits {
		d.x.join(e, seen)
		as = e.moves(as)
	}
	if len(d.x.shared) > 0 {
		as = d.sharedMoves(as, sights)
	}
	sights = slices.DeleteFunc(sights, func(s *sight) bool { return len(s.names)+len(s.addrs) == 0 })
	return ns, as, sights
}

func (d *draft) nameMoves() []nameMove {
	var buf [2]string
	ns := make([]nameMove, 0, max(len(d.seats), len(d.edits)))
	for _, e := range d.edits {
		for _, name := range e.new.names(buf[:0]) {
			ns = append(ns, nameMove{name, d.x.owner(name), e.new})
		}
	}
	for name, s := range d.seats {
		if s.owner.row == nil && s.before != nil {
			ns = append(ns, nameMove{name, s.before, nil})
		}
	}
	return ns
}

// moves appends the moves of e's addresses, as if nobody else had them.
func (e *edit) moves(dst []addrMove) []addrMove {
	var buf [2]netip.Addr
	for _, addr := range e.old.addrs(buf[:0]) {
		if !e.new.Has(addr) {
			dst = append(dst, addrMove{addr, e.old, nil})
		}
	}
	for _, addr := range e.new.addrs(buf[:0]) {
		m := addrMove{addr, nil, e.new}
		if e.old.Has(addr) {
			m.old = e.old
		}
		dst = append(dst, m)
	}
	return dst
}

// publish shows the draft to readers: departing PTRs go, names are stored, new
// PTRs come. What views count grows before that and shrinks after it, so that
// no name that exists all the while is denied in between.
func (d *draft) publish() {
	x := d.x
	ns, as, sights := d.moves()
	for _, s := range sights {
		s.hold()
	}
	for _, m := range as {
		switch {
		case m.new == nil:
			x.addrs.put(m.addr, nil)
		case m.old != nil && m.old.full != "" && (m.old.full != m.new.full || x.leavesSight(m)):
			// Its PTR is to have another name, or none in some view: until all
			// names are stored, the one that readers get is looked up.
			r := *m.new
			r.full = ""
			x.addrs.put(m.addr, &r)
		}
	}
	x.pause()
	for _, v := range x.views {
		v.count(ns, as, 1)
	}
	for _, s := range sights {
		s.count(1)
		s.showHosts()
	}
	for _, m := range ns {
		x.own(m.name, m.old, m.new)
	}
	for _, s := range sights {
		s.dropHosts()
	}
	x.pause()
	for _, s := range sights {
		s.showGuests()
	}
	for _, m := range as {
		if m.new != nil {
			x.addrs.put(m.addr, m.new)
		}
	}
	for _, s := range sights {
		s.dropGuests()
	}
	x.pause()
	for _, v := range x.views {
		v.count(ns, as, -1)
	}
	for _, s := range sights {
		s.count(-1)
	}
	for _, e := range d.edits {
		switch {
		case e.old == nil && e.new != nil:
			x.records.Add(1)
		case e.old != nil && e.new == nil:
			x.records.Add(-1)
		}
	}
}

// leavesSight reports whether some view shows who had an address and not who
// is to have it.
func (x *Index) leavesSight(m addrMove) bool {
	for _, v := range x.views {
		if v.shows(m.old.Row) && !v.shows(m.new.Row) {
			return true
		}
	}
	return false
}
