package vip

import (
	"net/netip"
	"slices"
	"strings"
)

// Listing is what one mesh says of an entry.
type Listing struct {
	Mesh string
	// Name is the entry's name in this mesh's spelling.
	Name string
	// Outbounds are sorted by [Outbound.Compare], without repetition.
	Outbounds []Outbound
	// Terms are what the mesh asks for beside; nil where it asks for nothing.
	Terms *Terms
}

// Equal reports whether l and m say the same.
func (l Listing) Equal(m Listing) bool {
	return l.Mesh == m.Mesh && l.Name == m.Name && slices.EqualFunc(l.Outbounds, m.Outbounds, Outbound.Equal) &&
		l.Terms.Equal(m.Terms)
}

// Row is one line of the address table: an entry, its addresses, and what each
// mesh says of it. A row is immutable.
type Row struct {
	// Entry is the entry in the spelling that is shown: of all its meshes'
	// spellings, the first in sort order.
	Entry Entry
	// V4 and V6 are the addresses that the table gave the entry, one a family.
	// The zero Addr where there is no pool of the family, where the pool is
	// exhausted and the entry waits, and of an entry that has given addresses.
	V4, V6 netip.Addr
	// Listings are sorted by mesh and never empty in a table.
	Listings []Listing
}

// Key returns the identity of the row's entry.
func (r *Row) Key() Key { return r.Entry.Key() }

// Given returns the addresses that Kuma gave to the entry (see [Terms]), sorted:
// those that the first of the meshes says which says any.
func (r *Row) Given() []netip.Addr {
	for _, l := range r.Listings {
		if l.Terms != nil && len(l.Terms.Given) > 0 {
			return l.Terms.Given
		}
	}
	return nil
}

// Follows reports whether only Kuma gives addresses to the entry: one of its
// meshes says so.
func (r *Row) Follows() bool {
	return slices.ContainsFunc(r.Listings, func(l Listing) bool { return l.Terms != nil && l.Terms.Follow })
}

// Hostnames returns the full names that the entry answers to, where they do not
// follow from its own (see [Terms]).
func (r *Row) Hostnames() []string {
	if r.Entry.Kind.OfMesh() && len(r.Listings) > 0 && r.Listings[0].Terms != nil {
		return r.Listings[0].Terms.Hostnames
	}
	return nil
}

// Static returns the address of a family that the first of the meshes which
// ask for one asks for, the zero Addr if none does.
func (r *Row) Static(v4 bool) netip.Addr {
	for _, l := range r.Listings {
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

// Addrs returns the addresses that the table gave the row, v4 first.
func (r *Row) Addrs() []netip.Addr {
	var addrs []netip.Addr
	if r.V4.IsValid() {
		addrs = append(addrs, r.V4)
	}
	if r.V6.IsValid() {
		addrs = append(addrs, r.V6)
	}
	return addrs
}

// Has reports whether addr is one of the row's addresses.
func (r *Row) Has(addr netip.Addr) bool { return addr.IsValid() && (r.V4 == addr || r.V6 == addr) }

// Listing returns what mesh says of the entry, and whether it lists it at all.
func (r *Row) Listing(mesh string) (Listing, bool) {
	i, ok := slices.BinarySearchFunc(r.Listings, mesh, func(l Listing, m string) int { return strings.Compare(l.Mesh, m) })
	if !ok {
		return Listing{}, false
	}
	return r.Listings[i], true
}

// With returns a copy of r in which the meshes of set say what set says and
// those of drop say nothing; both are sorted by mesh, and a mesh is in one of
// them at most. The shown spelling follows, unless no listing is left.
func (r *Row) With(set []Listing, drop []string) *Row {
	c := *r
	c.Listings = make([]Listing, 0, len(r.Listings)+len(set))
	for old := r.Listings; len(old) > 0 || len(set) > 0; {
		switch {
		case len(old) == 0 || len(set) > 0 && set[0].Mesh <= old[0].Mesh:
			if len(old) > 0 && old[0].Mesh == set[0].Mesh {
				old = old[1:]
			}
			c.Listings = append(c.Listings, set[0])
			set = set[1:]
		default:
			for len(drop) > 0 && drop[0] < old[0].Mesh {
				drop = drop[1:]
			}
			if len(drop) == 0 || drop[0] != old[0].Mesh {
				c.Listings = append(c.Listings, old[0])
			}
			old = old[1:]
		}
	}
	if len(c.Listings) > 0 {
		c.Entry.Name = c.spelling()
	}
	return &c
}

// WithListing returns a copy of r in which l.Mesh says l, and the shown
// spelling follows.
func (r *Row) WithListing(l Listing) *Row { return r.With([]Listing{l}, nil) }

// WithoutListing returns a copy of r that mesh does not list any more.
func (r *Row) WithoutListing(mesh string) *Row { return r.With(nil, []string{mesh}) }

// spelling returns the first of the meshes' spellings in sort order.
func (r *Row) spelling() string {
	name := r.Listings[0].Name
	for _, l := range r.Listings[1:] {
		name = min(name, l.Name)
	}
	return name
}

// Equal reports whether r and s have the same entry, addresses and listings.
func (r *Row) Equal(s *Row) bool {
	return r.Entry == s.Entry && r.V4 == s.V4 && r.V6 == s.V6 && slices.EqualFunc(r.Listings, s.Listings, Listing.Equal)
}
