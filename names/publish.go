package names

import "net/netip"

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

// nameMoves returns what readers are to see of the draft's names.
func (d *draft) nameMoves() []nameMove {
	var buf [2]string
	moves := make([]nameMove, 0, max(len(d.seats), len(d.edits)))
	for _, e := range d.edits {
		for _, name := range e.new.names(buf[:0]) {
			moves = append(moves, nameMove{name, d.x.owner(name), e.new})
		}
	}
	for name, s := range d.seats {
		if s.owner.row == nil && s.before != nil {
			moves = append(moves, nameMove{name, s.before, nil})
		}
	}
	return moves
}

// addrMoves returns what readers are to see of the draft's addresses. An
// address that goes from one entry to another is two moves.
func (d *draft) addrMoves() []addrMove {
	x := d.x
	x.join(d)
	var shared map[netip.Addr]struct{} // those that the draft touches
	touch := func(addr netip.Addr) {
		if shared == nil {
			shared = make(map[netip.Addr]struct{})
		}
		shared[addr] = struct{}{}
	}
	var buf [2]netip.Addr
	moves := make([]addrMove, 0, len(d.edits))
	for _, e := range d.edits {
		for _, addr := range e.old.addrs(buf[:0]) {
			switch {
			case x.leave(addr, e.old):
				touch(addr)
			case !e.new.Has(addr):
				moves = append(moves, addrMove{addr, e.old, nil})
			}
		}
		for _, addr := range e.new.addrs(buf[:0]) {
			switch {
			case x.enter(addr, e.new):
				touch(addr)
			case e.old.Has(addr):
				moves = append(moves, addrMove{addr, e.old, e.new})
			default:
				moves = append(moves, addrMove{addr, nil, e.new})
			}
		}
	}
	for addr := range shared {
		was, is := x.addrs.at(addr), x.first(addr)
		switch {
		case was == is:
		case sameEntry(was, is):
			moves = append(moves, addrMove{addr, was, is})
		default:
			if was != nil {
				moves = append(moves, addrMove{addr, was, nil})
			}
			if is != nil {
				moves = append(moves, addrMove{addr, nil, is})
			}
		}
	}
	return moves
}

// publish shows the draft to readers: departing PTRs go, names are stored, new
// PTRs come. What views count grows before that and shrinks after it, so that
// no name that exists all the while is denied in between.
func (d *draft) publish() {
	x := d.x
	ns, as := d.nameMoves(), d.addrMoves()
	for _, m := range as {
		switch {
		case m.new == nil:
			x.addrs.put(m.addr, nil)
		case m.old != nil && m.old.full != m.new.full:
			// Its PTR is to have another name: until all names are stored, the
			// one that readers get is looked up.
			r := *m.new
			r.full = ""
			x.addrs.put(m.addr, &r)
		}
	}
	x.pause()
	for _, v := range x.views {
		v.count(ns, as, 1)
	}
	for _, m := range ns {
		x.own(m.name, m.old, m.new)
	}
	x.pause()
	for _, m := range as {
		if m.new != nil {
			x.addrs.put(m.addr, m.new)
		}
	}
	x.pause()
	for _, v := range x.views {
		v.count(ns, as, -1)
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
