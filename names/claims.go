package names

import (
	"cmp"

	"github.com/meshvip/coredns-meshvip/vip"
)

// rank is how good a claim is: what somebody wrote comes before what was
// derived. A relative name is claimed by literal and dotted only, an absolute
// one by fqdn and host only. A hostname that an entry is told, which somebody
// wrote or generated, is claimed as an fqdn is.
type rank uint8

const (
	byFQDN rank = iota
	byHost
	byLiteral
	byDotted
)

// String returns the rank as events show it.
func (r rank) String() string {
	return [...]string{"an fqdn", "a host", "a literal name", "a dotted spelling"}[r]
}

// claim is one row's claim to a name.
type claim struct {
	row  *vip.Row
	rank rank
}

// compare orders the claims to one name, the owner's first. The order depends
// on nothing but the two.
func (c claim) compare(o claim) int {
	return cmp.Or(cmp.Compare(c.rank, o.rank), c.row.Key().Compare(o.row.Key()))
}

// ofMesh reports whether the claim is to a hostname, by an entry that is keyed by
// its mesh.
func (c claim) ofMesh() bool { return c.row.Entry.Kind.OfMesh() }

// named is a claim's name and rank.
type named struct {
	name string
	rank rank
}

// claims appends to dst the names that an entry of kind k so spelled claims:
// none twice, and hostnames in their own order.
func (s spelling) claims(k vip.Kind, dst []named) []named {
	r := byFQDN
	if k == vip.Host {
		r = byHost
	}
	if s.absolute != "" {
		dst = append(dst, named{s.absolute, r})
	}
	for _, name := range s.others {
		dst = append(dst, named{name, r})
	}
	if s.literal != "" {
		dst = append(dst, named{s.literal, byLiteral})
	}
	if s.dotted != "" && s.dotted != s.literal {
		dst = append(dst, named{s.dotted, byDotted})
	}
	return dst
}
