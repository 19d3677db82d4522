package watcher

import (
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// Most of what is asked for, one resource asks for on its own: its claims. The
// rest follows from several resources together: what a VirtualOutbound gives to
// the services that it selects, a MeshGateway to every mesh, a HostnameGenerator
// to destinations. It is worked out here, between [Desired.Put] and the merge of
// each mesh, and joins the claims of resources there as claims of its own.
//
// Putting a resource notes which offers it makes, or takes back, and where others
// are made for the same name. That these are settled, and who has what, waits for
// the next batch: [Desired.settle].

// spot is what one policy can have: a name, in lower case, and a port of it.
type spot struct {
	name string
	port uint16
}

// enter takes up the part of a resource that counts from now on.
func (d *Desired) enter(r *Resource) {
	switch part := r.Part.(type) {
	case *kuma.VirtualOutbound:
		d.enlist()
		m := d.mesh(r.Mesh)
		m.hold(r.Where)
		m.virtualOutbounds().enter(r.ID, part)
		d.unsettle(m)
	case *kuma.CrossMesh:
		m := d.mesh(r.Mesh)
		m.hold(r.Where)
		if m.gateways == nil {
			m.gateways = make(map[kuma.ID]*kuma.CrossMesh)
		}
		m.gateways[r.ID] = part
		if m.exists() {
			d.gateways.enter(r.ID, part)
		}
		d.touch(m)
	case *kuma.HostnameGenerator:
		d.addGenerator(r.ID, part)
	case *kuma.Unnamed:
		d.enlist()
		m := d.mesh(r.Mesh)
		m.unnamed().enter(r.ID, part, d.generators)
		d.named[m.name] = struct{}{}
		d.unsettle(m)
	}
}

// leave takes back what enter took up.
func (d *Desired) leave(r *Resource) {
	switch part := r.Part.(type) {
	case *kuma.VirtualOutbound:
		m := d.mesh(r.Mesh)
		m.release()
		m.virtual.leave(r.ID)
		d.unsettle(m)
	case *kuma.CrossMesh:
		m := d.mesh(r.Mesh)
		m.release()
		delete(m.gateways, r.ID)
		if m.exists() {
			d.gateways.leave(r.ID, part)
		}
		d.touch(m)
	case *kuma.HostnameGenerator:
		d.removeGenerator(r.ID)
	case *kuma.Unnamed:
		m := d.mesh(r.Mesh)
		m.naming.leave(m, r.ID, d.generators)
		d.unsettle(m)
	}
}

// enlist lets all meshes know their members, once. Where nobody has to know them
// they are not kept: they would be a few percent of all memory.
func (d *Desired) enlist() {
	if d.enrolled {
		return
	}
	d.enrolled = true
	for id := range d.declarations {
		d.enroll(nil, d.active(id))
	}
}

// enroll notes in the meshes in which a resource claims something that it is
// after and no longer before. Each may be nil, and they may be equal.
func (d *Desired) enroll(before, after *Resource) {
	for _, r := range []*Resource{before, after} {
		if r == nil {
			continue
		}
		for i, c := range r.Claims { // which are sorted by mesh
			if i > 0 && r.Claims[i-1].Mesh == c.Mesh {
				continue
			}
			m := d.mesh(c.Mesh)
			if m.members == nil {
				m.members = make(map[*Resource]struct{})
			}
			mark(m.members, r, r == after)
		}
	}
}

// unsettle notes that what policies give in m may have changed.
func (d *Desired) unsettle(m *mesh) {
	d.unsettled[m.name] = struct{}{}
	d.touch(m)
}

// settle brings what policies give in each mesh up to date.
func (d *Desired) settle() {
	d.settleGateways()
	for name := range d.unsettled {
		m := d.meshes[name]
		if m.virtual != nil {
			m.virtual.settle(m, d.terms)
			if m.virtual.empty() {
				m.virtual = nil
			}
		}
		if m.naming != nil {
			m.naming.settle(m)
			if len(m.naming.services) == 0 {
				m.naming = nil
				delete(d.named, name)
			}
		}
		d.touch(m)
	}
	clear(d.unsettled)
}

// appears shows a claim of a resource, which counts from now on, to those whose
// policies it may concern, and reports whether they may give something else now.
func (m *mesh) appears(id kuma.ID, c kuma.Claim) bool {
	unsettles := false
	if m.virtual != nil && !c.Tags.IsZero() {
		unsettles = m.virtual.add(c.Entry.Name, c.Tags)
	}
	if m.naming != nil && c.Terms != nil && c.Entry.Kind.OfMesh() {
		unsettles = m.naming.reserve(id, c.Terms.Hostnames) || unsettles
	}
	return unsettles
}

// disappears undoes appears.
func (m *mesh) disappears(id kuma.ID, c kuma.Claim) bool {
	unsettles := false
	if m.virtual != nil && !c.Tags.IsZero() {
		unsettles = m.virtual.sub(c.Entry.Name, c.Tags)
	}
	if m.naming != nil && c.Terms != nil && c.Entry.Kind.OfMesh() {
		unsettles = m.naming.unreserve(id, c.Terms.Hostnames) || unsettles
	}
	return unsettles
}

// virtualOutbounds returns what the VirtualOutbounds of the mesh give. Most
// meshes have none, and keep no tags in order for them.
func (m *mesh) virtualOutbounds() *virtual {
	if m.virtual == nil {
		m.virtual = newVirtual()
		m.each(func(_ kuma.ID, c kuma.Claim) {
			if !c.Tags.IsZero() {
				m.virtual.add(c.Entry.Name, c.Tags)
			}
		})
	}
	return m.virtual
}

// unnamed returns the names of the mesh's destinations that Kuma did not name.
func (m *mesh) unnamed() *naming {
	if m.naming == nil {
		m.naming = newNaming()
		m.each(func(id kuma.ID, c kuma.Claim) {
			if c.Terms != nil && c.Entry.Kind.OfMesh() {
				m.naming.reserve(id, c.Terms.Hostnames)
			}
		})
	}
	return m.naming
}

// each calls f with the claims of resources in the mesh.
func (m *mesh) each(f func(kuma.ID, kuma.Claim)) {
	for r := range m.members {
		for _, c := range r.Claims {
			if c.Mesh == m.name {
				f(r.ID, c)
			}
		}
	}
}
