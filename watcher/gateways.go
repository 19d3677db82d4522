package watcher

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// gateways is what the MeshGateways of all meshes that exist give to every such
// mesh.
type gateways struct {
	spots     map[spot]*crossing
	unsettled map[spot]struct{}
	contested map[spot]struct{} // spots with more than one listener
}

// crossing is a spot of gateways.
type crossing struct {
	// listeners are those that have it, the one that counts first: by mesh,
	// then by name, then in the order of the gateway.
	listeners []crossMeshListener
	// claim, without its mesh, is asked for in every mesh, and told says that
	// it is.
	claim kuma.Claim
	told  bool
}

// crossMeshListener is a listener of a gateway.
type crossMeshListener struct {
	gateway kuma.ID
	index   int
	kuma.Listener
}

func (l crossMeshListener) compare(o crossMeshListener) int {
	return cmp.Or(
		strings.Compare(l.gateway.Mesh, o.gateway.Mesh),
		strings.Compare(l.gateway.Name, o.gateway.Name),
		cmp.Compare(l.index, o.index),
	)
}

func newGateways() *gateways {
	return &gateways{
		spots:     make(map[spot]*crossing),
		unsettled: make(map[spot]struct{}),
		contested: make(map[spot]struct{}),
	}
}

// enter takes up a gateway of a mesh that exists.
func (g *gateways) enter(id kuma.ID, part *kuma.CrossMesh) {
	g.each(id, part, func(at *crossing, l crossMeshListener) {
		i, _ := slices.BinarySearchFunc(at.listeners, l, crossMeshListener.compare)
		at.listeners = slices.Insert(at.listeners, i, l)
	})
}

// leave takes it away.
func (g *gateways) leave(id kuma.ID, part *kuma.CrossMesh) {
	g.each(id, part, func(at *crossing, l crossMeshListener) {
		i, _ := slices.BinarySearchFunc(at.listeners, l, crossMeshListener.compare)
		at.listeners = slices.Delete(at.listeners, i, i+1)
	})
}

// each calls f with the spot of each listener, which f changes.
func (g *gateways) each(id kuma.ID, part *kuma.CrossMesh, f func(*crossing, crossMeshListener)) {
	for i, l := range part.Listeners {
		at := spot{vip.Fold(l.Host), l.Outbound.Port}
		if g.spots[at] == nil {
			g.spots[at] = new(crossing)
		}
		f(g.spots[at], crossMeshListener{id, i, l})
		g.unsettled[at] = struct{}{}
	}
}

// in returns the claim of the spot in a mesh.
func (d *Desired) in(m *mesh, c *crossing) kuma.Claim {
	claim := c.claim
	claim.Mesh = m.name
	if c.told {
		claim.Terms = d.terms(m.name, claim.Entry)
	}
	return claim
}

// settleGateways lets the first listener of each spot be asked for in every mesh,
// and no other.
func (d *Desired) settleGateways() {
	g := d.gateways
	for at := range g.unsettled {
		c := g.spots[at]
		before := *c
		c.claim, c.told = kuma.Claim{}, len(c.listeners) > 0
		if c.told {
			l := c.listeners[0]
			c.claim = kuma.Claim{
				Entry:     vip.Entry{Kind: vip.FQDN, Name: l.Host},
				Outbounds: []vip.Outbound{l.Outbound},
			}
		}
		if c.told != before.told || !c.claim.Equal(before.claim) {
			for _, m := range d.meshes {
				if m.exists() {
					m.replace(d.in(m, &before), before.told, d.in(m, c), c.told)
					d.touch(m)
				}
			}
		}
		if !c.told {
			delete(g.spots, at)
		}
		mark(g.contested, at, len(c.listeners) > 1)
	}
	clear(g.unsettled)
}

// begin gives a mesh that begins to exist what gateways give to every mesh, and
// lets its own gateways count.
func (d *Desired) begin(m *mesh) {
	for _, c := range d.gateways.spots {
		if c.told {
			m.add(kuma.ID{}, "", d.in(m, c))
		}
	}
	for id, part := range m.gateways {
		d.gateways.enter(id, part)
	}
}

// end undoes begin for a mesh that ceases to exist.
func (d *Desired) end(m *mesh) {
	for _, c := range d.gateways.spots {
		if c.told {
			m.sub(kuma.ID{}, d.in(m, c))
		}
	}
	for id, part := range m.gateways {
		d.gateways.leave(id, part)
	}
}
