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
	// absolutes is the size of absolute, and records the number of records.
	absolutes, records atomic.Int64

	// What only the writer reads: mu makes it one.
	mu     sync.Mutex
	losers map[string]losers      // by name; never empty
	shared map[netip.Addr]tenants // two or more; nil until an address has them
	views  map[string]*View       // by View.id
	// inHugePages is how many records there were when huge pages were asked for.
	inHugePages int64
	// between is called between the steps of a publication, for tests to look;
	// nil otherwise.
	between func()
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
	return x.change(changes)
}

// change is Apply of the one writer.
func (x *Index) change(changes []Change) []Event {
	d := newDraft(x, x.zones.Load(), len(changes))
	for _, c := range changes {
		if c.stays() {
			d.update(c.Old, c.New)
		}
	}
	for _, c := range changes {
		switch {
		case !addressed(c.Old):
		case !c.stays():
			d.depart(c.Old)
		case retold(c.Old, c.New):
			for _, n := range d.only(c.Old, c.New) {
				d.withdraw(n, c.Old)
			}
		}
	}
	for _, c := range changes {
		switch {
		case !addressed(c.New):
		case !c.stays():
			d.arrive(c.New)
		case retold(c.Old, c.New):
			for _, n := range d.only(c.New, c.Old) {
				d.enter(n, c.New)
			}
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
	x.askForHugePages()
	return d.outcome(was, is)
}

// pause is where a test looks at what readers see of a publication.
func (x *Index) pause() {
	if x.between != nil {
		x.between()
	}
}

// stays reports whether c's entry has an address before and after.
func (c Change) stays() bool {
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
// a row of it; nil if there is none. alone says that nobody has any of them.
func (x *Index) record(row *vip.Row) (r *Record, alone bool) {
	alone = true
	key := row.Key()
	var buf [2]netip.Addr
	addrs := addrsOf(row, buf[:0])
	for _, addr := range addrs {
		if r := x.addrs.at(addr); r != nil {
			if r.Row == row || r.Row.Key() == key {
				return r, false
			}
			alone = false
		}
	}
	if alone || len(x.shared) == 0 {
		return nil, alone
	}
	for _, addr := range addrs {
		if r := x.tenant(addr, row); r != nil {
			return r, false
		}
	}
	return nil, false
}

// each calls f for each record, once.
func (x *Index) each(f func(*Record)) {
	x.addrs.each(func(addr netip.Addr, r *Record) {
		if x.home(r) == addr {
			f(r)
		}
	})
	x.hidden(f)
}

// hidden calls f for each record that has no PTR: of all its addresses another
// one is the first.
func (x *Index) hidden(f func(*Record)) {
	for addr, l := range x.shared {
		for _, t := range l {
			if x.home(t.record) == (netip.Addr{}) && t.record.addrs(nil)[0] == addr {
				f(t.record)
			}
		}
	}
}

// home returns the first of the addresses of which a record has the PTR, the
// zero Addr if there is none.
func (x *Index) home(r *Record) netip.Addr {
	var buf [2]netip.Addr
	for _, addr := range r.addrs(buf[:0]) {
		if !x.sharing(addr) || x.addrs.at(addr) == r {
			return addr
		}
	}
	return netip.Addr{}
}
