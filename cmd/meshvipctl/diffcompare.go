package main

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// diffSide is one of two tables that are compared.
type diffSide struct {
	// name is what the user called it.
	name string
	// rows are sorted by key.
	rows []diffRow
	// reduced: the table stands in a format of Kuma's, which knows services, hosts
	// and fqdns with one address, and no terms. bare: one that knows no outbounds.
	reduced, bare bool
}

// diffRow is an entry as a table has it.
type diffRow struct {
	entry vip.Entry
	// addrs are sorted, IPv4 first. There are several of a family where Kuma gave
	// them, or where the tables of meshes do not agree.
	addrs []netip.Addr
	// listings are sorted by mesh.
	listings []vip.Listing
}

// What differs, in a [difference].
const (
	onlyA       = "only_in_a"
	onlyB       = "only_in_b"
	otherAddrs  = "address"
	otherListed = "listing"
)

// difference is one way in which an entry differs between two tables.
type difference struct {
	Entry string `json:"entry"`
	What  string `json:"what"`
	// Mesh is set where the mesh lists the entry otherwise.
	Mesh string `json:"mesh,omitempty"`
	// A and B are what the two have, in words; empty where one lacks it.
	A string `json:"a"`
	B string `json:"b"`
}

// diffResult is how two tables compare.
type diffResult struct {
	A     string `json:"a"`
	B     string `json:"b"`
	Equal bool   `json:"equal"`
	// EntriesA and EntriesB count what was compared, Uncompared the entries that
	// only one of Kuma's formats and our tables could have.
	EntriesA    int          `json:"entries_a"`
	EntriesB    int          `json:"entries_b"`
	Uncompared  int          `json:"uncompared"`
	Differences []difference `json:"differences"`
}

// compare compares two tables by key, or only their addresses. Where one stands
// in a format that cannot carry what the other has, that is left out.
func compare(a, b diffSide, addrsOnly bool) diffResult {
	r := diffResult{A: a.name, B: b.name, Differences: []difference{}}
	reduced := a.reduced || b.reduced
	pairs(a.rows, b.rows, diffRow.compare, func(x, y *diffRow) {
		if reduced {
			x, y = x.reduce(), y.reduce()
			if x == nil && y == nil {
				r.Uncompared++
				return
			}
		}
		if x != nil {
			r.EntriesA++
		}
		if y != nil {
			r.EntriesB++
		}
		switch {
		case y == nil:
			r.add(difference{Entry: x.entry.String(), What: onlyA, A: x.words()})
			return
		case x == nil:
			r.add(difference{Entry: y.entry.String(), What: onlyB, B: y.words()})
			return
		case !slices.Equal(x.addrs, y.addrs):
			r.add(difference{Entry: x.entry.String(), What: otherAddrs, A: addrWords(x.addrs), B: addrWords(y.addrs)})
		}
		if !addrsOnly {
			r.listings(x, y, a.bare || b.bare, reduced)
		}
	})
	r.Equal = len(r.Differences) == 0
	return r
}

// listings compares what each mesh says of an entry.
func (r *diffResult) listings(x, y *diffRow, bare, reduced bool) {
	byMesh := func(l, m vip.Listing) int { return strings.Compare(l.Mesh, m.Mesh) }
	pairs(x.listings, y.listings, byMesh, func(l, m *vip.Listing) {
		d := difference{Entry: x.entry.String(), What: otherListed}
		switch {
		case m == nil:
			d.Mesh, d.A = l.Mesh, "listed"
		case l == nil:
			d.Mesh, d.B = m.Mesh, "listed"
		default:
			was, is := *l, *m
			if bare {
				was.Outbounds, is.Outbounds = nil, nil
			}
			if reduced {
				was.Terms, is.Terms = nil, nil
			}
			if was.Equal(is) {
				return
			}
			d.Mesh, d.A, d.B = l.Mesh, sayingWords(was, is), sayingWords(is, was)
		}
		r.add(d)
	})
}

func (r *diffResult) add(d difference) { r.Differences = append(r.Differences, d) }

// compare orders rows by key.
func (r diffRow) compare(o diffRow) int { return r.entry.Key().Compare(o.entry.Key()) }

// reduce returns what both a table of Kuma's and one of ours can have of r, nil
// where that is nothing. A format of Kuma's has one address a row: the first. A
// host that is an IP address has no place in our tables.
func (r *diffRow) reduce() *diffRow {
	if r == nil || r.entry.Kind.OfMesh() {
		return nil
	}
	if _, err := netip.ParseAddr(r.entry.Name); err == nil && r.entry.Kind == vip.Host {
		return nil
	}
	if len(r.addrs) > 1 && slices.ContainsFunc(r.addrs, func(a netip.Addr) bool { return a.Is4() != r.addrs[0].Is4() }) {
		c := *r
		c.addrs = r.addrs[:1]
		return &c
	}
	return r
}

// pairs walks two sorted lists side by side and calls f for each element that one
// of them has, or both.
func pairs[T any](a, b []T, order func(x, y T) int, f func(x, y *T)) {
	for len(a) > 0 || len(b) > 0 {
		c := 0
		switch {
		case len(a) == 0:
			c = 1
		case len(b) == 0:
			c = -1
		default:
			c = order(a[0], b[0])
		}
		var x, y *T
		if c <= 0 {
			x, a = &a[0], a[1:]
		}
		if c >= 0 {
			y, b = &b[0], b[1:]
		}
		f(x, y)
	}
}

// diffRows returns rows, in any order and of one entry any number, as rows to
// compare: one an entry.
func diffRows(rows []*vip.Row) []diffRow {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(x, y *vip.Row) int { return x.Key().Compare(y.Key()) })
	all := make([]diffRow, 0, len(sorted))
	for _, r := range sorted {
		addrs := slices.Concat(r.Addrs(), r.Given())
		if n := len(all); n > 0 && all[n-1].entry.Key() == r.Key() {
			last := &all[n-1]
			last.entry.Name = min(last.entry.Name, r.Entry.Name)
			last.addrs = append(last.addrs, addrs...)
			last.listings = append(slices.Clone(last.listings), r.Listings...)
			continue
		}
		all = append(all, diffRow{entry: r.Entry, addrs: addrs, listings: r.Listings})
	}
	for i := range all {
		r := &all[i]
		slices.SortFunc(r.addrs, func(a, b netip.Addr) int { return cmp.Or(cmp.Compare(a.BitLen(), b.BitLen()), a.Compare(b)) })
		r.addrs = slices.Compact(r.addrs)
		if len(r.listings) > 1 {
			r.listings = slices.Clone(r.listings)
			slices.SortStableFunc(r.listings, func(l, m vip.Listing) int { return strings.Compare(l.Mesh, m.Mesh) })
		}
	}
	return all
}
