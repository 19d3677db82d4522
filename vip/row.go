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
}

// Equal reports whether l and m say the same.
func (l Listing) Equal(m Listing) bool {
	return l.Mesh == m.Mesh && l.Name == m.Name && slices.EqualFunc(l.Outbounds, m.Outbounds, Outbound.Equal)
}

// Row is one line of the address table: an entry, its addresses, and what each
// mesh says of it. A row is immutable.
type Row struct {
	// Entry is the entry in the spelling that is shown: of all its meshes'
	// spellings, the first in sort order.
	Entry Entry
	// V4 and V6 are the entry's addresses, one a family. The zero Addr where
	// there is no pool of the family, or where the pool is exhausted and the
	// entry waits.
	V4, V6 netip.Addr
	// Listings are sorted by mesh and never empty in a table.
	Listings []Listing
}

// Key returns the identity of the row's entry.
func (r *Row) Key() Key { return r.Entry.Key() }

// Addrs returns the row's addresses, v4 first, none twice.
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

// WithListing returns a copy of r in which l.Mesh says l, and the shown
// spelling follows.
func (r *Row) WithListing(l Listing) *Row {
	c := *r
	i, ok := slices.BinarySearchFunc(r.Listings, l.Mesh, func(l Listing, m string) int { return strings.Compare(l.Mesh, m) })
	if ok {
		c.Listings = slices.Clone(r.Listings)
		c.Listings[i] = l
	} else {
		c.Listings = make([]Listing, 0, len(r.Listings)+1)
		c.Listings = append(append(append(c.Listings, r.Listings[:i]...), l), r.Listings[i:]...)
	}
	c.Entry.Name = c.spelling()
	return &c
}

// WithoutListing returns a copy of r that mesh does not list any more.
func (r *Row) WithoutListing(mesh string) *Row {
	c := *r
	c.Listings = slices.DeleteFunc(slices.Clone(r.Listings), func(l Listing) bool { return l.Mesh == mesh })
	if len(c.Listings) > 0 {
		c.Entry.Name = c.spelling()
	}
	return &c
}

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
