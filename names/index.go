package names

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Index finds the record of a name and of an address. See the package's
// documentation for what it promises.
type Index struct {
	// What readers read.
	relative *nameTable                  // without the final dot
	absolute *xsync.Map[string, *Record] // with it
	addrs    addrMap
	zones    atomic.Pointer[zoneSet]
	// absolutes and records are the sizes of absolute, and of addrs with
	// each record counted once.
	absolutes, records atomic.Int64

	// What only the writer reads: mu makes it one.
	mu     sync.Mutex
	losers map[string]losers // by name; never empty
	views  map[string]*View  // by View.id
}

// NewIndex returns an index with no record and no zone.
func NewIndex() *Index {
	x := &Index{
		relative: newNameTable(),
		absolute: xsync.NewMap[string, *Record](),
		addrs:    newAddrMap(),
		losers:   make(map[string]losers),
		views:    make(map[string]*View),
	}
	x.zones.Store(newZoneSet(nil))
	return x
}

// Len returns the number of records, that is, of entries with an address.
func (x *Index) Len() int { return int(x.records.Load()) }

// Apply brings changes into the index, publishes them, and returns what became
// of names by them, sorted by name. A batch holds an entry at most once; the
// order inside it means nothing. Its cost follows the number of changes.
func (x *Index) Apply(changes []Change) []Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := newDraft(x, x.zones.Load(), len(changes))
	for _, c := range changes {
		if same(c) {
			d.update(c.Old, c.New)
		}
	}
	for _, c := range changes {
		if addressed(c.Old) && !same(c) {
			d.depart(c.Old)
		}
	}
	for _, c := range changes {
		if addressed(c.New) && !same(c) {
			d.arrive(c.New)
		}
	}
	d.settle()
	was := d.overlaps()
	d.publish()
	is := make(map[overlap]sides, len(was))
	for o := range was {
		is[o] = x.sides(o, d.zones)
	}
	x.displace(was, is)
	return d.outcome(was, is)
}

// same reports whether c keeps its claims: they follow from the key alone,
// once there is an address.
func same(c Change) bool {
	return addressed(c.Old) && addressed(c.New) && c.Old.Key() == c.New.Key()
}

// owner returns the record that has name, nil if none.
func (x *Index) owner(name string) *Record {
	if isAbsolute(name) {
		r, _ := x.absolute.Load(name)
		return r
	}
	return x.relative.Load(name)
}

// own makes r the record of name; nil makes it nobody's. was is the record
// that has it until now.
func (x *Index) own(name string, was, r *Record) {
	if isAbsolute(name) {
		x.ownAbsolute(name, was, r)
		return
	}
	if r == nil {
		x.relative.Delete(name)
		return
	}
	x.relative.Store(name, r)
}

func (x *Index) ownAbsolute(name string, was, r *Record) {
	switch {
	case was == nil && r != nil:
		x.absolutes.Add(1)
	case was != nil && r == nil:
		// The count falls only after the last reader could need it.
		defer x.absolutes.Add(-1)
	}
	if r == nil {
		x.absolute.Delete(name)
		return
	}
	x.absolute.Store(name, r)
}

// record returns the published record of an entry, found by the addresses of
// a row of it; nil if there is none.
func (x *Index) record(row *vip.Row) *Record {
	key := row.Key()
	for _, addr := range [2]netip.Addr{row.V4, row.V6} {
		if r := x.addrs.at(addr); r != nil && (r.Row == row || r.Row.Key() == key) {
			return r
		}
	}
	return nil
}

// each calls f for each record, once.
func (x *Index) each(f func(*Record)) {
	x.addrs.each(func(v4 bool, r *Record) {
		if v4 || !r.Row.V4.IsValid() {
			f(r)
		}
	})
}
