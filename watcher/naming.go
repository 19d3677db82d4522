package watcher

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// naming is what HostnameGenerators call those destinations of one mesh on whose
// names Kuma has not decided. Who has a name is decided mesh by mesh.
type naming struct {
	services map[kuma.ID]*unnamed
	// names has for each name, in lower case, who may have it.
	names     map[string]*candidates
	unsettled map[string]struct{}
	changed   map[*unnamed]struct{} // those whose names may have changed
	contested map[string]struct{}   // names that somebody does not get
}

// unnamed is a destination that generators name.
type unnamed struct {
	id     kuma.ID
	part   *kuma.Unnamed
	titles []*title // by the order of their generators
	// claim is what is asked for in the mesh for its names, and told says that
	// it is.
	claim kuma.Claim
	told  bool
}

// title is a name that a generator makes for a destination.
type title struct {
	generator *generator
	of        *unnamed
	name      string
	index     int // among the candidates of the name
}

// candidates are who may have a name.
type candidates struct {
	// decided are the destinations that have it by their status, and so before
	// anybody else.
	decided []counted[kuma.ID]
	titles  []*title // in no order
	winner  *title   // nil where none of titles has it
}

// generator is a HostnameGenerator.
type generator struct {
	id     kuma.ID
	policy *kuma.HostnameGenerator
	// refused are the destinations of all meshes of which it could make no name.
	refused map[kuma.ID]error
}

func (g *generator) compare(h *generator) int {
	return cmp.Or(g.policy.Compare(h.policy), strings.Compare(g.id.Name, h.id.Name))
}

// compare orders titles to one name, the one that has it first: in Kuma's order,
// by generator, then by destination, the older one first.
func (t *title) compare(u *title) int {
	return cmp.Or(
		t.generator.compare(u.generator),
		t.of.part.Created.Compare(u.of.part.Created),
		strings.Compare(t.of.id.Name, u.of.id.Name),
		t.of.id.Compare(u.of.id),
	)
}

func newNaming() *naming {
	return &naming{
		services:  make(map[kuma.ID]*unnamed),
		names:     make(map[string]*candidates),
		unsettled: make(map[string]struct{}),
		changed:   make(map[*unnamed]struct{}),
		contested: make(map[string]struct{}),
	}
}

func (n *naming) troubled() bool { return n != nil && len(n.contested) > 0 }

// enter takes up a destination and asks all generators for its names.
func (n *naming) enter(id kuma.ID, part *kuma.Unnamed, generators map[string]*generator) {
	u := &unnamed{id: id, part: part}
	n.services[id] = u
	for _, g := range generators {
		n.entitle(u, g)
	}
}

// leave takes a destination away, with its names.
func (n *naming) leave(m *mesh, id kuma.ID, generators map[string]*generator) {
	u := n.services[id]
	delete(n.services, id)
	delete(n.changed, u)
	for _, t := range u.titles {
		n.withdraw(t)
	}
	for _, g := range generators {
		delete(g.refused, id)
	}
	if u.told {
		m.sub(id, u.claim)
	}
}

// entitle asks a generator for a name for u.
func (n *naming) entitle(u *unnamed, g *generator) {
	name, err := g.policy.Hostname(u.part)
	if err != nil {
		g.refused[u.id] = err
	}
	if name == "" {
		return
	}
	c := n.candidates(vip.Fold(name))
	t := &title{generator: g, of: u, name: name, index: len(c.titles)}
	c.titles = append(c.titles, t)
	i, _ := slices.BinarySearchFunc(u.titles, t, (*title).compare)
	u.titles = slices.Insert(u.titles, i, t)
	n.changed[u] = struct{}{}
}

// disentitle takes away what a generator made for u.
func (n *naming) disentitle(u *unnamed, g *generator) bool {
	i := slices.IndexFunc(u.titles, func(t *title) bool { return t.generator == g })
	if i < 0 {
		return false
	}
	n.withdraw(u.titles[i])
	u.titles = slices.Delete(u.titles, i, i+1)
	n.changed[u] = struct{}{}
	return true
}

