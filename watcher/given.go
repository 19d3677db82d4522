package watcher

import (
	"net/netip"

	"github.com/meshvip/coredns-meshvip/vip"
)

// GivenAddresses tells which addresses Kuma gave to an entry in a mesh, sorted;
// nil where none are known.
type GivenAddresses func(mesh string, key vip.Key) []netip.Addr

// terms returns what is asked for a name that a policy gives, beside its
// outbounds.
func (d *Desired) terms(mesh string, e vip.Entry) *vip.Terms {
	if d.given == nil {
		return nil
	}
	return &vip.Terms{Follow: true, Given: d.given(mesh, e.Key())}
}

// follow lets given count for the names that policies give.
func (d *Desired) follow(given GivenAddresses) {
	d.settle()
	was := d.given
	for _, m := range d.meshes {
		if m.virtual != nil {
			for at := range m.virtual.contests {
				m.virtual.unsettled[at] = struct{}{}
			}
			d.unsettle(m)
		}
		if !m.exists() {
			continue
		}
		for _, c := range d.gateways.spots {
			if c.told {
				d.given = was
				before := d.in(m, c)
				d.given = given
				m.replace(before, true, d.in(m, c), true)
				d.touch(m)
			}
		}
	}
	d.given = given
}
