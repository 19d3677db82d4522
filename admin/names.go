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
func (n naming) of(row *vip.Row) []string {
	if n.x == nil {
		return nil
	}
	has := []string{}
	for _, name := range n.all(row) {
		if name.Has {
			has = append(has, name.Name)
		}
	}
	return has
}

// all returns all names that an entry claims, nil if that is unknown. A name that
// is meant below every zone is shown below each where the entry has it, and below
// the first where it does not.
func (n naming) all(row *vip.Row) []EntryName {
	if n.x == nil {
		return nil
	}
	told, zones := n.x.Names(row), n.suffixes()
	elsewhere := make(map[string]names.Name) // full names that a service lacks in one zone
	for _, t := range told {
		if !t.Relative && row.Entry.Kind == vip.Service {
			elsewhere[t.Name] = t
		}
	}
	out := []EntryName{}
	for _, t := range told {
		how := howNamed(row.Entry, t.Name)
		switch {
		case !t.Relative && row.Entry.Kind == vip.Service:
		case !t.Relative && t.Has && !n.covered(t.Name):
			out = append(out, EntryName{Name: t.Name, How: how, Reason: uncovered})
		case !t.Relative || len(zones) == 0:
			out = append(out, entryName(t.Name, how, t))
		case !t.Has:
			out = append(out, entryName(t.Name+"."+zones[0], how, t))
		default:
			for _, zone := range zones {
				full, as := t.Name+"."+zone, t
				if lost, ok := elsewhere[full]; ok {
					as = lost
				}
				out = append(out, entryName(full, how, as))
			}
		}
	}
	return out
}

func entryName(name, how string, t names.Name) EntryName {
	return EntryName{Name: name, Has: t.Has, How: how, Owner: entryText(t.Winner), Local: t.Local, Reason: t.Why}
}

// suffixes returns the zones that services have names below.
func (n naming) suffixes() (zones []string) {
	for _, zone := range n.zones() {
		if zone != "." {
			zones = append(zones, zone)
		}
	}
	return zones
}

// covered reports whether a zone covers a full name. Where no zone is known, that
// is not known either, and taken for granted.
func (n naming) covered(name string) bool {
	zones := n.zones()
	return len(zones) == 0 || zoneOf(name, zones) != ""
}

// zoneOf returns the longest of zones that covers a full name, "" if none does.
func zoneOf(name string, zones []string) (longest string) {
	for _, zone := range zones {
		if len(zone) > len(longest) && (zone == "." || name == zone || strings.HasSuffix(name, "."+zone)) {
			longest = zone
		}
	}
	return longest
}

// howNamed says how a name follows from an entry: a relative name of a service
// is its own, or is derived.
func howNamed(e vip.Entry, name string) string {
	switch {
	case e == vip.Entry{}:
		return "the zone's name server"
	case e.Kind == vip.FQDN:
		return "an fqdn"
	case e.Kind == vip.Host:
		return "a host"
	case e.Kind.OfMesh():
		return "a hostname"
	case strings.Contains(e.Name, "_") && !strings.Contains(name, "_"):
		return "a dotted spelling"
	}
	return "a literal name"
}

// uncovered is why a name that an entry has is not answered.
const uncovered = "no zone that is served covers it"

// claims returns who claims a full name, the owner first.
func (n naming) claims(name string) (claims []NameClaim, keys []vip.Key) {
	zone := zoneOf(name, n.zones())
	for _, c := range n.x.Claimants(name, zone) {
		rel := strings.TrimSuffix(strings.TrimSuffix(name, zone), ".")
		claim := NameClaim{Entry: entryText(c.Entry), Has: c.Has, How: howNamed(c.Entry, rel), Local: c.Local, Reason: c.Why}
		if claim.Has && !n.covered(name) {
			claim.Has, claim.Reason = false, uncovered
		}
		claims = append(claims, claim)
		if c.Entry != (vip.Entry{}) {
			keys = append(keys, c.Entry.Key())
		}
	}
	return claims, keys
}

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
	for _, zone := range n.suffixes() {
		all = append(all, name+"."+zone)
	}
	return all
}
