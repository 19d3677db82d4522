package allocator

import (
	"github.com/meshvip/coredns-meshvip/vip"
)

// cutter fills the parts of a delta one after another.
type cutter struct {
	limits Limits
	rows   int  // that a part may change
	meta   cost // that every part has
	parts  []Delta
	part   Delta // the one at hand
	cost   cost  // of it
}

// room makes room for something in the part at hand, or begins another where it
// is too full for it. What is too large for any part has one of its own.
func (c *cutter) room(k cost) {
	if !c.holds(k) {
		c.flush()
	}
	c.cost.add(k)
}

// holds reports whether the part at hand has room for something.
func (c *cutter) holds(k cost) bool {
	k.add(c.cost)
	return k.within(c.limits)
}

// flush ends the part at hand, if there is anything in it.
func (c *cutter) flush() {
	if p := c.part; len(p.Rows)+len(p.Addrs)+len(p.MeshesNew)+len(p.MeshesGone) > 0 {
		c.parts = append(c.parts, p)
	}
	c.part, c.cost = Delta{}, c.meta
}

// row adds a row with the addresses that it takes and gives back; in steps, where
// it has too many listings for one part.
func (c *cutter) row(r RowChange, addrs []AddrChange) {
	if len(c.part.Rows) >= c.rows {
		c.flush()
	}
	head := r.entryCost()
	for _, a := range addrs {
		head.add(a.cost())
	}
	whole := head
	for mesh, now := range r.Listings() {
		whole.add(listingCost(r.Key, mesh, now))
	}
	alone := c.meta
	if alone.add(whole); alone.within(c.limits) {
		c.room(whole)
		c.put(r, addrs)
		return
	}
	s := steps{cutter: c, change: r, at: r.Old}
	for mesh, now := range r.Listings() {
		if now == nil {
			s.drop = append(s.drop, mesh)
		} else {
			s.set = append(s.set, *now)
		}
	}
	if r.New == nil {
		s.leave(head, addrs)
	} else {
		s.come(head, addrs)
	}
}

func (c *cutter) put(r RowChange, addrs []AddrChange) {
	c.part.Rows = append(c.part.Rows, r)
	c.part.Addrs = append(c.part.Addrs, addrs...)
}

// steps takes one row from what it was to what it will be, in as many parts as
// that takes. It is sound after each: an entry has an address only while a mesh
// lists it.
type steps struct {
	*cutter
	change RowChange
	at     *vip.Row // the row after the steps so far, nil before the first
	// What meshes are still to say, and who is to list it no more, by mesh.
	set  []vip.Listing
	drop []string
}

// come makes a row of one that there will be: with its addresses from the first
// step on, and without the listings that it should not have in the end.
func (s *steps) come(head cost, addrs []AddrChange) {
	for first := true; first || len(s.set)+len(s.drop) > 0; first = false {
		if first {
			both := s.next()
			if both.add(head); !s.holds(both) {
				s.flush()
			}
			s.cost.add(head)
		}
		set, drop := s.take(0)
		row := &vip.Row{Entry: vip.Entry(s.change.Key)}
		if s.at != nil {
			row = s.at
		}
		row = row.With(set, drop)
		row.V4, row.V6 = s.change.New.V4, s.change.New.V6
		s.step(row, addrs)
		addrs = nil
	}
}

// leave makes a row go: its addresses are given back with its last listing.
func (s *steps) leave(head cost, addrs []AddrChange) {
	rest := func() cost {
		c := head
		for _, mesh := range s.drop {
			c.add(listingCost(s.change.Key, mesh, nil))
		}
		return c
	}
	for len(s.drop) > 1 && !s.holds(rest()) {
		_, drop := s.take(1)
		s.step(s.at.With(nil, drop), nil)
	}
	s.room(rest())
	s.step(nil, addrs)
}

// next is what the next listing takes.
func (s *steps) next() cost {
	switch {
	case len(s.set) > 0:
		return listingCost(s.change.Key, s.set[0].Mesh, &s.set[0])
	case len(s.drop) > 0:
		return listingCost(s.change.Key, s.drop[0], nil)
	}
	return cost{}
}

// take returns the listings of the next step: one at least, but for keep, and as
// many as there is room for.
func (s *steps) take(keep int) (set []vip.Listing, drop []string) {
	for n := 0; len(s.set)+len(s.drop) > keep && (n == 0 || s.holds(s.next())); n++ {
		s.room(s.next())
		if len(s.set) > 0 {
			set, s.set = append(set, s.set[0]), s.set[1:]
		} else {
			drop, s.drop = append(drop, s.drop[0]), s.drop[1:]
		}
	}
	return set, drop
}

// step adds the row as it is after a step, the last of its part.
func (s *steps) step(row *vip.Row, addrs []AddrChange) {
	s.put(RowChange{Key: s.change.Key, Old: s.at, New: row}, addrs)
	s.at = row
	s.flush()
}
