package names

import (
	"math/bits"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// several is what a record has more than one of, which is few records.
type several struct {
	// v4 and v6 are all addresses of a family; nil where there is one at most.
	v4, v6 []netip.Addr
	// hosts are the hostnames that the entry claims, the one that a PTR shows
	// first; nil where there is one at most, and the record has it.
	hosts []host
}

// host is a hostname, and whether the record has it.
type host struct {
	name string
	has  bool
}

// given returns the addresses that row's entry was given: sorted, none twice,
// and none that a reply cannot carry.
func given(row *vip.Row) []netip.Addr {
	addrs := row.Given()
	for i, addr := range addrs {
		if !carried(addr) || i > 0 && addrs[i-1].Compare(addr) >= 0 {
			addrs = slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool { return !carried(a) })
			slices.SortFunc(addrs, netip.Addr.Compare)
			return slices.Compact(addrs)
		}
	}
	return addrs
}

// carried reports whether a reply can carry addr.
func carried(addr netip.Addr) bool { return addr.IsValid() && addr.Zone() == "" }

// addressed reports whether row has an address, that is, whether it has a
// record.
func addressed(row *vip.Row) bool {
	return row != nil && (row.V4.IsValid() || row.V6.IsValid() || slices.ContainsFunc(row.Given(), carried))
}

// addrsOf appends the addresses of a row: one that it was given and that the
// table gave it too, twice.
func addrsOf(row *vip.Row, dst []netip.Addr) []netip.Addr {
	if row.V4.IsValid() {
		dst = append(dst, row.V4)
	}
	if row.V6.IsValid() {
		dst = append(dst, row.V6)
	}
	return append(dst, given(row)...)
}

// Several returns all addresses of a family where the record has more than one
// of it, and nil otherwise. They are not to be modified.
func (r *Record) Several(v4 bool) []netip.Addr {
	switch {
	case r.more == nil:
		return nil
	case v4:
		return r.more.v4
	}
	return r.more.v6
}

// take brings given addresses into a record that is not published yet.
func (r *Record) take(given []netip.Addr) {
	i := slices.IndexFunc(given, netip.Addr.Is6)
	if i < 0 {
		i = len(given)
	}
	v4, v6 := after(r.Row.V4, given[:i:i]), after(r.Row.V6, given[i:])
	if len(v4) > 0 {
		r.v4, r.families = v4[0].As4(), r.families|hasV4
	}
	if len(v6) > 0 {
		r.v6, r.families = v6[0].As16(), r.families|hasV6
	}
	if len(v4) > 1 {
		r.severals().v4 = v4
	}
	if len(v6) > 1 {
		r.severals().v6 = v6
	}
}

// after returns the given addresses of a family after the one that the table
// gave, if it gave one.
func after(own netip.Addr, given []netip.Addr) []netip.Addr {
	if !own.IsValid() {
		return given
	}
	all := []netip.Addr{own}
	for _, addr := range given {
		if addr != own {
			all = append(all, addr)
		}
	}
	return all
}

// severals returns r.more, to be added to.
func (r *Record) severals() *several {
	if r.more == nil {
		r.more = new(several)
	}
	return r.more
}

// Has reports whether addr is one of the record's addresses.
func (r *Record) Has(addr netip.Addr) bool {
	if r == nil || addr.Zone() != "" {
		return false
	}
	if all := r.Several(addr.Is4()); all != nil {
		return slices.Contains(all, addr)
	}
	if addr.Is4() {
		return r.families&hasV4 != 0 && r.v4 == addr.As4()
	}
	return addr.IsValid() && r.families&hasV6 != 0 && r.v6 == addr.As16()
}

// alike reports whether r and o have the same addresses, one a family at most.
func (r *Record) alike(o *Record) bool {
	return r != nil && o != nil && r.more == nil && o.more == nil &&
		r.families == o.families && r.v4 == o.v4 && r.v6 == o.v6
}

// size returns how many addresses the record has, or up to two more.
func (r *Record) size() int {
	if r.more == nil {
		return bits.OnesCount8(uint8(r.families))
	}
	return len(r.more.v4) + len(r.more.v6) + 2
}

// addrs appends the record's addresses, none twice.
func (r *Record) addrs(dst []netip.Addr) []netip.Addr {
	if r == nil {
		return dst
	}
	switch all := r.Several(true); {
	case all != nil:
		dst = append(dst, all...)
	case r.families&hasV4 != 0:
		dst = append(dst, netip.AddrFrom4(r.v4))
	}
	switch all := r.Several(false); {
	case all != nil:
		dst = append(dst, all...)
	case r.families&hasV6 != 0:
		dst = append(dst, netip.AddrFrom16(r.v6))
	}
	return dst
}
