package allocator_test

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// answer is what becomes of the wish for one address.
type answer int

const (
	yes   answer = iota
	later        // it cools down from another entry
	no           // it is somebody's, or nobody may have it
)

// has returns the address of a family that row has.
func has(row *vip.Row, v4 bool) netip.Addr {
	if v4 {
		return row.V4
	}
	return row.V6
}

// lacks reports whether row is to have an address of the family from a pool,
// and has none.
func lacks(row *vip.Row, v4 bool) bool {
	return !has(row, v4).IsValid() && len(row.Given()) == 0 && !row.Follows()
}

// keys returns the entries of the table, in the order of allocation.
func (o *oracle) keys() []vip.Key { return slices.SortedFunc(maps.Keys(o.rows), vip.Key.Compare) }

// assign gives an address of a family to everybody who is to have one and has
// none. before are the rows as they were before the step.
func (o *oracle) assign(v4 bool, before map[vip.Key]*vip.Row, now time.Duration) {
	stuck := make(map[vip.Key]bool)
	for _, key := range o.keys() { // those with an address of their own choice
		if want := o.static(key, v4); lacks(o.rows[key], v4) && want.IsValid() && o.configured(v4) {
			switch o.wish(key, want, now) {
			case yes:
				o.give(key, want)
			case later:
				stuck[key] = true
			}
		}
	}
	for _, key := range o.keys() { // then owners that are back
		if !lacks(o.rows[key], v4) || stuck[key] || before[key] != nil && !o.configured(v4) {
			continue
		}
		if own := o.own(key, v4, now); own.IsValid() {
			o.give(key, own)
		}
	}
	if !o.configured(v4) {
		return
	}
	for _, waited := range []bool{true, false} { // then those who waited before the others
		for _, key := range o.keys() {
			was := before[key]
			if !lacks(o.rows[key], v4) || stuck[key] || waited != (was != nil && lacks(was, v4)) {
				continue
			}
			if addr := o.next(v4, now); addr.IsValid() {
				o.give(key, addr)
			}
		}
	}
}

// static returns the address of the operator's choice for an entry, unless it is
// one that only Kuma gives addresses.
func (o *oracle) static(key vip.Key, v4 bool) netip.Addr {
	if o.rows[key].Follows() {
		return netip.Addr{}
	}
	return o.chosen(key, v4)
}

// chosen returns the operator's choice: the Corefile's, else the first that a
// mesh asks for.
func (o *oracle) chosen(key vip.Key, v4 bool) netip.Addr {
	for _, s := range o.layout.Statics {
		if s.Key == key && s.Addr.Is4() == v4 {
			return s.Addr
		}
	}
	for _, l := range o.rows[key].Listings {
		if l.Terms == nil {
			continue
		}
		for _, a := range l.Terms.Static {
			if a.Is4() == v4 {
				return a
			}
		}
	}
	return netip.Addr{}
}

// keptFor returns the entry that the Corefile keeps addr for.
func (o *oracle) keptFor(addr netip.Addr) (key vip.Key, ok bool) {
	for _, s := range o.layout.Statics {
		if s.Addr == addr {
			return s.Key, true
		}
	}
	return vip.Key{}, false
}

// holder returns who has addr.
func (o *oracle) holder(addr netip.Addr) (key vip.Key, ok bool) {
	for key, row := range o.rows {
		if row.Has(addr) {
			return key, true
		}
	}
	return vip.Key{}, false
}

// wish says whether the entry of key can have addr, which it is to have.
func (o *oracle) wish(key vip.Key, addr netip.Addr, now time.Duration) answer {
	if r := o.rangeOf(addr); r == nil || !slices.Contains(inPool(r.Prefix), addr) || inRanges(r.Exclude, addr) {
		return no
	}
	if other, kept := o.keptFor(addr); kept && other != key {
		return no
	}
	if _, taken := o.holder(addr); taken || o.given[addr] {
		return no
	}
	r, had := o.past[addr]
	if had && r.owner != key && !o.rested(r, now) || o.quarantined(addr) && r.owner != key {
		return later
	}
	return yes
}

// rested reports whether what was released may go to anybody.
func (o *oracle) rested(r release, now time.Duration) bool {
	return r.at < now && now-r.at >= o.cooldown
}

// own returns the address of a family that key gave back last, of those that it
// may have again: pools that are drained, or configured no more, give it back,
// and what is kept for another entry is its owner's until it has cooled down.
func (o *oracle) own(key vip.Key, v4 bool, now time.Duration) (last netip.Addr) {
	for addr, r := range o.past {
		if addr.Is4() != v4 || r.owner != key || o.poolOf(addr) < 0 || o.given[addr] {
			continue
		}
		if in := o.rangeOf(addr); in != nil && (inRanges(in.Exclude, addr) || inRanges(in.Reserve, addr)) {
			continue
		}
		if other, kept := o.keptFor(addr); kept && other != key && o.rested(r, now) {
			continue
		}
		if !last.IsValid() || r.at > o.past[last].at {
			last = addr
		}
	}
	return last
}
