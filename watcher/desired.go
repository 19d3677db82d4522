package watcher

import (
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// declaration is a place's word for a resource.
type declaration struct {
	place    string
	resource *Resource
}

// Desired is the desired state: what all resources of all places ask for. The
// zero value is not usable. A Desired is not safe for concurrent use.
type Desired struct {
	places map[string][]Resource
	// declarations are sorted by place, and by their order in it. The first
	// one counts.
	declarations map[kuma.ID][]declaration
	repeated     map[kuma.ID]struct{} // those that have more than one
	meshes       map[string]*mesh
	touched      map[string]struct{} // meshes touched since the last batch
	waiting      map[string]struct{} // undeclared meshes that somebody names
	clashing     map[string]struct{} // meshes with clashing names or static addresses

	// enrolled says that meshes know their members, as they do from the first
	// policy on that has to know them.
	enrolled   bool
	gateways   *gateways
	generators map[string]*generator // by the resource's name
	named      map[string]struct{}   // meshes with destinations that generators name
	unsettled  map[string]struct{}   // meshes in which policies may give something else
	troubled   map[string]struct{}   // meshes with policies that do not have their way

	// sources is how many sources there are. apart reports whether two places
	// belong to different ones; nil where there is one.
	sources int
	apart   func(a, b string) bool
	// given tells the addresses that Kuma gave to names of policies; nil where
	// Kuma is not followed.
	given GivenAddresses
}

// NewDesired returns the state in which nobody asks for anything.
func NewDesired() *Desired {
	d := &Desired{
		places:       make(map[string][]Resource),
		declarations: make(map[kuma.ID][]declaration),
		repeated:     make(map[kuma.ID]struct{}),
		meshes:       make(map[string]*mesh),
		touched:      make(map[string]struct{}),
		waiting:      make(map[string]struct{}),
		clashing:     make(map[string]struct{}),
		gateways:     newGateways(),
		generators:   make(map[string]*generator),
		named:        make(map[string]struct{}),
		unsettled:    make(map[string]struct{}),
		troubled:     make(map[string]struct{}),
		sources:      1,
	}
	d.mesh(vip.DefaultMesh)
	return d
}

// Place returns what place declares. It must not be changed.
func (d *Desired) Place(place string) []Resource { return d.places[place] }

// Put says what place declares now, in its order; nothing is the same as
// taking the place away. resources must not be changed afterwards.
func (d *Desired) Put(place string, resources []Resource) {
	before := make(map[kuma.ID]*Resource)
	for _, rs := range [][]Resource{d.places[place], resources} {
		for i := range rs {
			id := rs[i].ID
			if _, ok := before[id]; !ok {
				before[id] = d.active(id)
			}
		}
	}
	for id := range before {
		d.undeclare(id, place)
	}
	for i := range resources {
		d.declare(place, &resources[i])
	}
	if len(resources) > 0 {
		d.places[place] = resources
	} else {
		delete(d.places, place)
	}
	// In a fixed order, so that the same calls have the same messages.
	ids := make([]kuma.ID, 0, len(before))
	for id := range before {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, kuma.ID.Compare)
	var entering []*Resource
	for _, id := range ids {
		if after := d.active(id); d.replace(before[id], after) && after != nil && after.Part != nil {
			entering = append(entering, after)
		}
	}
	// A part may look at the claims of all resources, so these come first.
	for _, r := range entering {
		d.enter(r)
	}
}

// active returns the resource that counts as id, nil if there is none.
func (d *Desired) active(id kuma.ID) *Resource {
	if ds := d.declarations[id]; len(ds) > 0 {
		return ds[0].resource
	}
	return nil
}

func (d *Desired) declare(place string, r *Resource) {
	ds := d.declarations[r.ID]
	// Behind those of the same place, which come in order.
	i := len(ds)
	for i > 0 && strings.Compare(ds[i-1].place, place) > 0 {
		i--
	}
	d.setDeclarations(r.ID, slices.Insert(ds, i, declaration{place, r}))
}

func (d *Desired) undeclare(id kuma.ID, place string) {
	ds := d.declarations[id]
	d.setDeclarations(id, slices.DeleteFunc(ds, func(x declaration) bool { return x.place == place }))
}

func (d *Desired) setDeclarations(id kuma.ID, ds []declaration) {
	if len(ds) == 0 {
		delete(d.declarations, id)
	} else {
		d.declarations[id] = ds
	}
	mark(d.repeated, id, len(ds) > 1)
}

// replace lets the claims of after count instead of those of before, takes back
// before's part, and reports whether the two differ. Each may be nil, and both
// are the same resource otherwise.
func (d *Desired) replace(before, after *Resource) bool {
	if d.enrolled {
		d.enroll(before, after)
	}
	if before != nil && after != nil && before.Equal(after) {
		return false
	}
	if after != nil {
		if after.Type == kuma.TypeMesh {
			d.setDeclared(after.Name, true)
		}
		for _, c := range after.Claims {
			m := d.mesh(c.Mesh)
			m.add(after.ID, after.Where, c)
			d.noted(m, m.appears(after.ID, c))
		}
	}
	if before != nil {
		for _, c := range before.Claims {
			m := d.mesh(c.Mesh)
			m.sub(before.ID, c)
			d.noted(m, m.disappears(before.ID, c))
		}
		if before.Part != nil {
			d.leave(before)
		}
		if after == nil && before.Type == kuma.TypeMesh {
			d.setDeclared(before.Name, false)
		}
	}
	return true
}

// noted says that something was put in a mesh, and whether policies may give
// something else there because of it.
func (d *Desired) noted(m *mesh, unsettles bool) {
	if unsettles {
		d.unsettle(m)
	} else {
		d.touch(m)
	}
}

func (d *Desired) setDeclared(name string, declared bool) {
	m := d.mesh(name)
	existed := m.exists()
	m.declared = declared
	switch {
	case m.exists() && !existed:
		d.begin(m)
	case existed && !m.exists():
		d.end(m)
	}
	d.touch(m)
}

func (d *Desired) mesh(name string) *mesh {
	m := d.meshes[name]
	if m == nil {
		m = newMesh(name)
		d.meshes[name] = m
	}
	return m
}

func (d *Desired) touch(m *mesh) {
	d.touched[m.name] = struct{}{}
	mark(d.waiting, m.name, m.waiting())
	mark(d.clashing, m.name, m.exists() && len(m.clashing) > 0)
	mark(d.troubled, m.name, m.exists() && (m.virtual.troubled() || m.naming.troubled()))
}

// Touched reports whether anything was put since the last batch that asks for
// something else than before, so that [Desired.Changes] may have something.
func (d *Desired) Touched() bool { return len(d.touched) > 0 }

// Changes returns what changed since the last batch that was taken, as a
// delta, and takes it as handed over. The batch has no meshes where nothing
// changed. Meshes and entries are sorted.
func (d *Desired) Changes() vip.Batch {
	d.settle()
	var b vip.Batch
	for _, name := range sortedKeys(d.touched) {
		m := d.meshes[name]
		if u, changed := m.delta(); changed {
			b.Meshes = append(b.Meshes, u)
		}
		if m.forgettable() {
			delete(d.meshes, name)
		}
	}
	clear(d.touched)
	return b
}

// All returns the whole as a full batch and takes it as handed over. It has
// every mesh that is declared, and the default mesh, also those that ask for
// nothing.
func (d *Desired) All() vip.Batch {
	d.settle()
	b := vip.Batch{Full: true}
	for _, name := range sortedKeys(d.meshes) {
		m := d.meshes[name]
		if m.exists() {
			b.Meshes = append(b.Meshes, m.all())
			continue
		}
		if m.drop(); m.forgettable() {
			delete(d.meshes, name)
		}
	}
	clear(d.touched)
	return b
}

// mark puts key into set, or takes it out.
func mark[K comparable](set map[K]struct{}, key K, in bool) {
	if in {
		set[key] = struct{}{}
	} else {
		delete(set, key)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
