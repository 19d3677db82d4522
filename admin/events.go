package admin

import (
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// change returns what a commit did, in the order of keys: a pure function.
func (r recorded) change() Change {
	c := Change{
		ID: r.cursor().String(), Serial: r.Meta.Serial, Revision: r.Meta.Revision, Time: r.at.UTC(), Events: []Event{},
	}
	for _, mesh := range r.MeshesNew {
		c.Events = append(c.Events, Event{What: MeshCreated, Mesh: mesh})
	}
	back := make(map[netip.Addr]bool)
	for _, a := range r.Addrs {
		if a.Old != nil && a.New != nil && a.Old.Released && a.Old.Owner == a.New.Owner {
			back[a.Addr] = true
		}
	}
	moves := r.Moves // by key, as the rows are
	for _, row := range r.Rows {
		var own []allocator.Move
		for len(moves) > 0 && moves[0].Key.Compare(row.Key) <= 0 {
			if moves[0].Key == row.Key {
				own = append(own, moves[0])
			}
			moves = moves[1:]
		}
		c.Events = append(c.Events, rowEvents(row, own, back)...)
	}
	for _, a := range r.Addrs {
		if a.New == nil {
			c.Events = append(c.Events, Event{What: Forgotten, Entry: a.Old.Owner.String(), From: a.Addr})
		}
	}
	for _, mesh := range r.MeshesGone {
		c.Events = append(c.Events, Event{What: MeshGone, Mesh: mesh})
	}
	return c
}

// rowEvents returns what became of one row. back are the addresses that their
// last owner got back.
func rowEvents(c allocator.RowChange, moves []allocator.Move, back map[netip.Addr]bool) (events []Event) {
	old, row := c.Old, c.New
	if old == nil {
		old = &vip.Row{Entry: vip.Entry(c.Key)}
	}
	if row == nil {
		row = &vip.Row{Entry: old.Entry}
	}
	entry := row.Entry.String()
	add := func(e Event) {
		e.Entry = entry
		events = append(events, e)
	}
	listings(old, row, add)
	if given := row.Given(); !slices.Equal(old.Given(), given) {
		add(Event{What: GivenChanged, Given: given})
	}
	for _, v4 := range []bool{true, false} {
		from, to := of(old, v4), of(row, v4)
		i := slices.IndexFunc(moves, func(m allocator.Move) bool { return m.From.Is4() == v4 })
		switch {
		case from == to:
		case i >= 0:
			add(Event{What: Moved, From: from, To: moves[i].To, Why: moves[i].Why})
		case from.IsValid() && to.IsValid():
			add(Event{What: Moved, From: from, To: to})
		case from.IsValid():
			add(Event{What: ReleasedAddr, From: from})
		case back[to]:
			add(Event{What: Returned, To: to})
		default:
			add(Event{What: Allocated, To: to})
		}
	}
	return events
}

// listings tells which meshes list the entry, list it no longer, or say
// something else of it.
func listings(old, row *vip.Row, add func(Event)) {
	for _, l := range row.Listings {
		switch was, ok := old.Listing(l.Mesh); {
		case !ok:
			add(Event{What: Listed, Mesh: l.Mesh})
		case !was.Equal(l):
			add(Event{What: Changed, Mesh: l.Mesh})
		}
	}
	for _, l := range old.Listings {
		if _, ok := row.Listing(l.Mesh); !ok {
			add(Event{What: Unlisted, Mesh: l.Mesh})
		}
	}
}

// of returns the address of a family that the table gave a row.
func of(row *vip.Row, v4 bool) netip.Addr {
	if v4 {
		return row.V4
	}
	return row.V6
}
