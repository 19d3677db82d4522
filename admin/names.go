package admin

import (
	"net/netip"
	"strings"

	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
)

// naming says which names entries have, below the zones of now.
type naming struct {
	x *names.Index
	t *Table
	// view shows all meshes; nil where names are unknown.
	view *names.View
}

func newNaming(t *Table) naming {
	n := naming{x: t.Index, t: t}
	if t.Index != nil {
		n.view = t.Index.View(nil)
	}
	return n
}

// zones returns the forward zones.
func (n naming) zones() []string {
	if n.t.ZonesNow != nil {
		return n.t.ZonesNow()
	}
	return n.t.Zones
}

// unknown returns what an answer about entries must say is unknown.
func (n naming) unknown() []string {
	if n.x == nil {
		return []string{"names"}
	}
	return nil
}

// of returns the full names that an entry answers to, nil if that is unknown.
func (n naming) of(row *vip.Row) []string { return nil }

// all returns all names that an entry claims, nil if that is unknown.
func (n naming) all(row *vip.Row) []EntryName { return nil }

// claims returns who claims a full name, the owner first.
func (n naming) claims(name string) ([]NameClaim, []vip.Key) { return nil, nil }

// ptr returns the name that a reverse lookup gives.
func (n naming) ptr(addr netip.Addr) string {
	if n.view == nil {
		return ""
	}
	return n.view.PTR(addr, n.zones())
}

// at returns the entries that queries see at an address; the table knows of
// those that it gave the address itself.
func (n naming) at(addr netip.Addr) []vip.Key {
	if n.view == nil {
		return nil
	}
	if r := n.view.Reverse(addr); r != nil {
		return []vip.Key{r.Row.Key()}
	}
	return nil
}

// full returns the full names that somebody may mean by a name: that name, and,
// where it has no final dot, it below each zone.
func (n naming) full(name string) []string {
	name = vip.Fold(name)
	if strings.HasSuffix(name, ".") {
		return []string{name}
	}
	all := []string{name + "."}
	for _, zone := range n.zones() {
		if zone != "." {
			all = append(all, name+"."+zone)
		}
	}
	return all
}
