package allocator

import (
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// space is a pool of the table with what a layout says of it.
type space struct {
	prefix netip.Prefix
	// closed: nothing new is given out: the pool is drained or retired.
	closed bool
	// exclude and reserve are the layout's; blocked are they, the static
	// addresses of the layout and what is quarantined together, sorted and
	// merged: what an entry that asks for no address of its own never gets.
	exclude, reserve, blocked []netipx.IPRange
	// size is how many addresses it can give out.
	size uint64
	// gaps are the addresses below the pool's cursor that nobody has, or is
	// remembered to have had, and that are not blocked: sorted ranges. There are
	// none until something is no longer blocked, or is forgotten.
	gaps []netipx.IPRange
}

// newSpaces returns the spaces of the pools of a table under a layout, without
// gaps.
func newSpaces(pools []Pool, l Layout, quarantine []Quarantine) []space {
	spaces := make([]space, len(pools))
	for i, p := range pools {
		s := &spaces[i]
		s.prefix, s.closed, s.size = p.Prefix, p.Retired, p.size(nil)
		j := slices.IndexFunc(l.Pools, func(r Range) bool { return r.Prefix == p.Prefix })
		if j < 0 || p.Retired {
			continue
		}
		s.closed = l.Pools[j].Drain
		s.exclude, s.reserve = l.Pools[j].Exclude, l.Pools[j].Reserve
		s.size = p.size(s.exclude)
		var b netipx.IPSetBuilder
		for _, r := range slices.Concat(s.exclude, s.reserve) {
			b.AddRange(r)
		}
		for _, st := range l.Statics {
			if p.Prefix.Contains(st.Addr) {
				b.Add(st.Addr)
			}
		}
		for _, q := range quarantine {
			if r, ok := clip(q.Range, p.Prefix); ok {
				b.AddRange(r)
			}
		}
		// It fails only on ranges that Layout.Check refuses.
		set, _ := b.IPSet()
		s.blocked = set.Ranges()
	}
	return spaces
}

// blocks reports whether addr is blocked.
func (s *space) blocks(addr netip.Addr) bool {
	_, is := rangeOf(s.blocked, addr)
	return is
}

// rangeOf returns the range of a sorted list that addr lies in.
func rangeOf(ranges []netipx.IPRange, addr netip.Addr) (int, bool) {
	return slices.BinarySearchFunc(ranges, addr, func(r netipx.IPRange, a netip.Addr) int {
		switch {
		case r.To().Less(a):
			return -1
		case a.Less(r.From()):
			return 1
		}
		return 0
	})
}

// within reports whether one of a few ranges has addr, and which.
func within(ranges []netipx.IPRange, addr netip.Addr) (netipx.IPRange, bool) {
	for _, r := range ranges {
		if r.Contains(addr) {
			return r, true
		}
	}
	return netipx.IPRange{}, false
}

// spaceOf returns the first space that addr lies in, nil if none does.
func (t *table) spaceOf(addr netip.Addr) *space {
	if i := t.spaceAt(addr); i >= 0 {
		return &t.spaces[i]
	}
	return nil
}

// spaceAt returns the number of the first space that addr lies in, -1 if none
// does.
func (t *table) spaceAt(addr netip.Addr) int {
	for i := range t.spaces {
		if t.spaces[i].prefix.Contains(addr) {
			return i
		}
	}
	return -1
}

// misplaced says why the entry of key, which has addr, should not, empty if it
// may. It looks at nothing that other rows have.
func (t *table) misplaced(key vip.Key, row *vip.Row, addr netip.Addr) string {
	want := t.static(key, row, addr.Is4())
	if want.IsValid() && want != addr {
		return "its static address is " + want.String()
	}
	return t.unfit(key, addr, t.chosen(key, row, addr.Is4()) == addr)
}

// unfit says why the entry of key cannot stay at addr, empty if it can. static
// says that it is the entry's static address.
func (t *table) unfit(key vip.Key, addr netip.Addr, static bool) string {
	i := t.spaceAt(addr)
	if i < 0 {
		return "it lies in no pool"
	}
	s := &t.spaces[i]
	if t.meta.Pools[i].Retired {
		return "pool " + s.prefix.String() + " is no longer configured"
	}
	if r, ok := within(s.exclude, addr); ok {
		return r.String() + " is excluded"
	}
	if t.given[addr] > 0 {
		return "Kuma gave " + addr.String() + " to an entry of its own"
	}
	if static {
		return ""
	}
	if r, ok := within(s.reserve, addr); ok {
		return r.String() + " is reserved for static addresses"
	}
	if other, ok := t.staticOf[addr]; ok && other != key {
		return addr.String() + " is the static address of " + other.String()
	}
	return ""
}

// static returns the address of a family that the entry of key is to have by
// its operator's choice; the zero Addr if that is left to us, or to Kuma alone.
// row may be nil.
func (t *table) static(key vip.Key, row *vip.Row, v4 bool) netip.Addr {
	if row != nil && row.Follows() {
		return netip.Addr{}
	}
	return t.chosen(key, row, v4)
}

// chosen returns the operator's choice for an entry, whether or not it counts:
// the Corefile's before a resource's.
func (t *table) chosen(key vip.Key, row *vip.Row, v4 bool) netip.Addr {
	if pair, ok := t.statics[key]; ok {
		if v4 && pair[0].IsValid() {
			return pair[0]
		}
		if !v4 && pair[1].IsValid() {
			return pair[1]
		}
	}
	if row == nil {
		return netip.Addr{}
	}
	return row.Static(v4)
}

// setStatics notes the static addresses of the layout.
func (t *table) setStatics(statics []Static) {
	t.statics = make(map[vip.Key][2]netip.Addr, len(statics))
	t.staticOf = make(map[netip.Addr]vip.Key, len(statics))
	for _, s := range statics {
		pair := t.statics[s.Key]
		if s.Addr.Is4() {
			pair[0] = s.Addr
		} else {
			pair[1] = s.Addr
		}
		t.statics[s.Key], t.staticOf[s.Addr] = pair, s.Key
	}
}
