package names

import (
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"
)

// Where a view hides the entry that comes first at a hostname or at an address,
// another one may stand in for it there: the next that the view shows. Each view
// that hides anything holds these records itself, so that a query finds one by
// one more lookup, whatever the number of entries that come before it.

// standIns are the records that stand in for others, by hostname or by address.
// One writer, readers without a lock.
type standIns[K comparable] struct {
	records *xsync.Map[K, *Record]
	n       atomic.Int64 // of records, so that readers can pass over none
}

func newStandIns[K comparable]() *standIns[K] {
	return &standIns[K]{records: xsync.NewMap[K, *Record]()}
}

// at returns the record that stands in at key, nil if none does.
func (s *standIns[K]) at(key K) *Record {
	if s.n.Load() == 0 {
		return nil
	}
	r, _ := s.records.Load(key)
	return r
}

// put lets r stand in at key; nil takes away who does.
func (s *standIns[K]) put(key K, r *Record) {
	if r == nil {
		if _, had := s.records.LoadAndDelete(key); had {
			s.n.Add(-1)
		}
		return
	}
	// The count rises before the first reader could need it.
	if _, has := s.records.Load(key); !has {
		s.n.Add(1)
	}
	s.records.Store(key, r)
}

// standsIn returns the row of the entry that is to stand in for first, the owner
// of an absolute name, where first is hidden; nil if none is. Only hostnames of
// entries that are keyed by their mesh are answered for another.
func (v *View) standsIn(name string, first *Record) *claim {
	if first == nil || !first.Row.Entry.Kind.OfMesh() || v.shows(first.Row) {
		return nil
	}
	l := v.x.losers[name]
	for i := range l {
		// After a hostname, no claim alike is of another sort: fqdns come before.
		if l[i].rank != byFQDN {
			return nil
		}
		if v.shows(l[i].row) {
			return &l[i]
		}
	}
	return nil
}

// guest returns the record that is to stand in for the first of those that share
// an address, where that is hidden; nil if none is.
func (v *View) guest(l tenants) *Record {
	for i, t := range l {
		switch {
		case !v.shows(t.record.Row):
		case i == 0:
			return nil
		default:
			return t.record
		}
	}
	return nil
}

// standIn finds all that is to stand in in a new view.
func (v *View) standIn() {
	x := v.x
	for name := range x.losers {
		if !isAbsolute(name) {
			continue
		}
		if c := v.standsIn(name, x.owner(name)); c != nil {
			r, _ := x.record(c.row)
			v.hosts.put(name, r)
			v.addName(name, 1)
		}
	}
	for addr, l := range x.shared {
		if r := v.guest(l); r != nil {
			v.guests.put(addr, r)
			v.blocks.add(addr, 1)
		}
	}
}
