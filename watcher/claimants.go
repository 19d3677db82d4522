package watcher

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// Claimant is a resource that asks for an entry in a mesh.
type Claimant struct {
	Mesh string
	kuma.ID
	// Place is where the resource stands, such as "web.yaml:12".
	Place string
}

// Claimants returns the resources that ask for an entry, and the policies that
// give it, sorted by mesh and resource. Those of a mesh that nobody declares are
// among them, although they wait. The cost follows the number of resources: it is
// for an operator's question, and changes wait meanwhile.
func (u *Union) Claimants(key vip.Key) []Claimant {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.desired.claimants(key)
}

func (d *Desired) claimants(key vip.Key) []Claimant {
	d.settle()
	var list []Claimant
	for id := range d.declarations {
		r := d.active(id)
		for i, c := range r.Claims {
			if !claims(c, key) || i > 0 && r.Claims[i-1].Mesh == c.Mesh && claims(r.Claims[i-1], key) {
				continue
			}
			list = append(list, Claimant{Mesh: c.Mesh, ID: id, Place: r.Where})
		}
	}
	if key.Kind == vip.FQDN {
		list = append(list, d.policiesOf(key)...)
	}
	slices.SortFunc(list, func(a, b Claimant) int {
		return cmp.Or(strings.Compare(a.Mesh, b.Mesh), a.ID.Compare(b.ID))
	})
	return slices.CompactFunc(list, func(a, b Claimant) bool { return a.Mesh == b.Mesh && a.ID == b.ID })
}

// claims reports whether c asks for key. Most do not, and are told apart by what
// costs least.
func claims(c kuma.Claim, key vip.Key) bool {
	return c.Entry.Kind == key.Kind && len(c.Entry.Name) == len(key.Name) && c.Entry.Key() == key
}

// policiesOf returns the policies that give a name, as its outbounds tell.
func (d *Desired) policiesOf(key vip.Key) []Claimant {
	var list []Claimant
	for _, m := range d.meshes {
		s := m.slots[key]
		if s == nil {
			continue
		}
		for _, o := range s.outbounds {
			id := gatewayOf(o.value)
			if name, ok := strings.CutPrefix(o.value.Origin, kuma.OriginVirtualOutbound); ok {
				id = kuma.ID{Type: kuma.TypeVirtualOutbound, Mesh: m.name, Name: name}
			}
			list = append(list, Claimant{Mesh: m.name, ID: id, Place: d.where(m, id)})
		}
	}
	return list
}
