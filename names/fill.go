package names

import (
	"net/netip"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// countAhead is how many records may wait until the views have counted them.
const countAhead = 4096

// Fill brings a whole table into an index that is empty, and returns what became
// of names by it, as [Index.Apply] would for all rows at once. It takes a
// fraction of the time, for nearly all names are claimed once: those are stored
// as they come, and only what is left goes the way of a change. It is for an
// index that nobody reads yet: what a name's ancestors show comes after the name.
func (x *Index) Fill(rows []*vip.Row) []Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	left := rows
	if x.records.Load() == 0 && len(x.losers) == 0 {
		left = x.fillPlain(rows)
	}
	changes := make([]Change, len(left))
	for i, r := range left {
		changes[i].New = r
	}
	return x.change(changes)
}

// filling is an index while its plain records are stored.
type filling struct {
	x     *Index
	zones *zoneSet
	// disputed are the relative names that hosts, fqdns or told hostnames claim
	// in some zone, and those that services claim which are not plain: nobody is
	// who claims one.
	disputed map[string]struct{}
	// evicted were stored, and are not plain after all.
	evicted []*Record
	left    []*vip.Row
	block   []Record
}

// fillPlain stores the records of services that share no name and no address
// with anybody, and returns the other rows.
func (x *Index) fillPlain(rows []*vip.Row) []*vip.Row {
	f := &filling{x: x, zones: x.zones.Load(), disputed: make(map[string]struct{})}
	for _, r := range rows {
		if r.Entry.Kind != vip.Service {
			f.left = append(f.left, r)
			f.dispute(r)
		}
	}
	x.relative.reserve(names(rows))
	stored, counted := make(chan *Record, countAhead), make(chan struct{})
	sums := sumsOf(x.views)
	go func() {
		defer close(counted)
		for r := range stored {
			sums.count(r, 1)
		}
	}()
	n := 0
	for _, r := range rows {
		if r.Entry.Kind != vip.Service {
			continue
		}
		if rec := f.store(r); rec != nil {
			stored <- rec
			n++
		}
	}
	close(stored)
	<-counted
	for _, r := range f.evicted {
		sums.count(r, -1)
		f.left = append(f.left, r.Row)
	}
	sums.give()
	x.records.Add(int64(n - len(f.evicted)))
	return f.left
}

// names returns how many names services have, at most.
func names(rows []*vip.Row) int {
	n := 0
	for _, r := range rows {
		if r.Entry.Kind == vip.Service {
			if n++; strings.IndexByte(r.Entry.Name, '_') >= 0 {
				n++
			}
		}
	}
	return n
}

// dispute notes what row's absolute names are below the zones.
func (f *filling) dispute(row *vip.Row) {
	var buf [2]named
	all, _ := claims(row, f.zones.longest, buf[:0])
	for _, n := range all {
		for _, zone := range f.zones.names {
			if rel, ok := relative(n.name, zone); ok {
				f.disputed[rel] = struct{}{}
			}
		}
	}
}

// store stores the record of a service, and returns it; nil if it is not plain,
// or has none.
func (f *filling) store(row *vip.Row) *Record {
	if !addressed(row) {
		return nil
	}
	var buf [2]named
	all, faults := claims(row, f.zones.longest, buf[:0])
	plain := len(faults) == 0
	for _, n := range all {
		plain = f.free(n.name) && plain
	}
	var addrs [2]netip.Addr
	for _, addr := range addrsOf(row, addrs[:0]) {
		if r := f.x.addrs.at(addr); r != nil {
			f.evict(r)
			plain = false
		}
	}
	if !plain {
		for _, n := range all {
			f.disputed[n.name] = struct{}{}
		}
		f.left = append(f.left, row)
		return nil
	}
	rec := next(&f.block)
	rec.begin(row, nil)
	for _, n := range all {
		rec.set(n, true)
	}
	rec.finish(f.zones.first)
	var names [2]string
	for _, name := range rec.names(names[:0]) {
		f.x.relative.Store(name, rec)
	}
	for _, addr := range rec.addrs(addrs[:0]) {
		f.x.addrs.put(addr, rec)
	}
	return rec
}

// free reports whether nobody else claims a relative name. Whoever has it is
// not plain then either.
func (f *filling) free(name string) bool {
	if r := f.x.relative.Load(name); r != nil {
		f.evict(r)
		return false
	}
	if strings.HasPrefix(name, "ns") { // which may be the apex's
		return false
	}
	if len(f.disputed) == 0 {
		return true
	}
	_, disputed := f.disputed[name]
	return !disputed
}

// evict takes a record out again.
func (f *filling) evict(r *Record) {
	var names [2]string
	for _, name := range r.names(names[:0]) {
		f.x.relative.Delete(name)
		f.disputed[name] = struct{}{}
	}
	var addrs [2]netip.Addr
	for _, addr := range r.addrs(addrs[:0]) {
		f.x.addrs.put(addr, nil)
	}
	f.evicted = append(f.evicted, r)
}