func (n *naming) withdraw(t *title) {
	c := n.candidates(vip.Fold(t.name))
	last := len(c.titles) - 1
	c.titles[t.index] = c.titles[last]
	c.titles[t.index].index = t.index
	c.titles[last] = nil
	c.titles = c.titles[:last]
}

// reserve notes names that a destination has by its status.
func (n *naming) reserve(id kuma.ID, names []string) bool {
	for _, name := range names {
		c := n.candidates(vip.Fold(name))
		c.decided = add(c.decided, id, kuma.ID.Compare)
	}
	return len(names) > 0
}

// unreserve undoes reserve.
func (n *naming) unreserve(id kuma.ID, names []string) bool {
	for _, name := range names {
		c := n.candidates(vip.Fold(name))
		c.decided = sub(c.decided, id, kuma.ID.Compare)
	}
	return len(names) > 0
}

// candidates returns those of a name, to be changed.
func (n *naming) candidates(name string) *candidates {
	n.unsettled[name] = struct{}{}
	c := n.names[name]
	if c == nil {
		c = new(candidates)
		n.names[name] = c
	}
	return c
}

// settle decides who has each name, and lets the names of each destination be
// asked for in m.
func (n *naming) settle(m *mesh) {
	for name := range n.unsettled {
		c := n.names[name]
		before := c.winner
		c.winner = nil
		if len(c.decided) == 0 && len(c.titles) > 0 {
			c.winner = slices.MinFunc(c.titles, (*title).compare)
		}
		for _, t := range []*title{before, c.winner} {
			if t != nil && before != c.winner && n.services[t.of.id] == t.of {
				n.changed[t.of] = struct{}{}
			}
		}
		if len(c.decided)+len(c.titles) == 0 {
			delete(n.names, name)
		}
		mark(n.contested, name, c.contested())
	}
	clear(n.unsettled)
	for u := range n.changed {
		before, told := u.claim, u.told
		u.claim, u.told = n.claim(m, u)
		m.replace(before, told, u.claim, u.told)
	}
	clear(n.changed)
}

// claim returns the names of u, and whether it has any.
func (n *naming) claim(m *mesh, u *unnamed) (kuma.Claim, bool) {
	var names []string
	for _, t := range u.titles {
		w := n.names[vip.Fold(t.name)].winner
		if w != nil && w.of == u && !slices.Contains(names, t.name) {
			names = append(names, t.name)
		}
	}
	if names == nil {
		return kuma.Claim{}, false
	}
	return kuma.Claim{
		Mesh:  m.name,
		Entry: vip.Entry{Kind: u.part.Kind, Mesh: m.name, Name: u.id.Name},
		Terms: &vip.Terms{Hostnames: names},
	}, true
}

// contested reports whether some destination does not get the name.
func (c *candidates) contested() bool {
	return slices.ContainsFunc(c.titles, func(t *title) bool { return c.winner == nil || t.of != c.winner.of })
}

// addGenerator takes up a HostnameGenerator and asks it for names of all that
// generators name.
func (d *Desired) addGenerator(id kuma.ID, policy *kuma.HostnameGenerator) {
	g := &generator{id: id, policy: policy, refused: make(map[kuma.ID]error)}
	d.generators[id.Name] = g
	for name := range d.named {
		m := d.meshes[name]
		for _, u := range m.naming.services {
			if m.naming.entitle(u, g); len(u.titles) > 0 {
				d.unsettle(m)
			}
		}
	}
}

// removeGenerator takes it away, with its names.
func (d *Desired) removeGenerator(id kuma.ID) {
	g := d.generators[id.Name]
	delete(d.generators, id.Name)
	for name := range d.named {
		m := d.meshes[name]
		for _, u := range m.naming.services {
			if m.naming.disentitle(u, g) {
				d.unsettle(m)
			}
		}
	}
}
