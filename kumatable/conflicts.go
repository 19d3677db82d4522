package kumatable

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Claim is what one row of one table says: the entry has the address in the
// mesh.
type Claim struct {
	Entry vip.Entry
	Addr  netip.Addr
	Mesh  string
	From  string // the table, see [Table]
}

// Conflict is an address that several entries have, or an entry that has several
// addresses of one family. Kuma's tables may have both, since most of its
// releases look at one mesh only.
type Conflict struct {
	// Addr is the address that several entries have, the zero Addr where it is
	// one entry that has several.
	Addr netip.Addr
	// Key is the entry that has several addresses, the zero Key where it is an
	// address.
	Key vip.Key
	// Claims are what the rows say, none twice. Who takes tables over gives the
	// address to the first entry, or keeps the first address for the entry:
	// they are sorted by key, then by mesh, and a mesh's own by address.
	Claims []Claim
}

// String tells the conflict in a line: who has what, the first first.
func (c Conflict) String() string {
	var b strings.Builder
	if c.Addr.IsValid() {
		fmt.Fprintf(&b, "address %v is that of", c.Addr)
	} else {
		fmt.Fprintf(&b, "entry %.80q has", c.Key)
	}
	sep := " "
	for _, l := range c.Claims {
		b.WriteString(sep)
		if c.Addr.IsValid() {
			fmt.Fprintf(&b, "%.80q", l.Entry)
		} else {
			b.WriteString(l.Addr.String())
		}
		fmt.Fprintf(&b, " in mesh %.80q", l.Mesh)
		sep = ", "
	}
	return b.String()
}

// Conflicts returns what the tables do not agree on, with each other and within
// themselves: first addresses in order, then entries by key. One entry that
// several meshes list with one address is right, and so is one with an IPv4 and
// an IPv6 address. Rows without an address claim nothing.
func Conflicts(tables []Table) []Conflict {
	var claims []Claim
	for _, t := range tables {
		for _, r := range t.Rows {
			for _, addr := range r.Addrs() {
				claims = append(claims, Claim{r.Entry, addr, t.Mesh, t.From})
			}
		}
	}
	// Of equal claims that of the first table stays.
	slices.SortStableFunc(claims, Claim.compare)
	claims = slices.CompactFunc(claims, func(x, y Claim) bool { return x.compare(y) == 0 })

	var conflicts []Conflict
	for _, is4 := range []bool{true, false} {
		same := slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool { return c.Addr.Is4() != is4 })
		for group := range groups(same, func(x, y Claim) bool { return x.Entry.Key() == y.Entry.Key() }) {
			if slices.ContainsFunc(group, func(c Claim) bool { return c.Addr != group[0].Addr }) {
				conflicts = append(conflicts, Conflict{Key: group[0].Entry.Key(), Claims: group})
			}
		}
	}
	slices.SortStableFunc(claims, func(x, y Claim) int { return x.Addr.Compare(y.Addr) })
	for group := range groups(claims, func(x, y Claim) bool { return x.Addr == y.Addr }) {
		if slices.ContainsFunc(group, func(c Claim) bool { return c.Entry.Key() != group[0].Entry.Key() }) {
			conflicts = append(conflicts, Conflict{Addr: group[0].Addr, Claims: slices.Clone(group)})
		}
	}
	slices.SortStableFunc(conflicts, func(x, y Conflict) int {
		if x.Addr.IsValid() && y.Addr.IsValid() {
			return x.Addr.Compare(y.Addr)
		}
		return cmp.Or(y.Addr.Compare(x.Addr), x.Key.Compare(y.Key)) // no Addr is less than any
	})
	return conflicts
}

// compare orders claims by key, mesh, address and spelling.
func (c Claim) compare(d Claim) int {
	return cmp.Or(
		c.Entry.Key().Compare(d.Entry.Key()),
		strings.Compare(c.Mesh, d.Mesh),
		c.Addr.Compare(d.Addr),
		strings.Compare(c.Entry.Name, d.Entry.Name),
	)
}

// groups yields the runs of claims that are alike.
func groups(claims []Claim, alike func(x, y Claim) bool) func(func([]Claim) bool) {
	return func(yield func([]Claim) bool) {
		for start := 0; start < len(claims); {
			end := start + 1
			for end < len(claims) && alike(claims[start], claims[end]) {
				end++
			}
			if !yield(claims[start:end:end]) {
				return
			}
			start = end
		}
	}
}
