package watcher

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// Problems returns the clashes between resources: what is declared twice, what
// waits for its mesh, which names two resources claim, which entries are to have
// two addresses of a family, and what policies could not give. They are sorted.
// The cost follows the number of clashes and of the resources that have a part in
// them.
func (d *Desired) Problems() []Problem {
	d.settle()
	ps := d.policyProblems()
	for id := range d.repeated {
		ds := d.declarations[id]
		for _, x := range ds[1:] {
			if d.apart != nil && d.apart(x.place, ds[0].place) && x.resource.Equal(ds[0].resource) {
				continue // two sources that say the same
			}
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
			if key.Kind == vip.FQDN {
				ps = append(ps, d.fqdnClashes(m, key)...)
			} else {
				ps = append(ps, d.hostClashes(m, key)...)
			}
			ps = append(ps, d.staticClashes(m, key)...)
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
		ps = append(ps, Problem{d.where(m, id), fmt.Sprintf(
			"%s has the host %q and port %d that ExternalService %q has, which comes first by name: change or remove one of the two",
			id, key.Name, o.value.Port, winner)})
	}
	return ps
}

// fqdnClashes reports the ports of a name that a gateway has in every mesh but
// this one, where a VirtualOutbound gives them to a service.
func (d *Desired) fqdnClashes(m *mesh, key vip.Key) []Problem {
	var ps []Problem
	s := m.slots[key]
	for i, o := range s.outbounds {
		if !s.loses(key, i) {
			continue
		}
		id := gatewayOf(o.value)
		winner := strings.TrimPrefix(s.outbounds[i+1].value.Origin, kuma.OriginVirtualOutbound)
		ps = append(ps, Problem{d.where(m, id), fmt.Sprintf(
			"in mesh %q, %s does not have its name %q and port %d: VirtualOutbound %q gives them to a service there, which comes first: change one of the two",
			m.name, id, key.Name, o.value.Port, winner)})
	}
	return ps
}

// gatewayOf returns the gateway that gave an outbound.
func gatewayOf(o vip.Outbound) kuma.ID {
	mesh, name, _ := strings.Cut(strings.TrimPrefix(o.Origin, kuma.OriginMeshGateway), ":")
	return kuma.ID{Type: kuma.TypeMeshGateway, Mesh: mesh, Name: name[:max(0, strings.LastIndexByte(name, ':'))]}
}

// staticClashes reports the static addresses of an entry that do not count. Any
// number of Dataplanes may ask for one, so each is told once.
func (d *Desired) staticClashes(m *mesh, key vip.Key) []Problem {
	var ps []Problem
	asked := m.slots[key].terms
	for _, v4 := range []bool{true, false} {
		addrs := asked.of(v4)
		if len(addrs) < 2 {
			continue
		}
		winner, _ := asked.by(addrs[0])
		for _, addr := range addrs[1:] {
			loser, others := asked.by(addr)
			among := ""
			if others {
				among = ", among others,"
			}
			ps = append(ps, Problem{d.where(m, loser), fmt.Sprintf(
				"%s%s asks for the address %v for the %v %q, but %s asks for %v, which counts because it is smaller: give the tag %s of that service one value everywhere",
				loser, among, addr, key.Kind, key.Name, winner, addrs[0], vip.StaticTag)})
		}
	}
	return ps
}

// where returns the place of a resource for messages.
func (d *Desired) where(m *mesh, id kuma.ID) string {
	for ; id.Source < d.sources; id.Source++ {
		if r := d.active(id); r != nil {
			return r.Where
		}
	}
	return "mesh " + m.name
}
