package kumaapi

import (
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// Tables are the addresses that Kuma gave to services, hosts and fqdns, which its
// API does not serve. All methods may be called by any goroutine.
type Tables interface {
	// Given returns the addresses of an entry in a mesh, nil where it has none.
	Given(mesh string, key vip.Key) []netip.Addr
	// Changed has a value when they may have changed since the last one.
	Changed() <-chan struct{}
}

// authority is who gives addresses.
type authority struct {
	follow bool
	tables Tables
	// given counts the claims of destinations that have addresses from Kuma.
	given int
	// without are, by mesh, the entries that follow and have no address, with
	// how many claims each.
	without map[string]map[vip.Key]int
}

func newAuthority(follow bool, tables Tables) authority {
	return authority{follow: follow, tables: tables, without: make(map[string]map[vip.Key]int)}
}

// onlyFollow are the terms of an entry that has no address from Kuma yet.
var onlyFollow = &vip.Terms{Follow: true}

// dress returns r as it counts: where Kuma is followed, no entry of it gets an
// address from a pool.
func (a *authority) dress(r *watcher.Resource) *watcher.Resource {
	if !a.follow || len(r.Claims) == 0 {
		return r
	}
	dressed := *r
	dressed.Claims = make([]kuma.Claim, len(r.Claims))
	for i, c := range r.Claims {
		c.Terms = a.terms(c)
		dressed.Claims[i] = c
	}
	// Claims that differed in their terms may not any more.
	slices.SortFunc(dressed.Claims, kuma.Claim.Compare)
	dressed.Claims = slices.CompactFunc(dressed.Claims, kuma.Claim.Equal)
	return &dressed
}

// terms returns those of a claim whose address Kuma gives.
func (a *authority) terms(c kuma.Claim) *vip.Terms {
	var given []netip.Addr
	if a.tables != nil && !c.Entry.Kind.OfMesh() {
		given = a.tables.Given(c.Mesh, c.Entry.Key())
	}
	if c.Terms.Empty() && len(given) == 0 {
		return onlyFollow
	}
	t := vip.Terms{Follow: true}
	if c.Terms != nil {
		t.Given, t.Hostnames = c.Terms.Given, c.Terms.Hostnames
	}
	if len(given) > 0 {
		t.Given = slices.Concat(t.Given, given)
		slices.SortFunc(t.Given, netip.Addr.Compare)
		t.Given = slices.Compact(t.Given)
	}
	return &t
}

// count counts the claims of a resource that the feed is told of, or, with -1,
// takes them back.
func (a *authority) count(r *watcher.Resource, n int) {
	if r == nil {
		return
	}
	for _, c := range r.Claims {
		switch has := c.Terms != nil && len(c.Terms.Given) > 0; {
		case has && c.Entry.Kind.OfMesh():
			a.given += n
		case !has && a.follow:
			a.lack(c.Mesh, c.Entry.Key(), n)
		}
	}
}

func (a *authority) lack(mesh string, key vip.Key, n int) {
	keys := a.without[mesh]
	if keys == nil {
		keys = make(map[vip.Key]int)
		a.without[mesh] = keys
	}
	if keys[key] += n; keys[key] == 0 {
		delete(keys, key)
	}
	if len(keys) == 0 {
		delete(a.without, mesh)
	}
}
