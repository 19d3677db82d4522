package watcher

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// policyProblems returns what policies could not give. A policy may fail for any
// number of services in one way, so it is told once for each way.
func (d *Desired) policyProblems() []Problem {
	var ps []Problem
	for name := range d.troubled {
		m := d.meshes[name]
		if m.virtual.troubled() {
			ps = append(ps, d.refusals(m)...)
			ps = append(ps, d.contests(m)...)
		}
		if m.naming.troubled() {
			ps = append(ps, d.lostNames(m)...)
		}
	}
	ps = append(ps, d.crossings()...)
	for _, g := range d.generators {
		ps = append(ps, d.unmadeNames(g)...)
	}
	return ps
}

// more says that n more have a part in what is told of one.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and to %d more", n)
}

// refusals reports the VirtualOutbounds that made no name and port of a service.
func (d *Desired) refusals(m *mesh) []Problem {
	var ps []Problem
	for r := range m.virtual.refusing {
		var first *offer
		for o := range r.refused {
			if first == nil || compareTags(o.outbound.Tags, first.outbound.Tags) < 0 {
				first = o
			}
		}
		ps = append(ps, Problem{d.where(m, r.id), fmt.Sprintf(
			"%s gives no name to the service %s%s: %v: correct the policy, or the tags of the service",
			r.id, service(first.outbound.Tags), more(len(r.refused)-1), first.err)})
	}
	return ps
}

// contests reports the names and ports that a VirtualOutbound gives to a service
// and that do not lead there.
func (d *Desired) contests(m *mesh) []Problem {
	var ps []Problem
	for at := range m.virtual.contested {
		c := m.virtual.contests[at]
		winner := c.best()
		losing := make(map[*rule][]*offer)
		for _, o := range c.offers {
			if o != winner {
				losing[o.rule] = append(losing[o.rule], o)
			}
		}
		for r, offers := range losing {
			first := slices.MinFunc(offers, (*offer).compare)
			by := "it"
			if r != winner.rule {
				by = winner.rule.id.String()
			}
			ps = append(ps, Problem{d.where(m, r.id), fmt.Sprintf(
				"%s gives the name %q and port %d to the service %s%s, but %s gives them to the service %s, which comes first: change the policy, or what it selects",
				r.id, first.host, at.port, service(first.outbound.Tags), more(len(offers)-1),
				by, service(winner.outbound.Tags))})
		}
	}
	return ps
}

// service tells a service and the tags that a policy sees of it beside.
func service(tags []vip.Tag) string {
	name := ""
	var beside []string
	for _, t := range tags {
		if t.Key == vip.ServiceTag {
			name = t.Value
		} else {
			beside = append(beside, fmt.Sprintf("%.60s=%.60s", t.Key, t.Value))
		}
	}
	if beside == nil {
		return fmt.Sprintf("%.80q", name)
	}
	return fmt.Sprintf("%.80q (%.300s)", name, strings.Join(beside, ", "))
}

func compareTags(a, b []vip.Tag) int {
	return vip.Outbound{Tags: a}.Compare(vip.Outbound{Tags: b})
}

// crossings reports the listeners of gateways whose name and port another has.
func (d *Desired) crossings() []Problem {
	var ps []Problem
	for at := range d.gateways.contested {
		ls := d.gateways.spots[at].listeners
		for _, l := range ls[1:] {
			ps = append(ps, Problem{d.where(d.meshes[l.gateway.Mesh], l.gateway), fmt.Sprintf(
				"%s has the name %q and port %d that %s has, which comes first by mesh and name: change or remove one of the two",
				l.gateway, l.Host, at.port, ls[0].gateway)})
		}
	}
	return ps
}

// lostNames reports the names that a generator makes for a destination and that
// another destination of the mesh has.
func (d *Desired) lostNames(m *mesh) []Problem {
	var ps []Problem
	for name := range m.naming.contested {
		c := m.naming.names[name]
		var winner kuma.ID
		if c.winner != nil {
			winner = c.winner.of.id
		} else {
			winner = c.decided[0].value
		}
		losing := make(map[*generator][]*title)
		for _, t := range c.titles {
			if t.of.id != winner {
				losing[t.generator] = append(losing[t.generator], t)
			}
		}
		for g, titles := range losing {
			first := slices.MinFunc(titles, (*title).compare)
			ps = append(ps, Problem{d.where(m, g.id), fmt.Sprintf(
				"%s gives the name %q to %s%s, but %s has it: change the template, or what it selects",
				g.id, first.name, first.of.id, more(len(titles)-1), winner)})
		}
	}
	return ps
}

// unmadeNames reports the destinations of which a generator made no name.
func (d *Desired) unmadeNames(g *generator) []Problem {
	var first kuma.ID
	n := 0
	for id := range g.refused {
		if !d.meshes[id.Mesh].exists() {
			continue
		}
		if n++; n == 1 || id.Compare(first) < 0 {
			first = id
		}
	}
	if n == 0 {
		return nil
	}
	return []Problem{{d.active(g.id).Where, fmt.Sprintf(
		"%s gives no name to %s%s: %v: correct the template, or the destination",
		g.id, first, more(n-1), g.refused[first])}}
}
