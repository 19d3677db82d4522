package names

import (
	"cmp"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// rank is how good a claim is: what somebody wrote comes before what was
// derived. A relative name is claimed by literal and dotted only, an absolute
// one by fqdn and host only.
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

// named is a claim's name and rank.
type named struct {
	name string
	rank rank
}

// claims appends to dst the names that an entry of kind k so spelled claims:
// none twice.
func (s spelling) claims(k vip.Kind, dst []named) []named {
	if s.absolute != "" {
		r := byHost
		if k == vip.FQDN {
			r = byFQDN
		}
		dst = append(dst, named{s.absolute, r})
	}
	if s.literal != "" {
		dst = append(dst, named{s.literal, byLiteral})
	}
	if s.dotted != "" && s.dotted != s.literal {
		dst = append(dst, named{s.dotted, byDotted})
	}
	return dst
}

// losers are the claims to a name that its owner, or the apex, is before. They
// are sorted by claim.compare.
type losers []claim

func (l losers) find(c claim) (int, bool) {
	return slices.BinarySearchFunc(l, c, claim.compare)
}

// put adds c, or puts it in the place of the same entry's claim.
func (l losers) put(c claim) losers {
	i, ok := l.find(c)
	if ok {
		l[i] = c
		return l
	}
	return slices.Insert(l, i, c)
}

// drop removes the claim of c's entry.
func (l losers) drop(c claim) losers {
	if i, ok := l.find(c); ok {
		return slices.Delete(l, i, i+1)
	}
	return l
}
