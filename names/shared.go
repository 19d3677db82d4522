package names

import (
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// An address is one entry's, as a rule, and then the slot of the address map is
// all there is to know of it. Where several entries have it, the writer keeps
// them all in order, and the slot has the first: its PTR. That happens where an
// address was given to two entries, where it was given to one and the table gave
// it to another, and in a table that is damaged.

// tenant is one of the entries that share an address.
type tenant struct {
	record *Record
	given  bool // it was given the address; else the table gave it
}

// tenants share an address, the one that has its PTR first. The order depends
// on nothing but their entries and who gave them the address.
type tenants = ranking[tenant]

func newTenant(addr netip.Addr, r *Record) tenant { return tenant{r, !r.Row.Has(addr)} }

func (t tenant) compare(o tenant) int {
	switch {
	case t.given == o.given:
		return t.record.Row.Key().Compare(o.record.Row.Key())
	case t.given:
		return 1
	}
	return -1
}

// sharing reports whether several entries have addr, as far as the writer knows.
func (x *Index) sharing(addr netip.Addr) bool {
	if len(x.shared) == 0 {
		return false
	}
	_, ok := x.shared[addr]
	return ok
}

// join makes those addresses shared ones that e brings to its entry while
// another has them, if only until the draft is published, or is to have them.
func (x *Index) join(e *edit, seen seen) {
	if e.new.alike(e.old) {
		return
	}
	var buf [2]netip.Addr
	for _, addr := range e.new.addrs(buf[:0]) {
		if e.old.Has(addr) || x.sharing(addr) {
			continue
		}
		var holder *Record
		if !e.alone {
			holder = x.addrs.at(addr)
		}
		if seen.again(addr) || holder != nil {
			if x.shared == nil {
				x.shared = make(map[netip.Addr]tenants)
			}
			x.shared[addr] = nil
			if holder != nil {
				x.enter(addr, holder)
			}
		}
	}
}

// sharedMoves returns moves with those of shared addresses as they are: from who
// was the first of an address to who is. It adds to sights who stands in for
// these.
func (d *draft) sharedMoves(moves []addrMove, sights []*sight) []addrMove {
	x := d.x
	moves = slices.DeleteFunc(moves, func(m addrMove) bool { return x.sharing(m.addr) })
	touched := make(map[netip.Addr]*Record)
	var buf [2]netip.Addr
	for _, e := range d.edits {
		for _, addr := range e.old.addrs(buf[:0]) {
			if x.leave(addr, e.old) {
				touched[addr] = nil
			}
		}
		for _, addr := range e.new.addrs(buf[:0]) {
			if x.enter(addr, e.new) {
				touched[addr] = nil
			}
		}
	}
	for addr := range touched {
		was, is := x.addrs.at(addr), x.first(addr)
		touched[addr] = is
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
	for _, s := range sights {
		d.guestMoves(s, touched)
	}
	return moves
}

// enter brings a record to its address, if that is shared, and reports whether
// it is.
func (x *Index) enter(addr netip.Addr, r *Record) bool {
	if !x.sharing(addr) {
		return false
	}
	x.shared[addr] = x.shared[addr].put(newTenant(addr, r))
	return true
}

// leave takes a record from its address, if that is shared, and reports whether
// it is.
func (x *Index) leave(addr netip.Addr, r *Record) bool {
	if !x.sharing(addr) {
		return false
	}
	x.shared[addr] = x.shared[addr].drop(newTenant(addr, r))
	return true
}

// first returns the record that is to have the PTR of a shared address, nil if
// none is. With one entry or none left it is shared no more.
func (x *Index) first(addr netip.Addr) *Record {
	l := x.shared[addr]
	if len(l) < 2 {
		delete(x.shared, addr)
	}
	if len(l) == 0 {
		return nil
	}
	return l[0].record
}

// tenant returns the record of an entry among those that share addr, nil if it
// is not among them.
func (x *Index) tenant(addr netip.Addr, row *vip.Row) *Record {
	for _, given := range [2]bool{false, true} {
		if i, ok := x.shared[addr].find(tenant{&Record{Row: row}, given}); ok {
			return x.shared[addr][i].record
		}
	}
	return nil
}
