package watcher

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// Problems returns the clashes between resources: what is declared twice, what
// waits for its mesh, and which hosts two ExternalServices claim. They are
// sorted. The cost follows the number of clashes.
func (d *Desired) Problems() []Problem {
	var ps []Problem
	for id := range d.repeated {
		ds := d.declarations[id]
		for _, x := range ds[1:] {
			ps = append(ps, Problem{x.resource.Where, fmt.Sprintf(
				"%s is declared in %s already and does not count here: remove one of the two", id, ds[0].resource.Where)})
		}
	}
	for name := range d.waiting {
		ps = append(ps, Problem{"mesh " + name, fmt.Sprintf(
			"the mesh is not declared, so the resources that name it wait (first seen in %s): add a document with type: Mesh and name: %s",
			d.meshes[name].since, name)})
	}
	for name := range d.clashing {
		m := d.meshes[name]
		for key := range m.clashing {
			ps = append(ps, d.hostClashes(m, key)...)
		}
	}
	slices.SortFunc(ps, Problem.Compare)
	return ps
}

// hostClashes reports the ports of a host that more than one resource claims.
func (d *Desired) hostClashes(m *mesh, key vip.Key) []Problem {
	var ps []Problem
	s := m.slots[key]
	winner := ""
	for i, o := range s.outbounds {
		resource := strings.TrimPrefix(o.value.Origin, vip.OriginHostPrefix)
		if !s.loses(key, i) {
			winner = resource
			continue
		}
		id := kuma.ID{Type: kuma.TypeExternalService, Mesh: m.name, Name: resource}
		where := "mesh " + m.name
		if r := d.active(id); r != nil {
			where = r.Where
		}
		ps = append(ps, Problem{where, fmt.Sprintf(
			"%s has the host %q and port %d that ExternalService %q has, which comes first by name: change or remove one of the two",
			id, key.Name, o.value.Port, winner)})
	}
	return ps
}
