package names

import (
	"math/bits"
	"net/netip"

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

// join makes those addresses shared ones that d brings to an entry while
// another has them, which may leave them in d, or that d may bring to two.
func (x *Index) join(d *draft) {
	seen := newSieve(len(d.edits))
	var buf [2]netip.Addr
	for _, e := range d.edits {
		if e.new.alike(e.old) {
			continue
		}
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

// sieve tells of addresses whether they come for the second time. It may say so
// of one that does not, which costs the caller time and nothing else.
type sieve struct {
	words []uint64
	shift int
}

// newSieve returns a sieve for the addresses of n entries: it is mistaken about
// one in a hundred. One entry alone has none twice.
func newSieve(n int) sieve {
	if n < 2 {
		return sieve{}
	}
	log := bits.Len(uint(n - 1))
	return sieve{make([]uint64, 1<<log), 64 - log}
}

func (s sieve) again(addr netip.Addr) bool {
	if s.words == nil {
		return false
	}
	hi, lo := halves(addr)
	hash := (hi ^ lo*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	hash ^= hash >> 32
	word, bit := &s.words[hash>>s.shift], uint64(1)<<(hash&63)
	was := *word&bit != 0
	*word |= bit
	return was
}
