package allocator

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// outcomes says what became of the claims, once all have what they can have.
func (i *importer) outcomes() Import {
	var done Import
	for _, c := range i.claims {
		if c.Result == "" {
			i.conclude(&c)
		}
		if c.Pool.IsValid() && !slices.Contains(done.Pools, c.Pool) {
			done.Pools = append(done.Pools, c.Pool)
		}
		done.Outcomes = append(done.Outcomes, c.Outcome)
	}
	slices.SortStableFunc(done.Outcomes, func(a, b Outcome) int {
		return cmp.Or(a.Entry.Key().Compare(b.Entry.Key()), strings.Compare(a.Mesh, b.Mesh), a.From.Compare(b.From))
	})
	slices.SortFunc(done.Pools, netip.Prefix.Compare)
	return done
}

// conclude says what became of a claim.
func (i *importer) conclude(c *claim) {
	row := i.edits[c.key].row
	c.To = addrOf(row, c.From.Is4())
	switch {
	case len(row.Given()) > 0:
		c.To = row.Given()[0]
	case !c.From.IsValid():
		c.To = cmp.Or(row.V4, row.V6)
	}
	switch {
	case !c.To.IsValid():
		c.Result = Waits
	case !c.From.IsValid():
		c.Result = New
	case c.To == c.From:
		c.Result, c.Rule, c.Why = Kept, "", ""
	case c.Winner != (vip.Key{}) && c.Winner != c.key:
		c.Result = Conflict
	default:
		c.Result = Moved
	}
}

// kumaPool is the range that Kuma's control planes gave virtual IPs from when
// they kept them unique.
var kumaPool = netip.MustParsePrefix("240.0.0.0/4")

// poolFor returns a pool that could be added to others so that addr lies in one:
// Kuma's, else the largest that overlaps none of them, at most a /16 or a /64.
func poolFor(addr netip.Addr, pools []Range) netip.Prefix {
	free := func(p netip.Prefix) bool {
		return !slices.ContainsFunc(pools, func(r Range) bool { return r.Prefix.Overlaps(p) })
	}
	if kumaPool.Contains(addr) && free(kumaPool) {
		return kumaPool
	}
	bits := 64
	if addr.Is4() {
		bits = 16
	}
	for ; bits < addr.BitLen(); bits++ {
		if p := netip.PrefixFrom(addr, bits).Masked(); free(p) {
			return p
		}
	}
	return netip.PrefixFrom(addr, addr.BitLen())
}
