package names

import (
	"net/netip"

	"github.com/meshvip/coredns-meshvip/vip"
)

// sight is what a draft changes of the records that stand in for others in one
// view.
type sight struct {
	v     *View
	names []nameMove
	addrs []guestMove
}

// guestMove says which record stood in at an address and which is to.
type guestMove struct {
	addrMove
	// stays is the record that the view shows at the address until now, if its
	// entry keeps it, wherever it is found; else nil.
	stays *Record
}

// sights returns what the draft changes of stand-ins at names, where ns are the
// moves of the names themselves.
func (d *draft) sights(ns []nameMove) []*sight {
	var all []*sight
	for _, v := range d.x.views {
		if v.meshes == nil {
			continue
		}
		s := &sight{v: v}
		d.hostMoves(s, ns)
		all = append(all, s)
	}
	return all
}

// hostMoves adds the names at which others stand in than did.
func (d *draft) hostMoves(s *sight, ns []nameMove) {
	v := s.v
	touched := d.touchedHosts(v)
	add := func(name string, had, has *Record, touched bool) {
		old, stood := v.hosts.at(name), (*Record)(nil)
		switch {
		case touched || had == nil || !had.Row.Entry.Kind.OfMesh():
			if c := v.standsIn(name, has); c != nil {
				stood = d.record(c.row)
			}
		case has != nil && has.Row.Entry.Kind.OfMesh() && !v.shows(has.Row):
			stood = old // nothing that the view shows has changed there
		}
		if old != stood {
			s.names = append(s.names, nameMove{name, old, stood})
		}
	}
	for _, m := range ns {
		if isAbsolute(m.name) {
			_, ok := touched[m.name]
			delete(touched, m.name)
			add(m.name, m.old, m.new, ok)
		}
	}
	for name := range touched {
		r := d.owner(name)
		add(name, r, r, true)
	}
}

// touchedHosts returns the hostnames of which more than one entry has a claim, or
// had one, and which an entry claims or claimed that the view shows and the draft
// changes.
func (d *draft) touchedHosts(v *View) map[string]struct{} {
	touched := make(map[string]struct{})
	var buf [2]string
	for _, e := range d.edits {
		for _, r := range [2]*Record{e.old, e.new} {
			if !v.showsRecord(r) {
				continue
			}
			for _, name := range r.claimed(buf[:0]) {
				if len(d.x.losers[name]) > 0 || v.hosts.at(name) != nil {
					touched[name] = struct{}{}
				}
			}
		}
	}
	return touched
}

// record returns what is to be the record of a row that the index has.
func (d *draft) record(row *vip.Row) *Record {
	if e := d.byRow[row]; e != nil {
		return e.new
	}
	r, _ := d.x.record(row)
	return r
}

// owner returns the record that is to have a name, nil if none is.
func (d *draft) owner(name string) *Record {
	if s := d.seats[name]; s != nil {
		if s.owner.row == nil {
			return nil
		}
		return d.record(s.owner.row)
	}
	if r := d.x.owner(name); r != nil {
		return d.record(r.Row)
	}
	return nil
}

// guestMoves adds the addresses at which others stand in than did. firsts are the
// shared addresses that the draft touches, and who is to be the first there.
func (d *draft) guestMoves(s *sight, firsts map[netip.Addr]*Record) {
	v := s.v
	touched := d.touchedAddrs(v, firsts)
	for addr, first := range firsts {
		old, shown := v.guests.at(addr), v.Reverse(addr)
		next, stood := first, (*Record)(nil)
		if !v.showsRecord(first) {
			next = shown // as it was, unless something that the view shows has changed
			if _, ok := touched[addr]; ok {
				next = v.guest(d.x.shared[addr])
			}
			stood = next
		}
		if old == stood {
			continue
		}
		m := guestMove{addrMove{addr, old, stood}, nil}
		if sameEntry(shown, next) {
			m.stays = shown
		}
		s.addrs = append(s.addrs, m)
	}
}

// touchedAddrs returns those of the shared addresses that an entry has or had
// which the view shows and the draft changes.
func (d *draft) touchedAddrs(v *View, shared map[netip.Addr]*Record) map[netip.Addr]struct{} {
	touched := make(map[netip.Addr]struct{})
	if len(shared) == 0 {
		return touched
	}
	var buf [2]netip.Addr
	for _, e := range d.edits {
		for _, r := range [2]*Record{e.old, e.new} {
			if !v.showsRecord(r) {
				continue
			}
			for _, addr := range r.addrs(buf[:0]) {
				if _, ok := shared[addr]; ok {
					touched[addr] = struct{}{}
				}
			}
		}
	}
	return touched
}

// hold makes ready for addresses to change hands: those who stand in and are to
// do so no longer go, and those that stay are where readers find them whatever
// becomes of the first. Until all names are stored, the PTRs of these are looked
// up.
func (s *sight) hold() {
	for _, m := range s.addrs {
		if m.stays == nil {
			s.v.guests.put(m.addr, nil)
			continue
		}
		r := *m.stays
		r.full = ""
		s.v.guests.put(m.addr, &r)
	}
	s.v.turn.Add(1)
}

// showHosts and showGuests show those who stand in from now on. They come before
// the index's own names and addresses, and those that follow after.
func (s *sight) showHosts() {
	for _, m := range s.names {
		if m.new != nil {
			s.v.hosts.put(m.name, m.new)
		}
	}
	s.v.turn.Add(1)
}

func (s *sight) showGuests() {
	for _, m := range s.addrs {
		if m.new != nil {
			s.v.guests.put(m.addr, m.new)
		}
	}
}

// dropHosts and dropGuests take away those whose place is elsewhere by now.
func (s *sight) dropHosts() {
	s.v.turn.Add(1)
	for _, m := range s.names {
		if m.new == nil {
			s.v.hosts.put(m.name, nil)
		}
	}
}

func (s *sight) dropGuests() {
	s.v.turn.Add(1)
	for _, m := range s.addrs {
		if m.new == nil {
			s.v.guests.put(m.addr, nil)
		}
	}
}

// count brings the view's counts up to who stands in from now on (n = 1), or up
// to who does no longer (n = -1).
func (s *sight) count(n int32) {
	turns := func(old, new *Record) bool { return (old == nil) != (new == nil) && (new != nil) == (n > 0) }
	for _, m := range s.names {
		if turns(m.old, m.new) {
			s.v.addName(m.name, n)
		}
	}
	for _, m := range s.addrs {
		if turns(m.old, m.new) {
			s.v.blocks.add(m.addr, n)
		}
	}
}
