package kuma

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// HostnameGenerator is a policy that gives full names to the destinations of all
// meshes that it selects. It is immutable.
type HostnameGenerator struct {
	// Labels has, for each kind of destination that it selects of, the labels
	// that one has to have, sorted by key. No labels are every destination's.
	Labels   map[vip.Kind][]vip.Tag
	template *pattern
	// Local says that the generator is one of our own zone: those come first.
	Local   bool
	Created time.Time // the zero time where that is not known
}

// Unnamed is a destination whose names Kuma has not decided on, as it stands in
// a file that somebody wrote. Generators name it. It is immutable.
type Unnamed struct {
	Kind    vip.Kind
	Labels  Tags
	Created time.Time // the zero time where that is not known
	naming  naming
}

// naming is what a template of a generator sees of a destination.
type naming struct{ Name, DisplayName, Namespace, Mesh, Zone string }

func (n naming) size() int {
	return len(n.Name) + len(n.DisplayName) + len(n.Namespace) + len(n.Mesh) + len(n.Zone) + 8
}

// hostnameGenerator reads a HostnameGenerator, whose spec stands at the top in
// both forms.
func hostnameGenerator(o object, meta metadata) (Spec, error) {
	spec, ok, err := o.object("spec")
	if err == nil && !ok {
		err = errNoSpec
	}
	if err != nil {
		return nil, err
	}
	g := &HostnameGenerator{
		Labels:  make(map[vip.Kind][]vip.Tag),
		Local:   meta.labels()[labelOrigin] == originZone,
		Created: meta.created(),
	}
	selector, ok, err := spec.object("selector")
	if err == nil && !ok {
		err = fmt.Errorf("%sselector is missing: write what is selected, as in selector: {meshService: {matchLabels: {}}}", spec.path)
	}
	if err != nil {
		return nil, err
	}
	for _, of := range []struct {
		key  string
		kind vip.Kind
	}{
		{"meshService", vip.MeshService},
		{"meshExternalService", vip.MeshExternalService},
		{"meshMultiZoneService", vip.MeshMultiZoneService},
	} {
		one, ok, err := selector.object(of.key)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if g.Labels[of.kind], err = one.textMap("matchLabels"); err != nil {
			return nil, err
		}
	}
	if g.template, err = spec.pattern("template", true); err != nil {
		return nil, err
	}
	return g, nil
}

// Same implements [Part].
func (g *HostnameGenerator) Same(p Part) bool {
	o, ok := p.(*HostnameGenerator)
	return ok && g.Equal(o)
}

// Equal reports whether g and o say the same.
func (g *HostnameGenerator) Equal(o *HostnameGenerator) bool {
	return g.Local == o.Local && g.Created.Equal(o.Created) && g.template.Equal(o.template) &&
		maps.EqualFunc(g.Labels, o.Labels, slices.Equal[[]vip.Tag])
}

// Compare orders generators by who has a name that two of them make: those of
// our own zone first, then the older one. It does not look at their names.
func (g *HostnameGenerator) Compare(o *HostnameGenerator) int {
	if g.Local != o.Local {
		if g.Local {
			return -1
		}
		return 1
	}
	return g.Created.Compare(o.Created)
}

// Hostname returns the name that g gives to u, "" where it gives it none.
func (g *HostnameGenerator) Hostname(u *Unnamed) (string, error) {
	want, ok := g.Labels[u.Kind]
	if !ok {
		return "", nil
	}
	labels := u.Labels.All()
	for _, w := range want {
		if value, ok := tagOf(labels, w.Key); !ok || value != w.Value {
			return "", nil
		}
	}
	for _, s := range []string{u.naming.Name, u.naming.DisplayName, u.naming.Namespace, u.naming.Mesh, u.naming.Zone} {
		if len(s) > maxRendered {
			return "", fmt.Errorf("%.60q... is longer than %d bytes", s, maxRendered)
		}
	}
	text, err := g.template.render(u.naming, func(key string) (string, bool) { return tagOf(labels, key) })
	if err == nil && text != "" {
		text, err = subdomain(text)
	}
	if err != nil {
		return "", fmt.Errorf("spec.template: %w", err)
	}
	return text, nil
}

// Same implements [Part].
func (u *Unnamed) Same(p Part) bool {
	o, ok := p.(*Unnamed)
	return ok && u.Kind == o.Kind && u.Labels == o.Labels && u.Created.Equal(o.Created) && u.naming == o.naming
}

// Undecided is what generators name a destination by, as its document has it.
type Undecided struct {
	Labels          map[string]string
	Created         time.Time // the zero time where that is not known
	Environment     string    // "universal" or "kubernetes"
	Name, Namespace string    // as they stand in the document
}

// unnamed returns the destination id as generators see it in our zone. What Kuma
// puts on a resource when it is applied to a control plane, a document that lacks
// it gets here, so that generators that were made for Kuma find it.
func (u *Undecided) unnamed(id ID, kind vip.Kind, zone string) *Unnamed {
	labels := map[string]string{
		labelMesh:        id.Mesh,
		labelZone:        zone,
		labelOrigin:      originZone,
		labelEnvironment: u.Environment,
		labelDisplayName: u.Name,
	}
	if u.Namespace != "" {
		labels[labelNamespace] = u.Namespace
	}
	maps.Copy(labels, u.Labels)
	return &Unnamed{
		Kind:    kind,
		Labels:  NewTags(vip.NewTags(labels)),
		Created: u.Created,
		naming: naming{
			Name:        u.Name,
			DisplayName: labels[labelDisplayName],
			Namespace:   labels[labelNamespace],
			Mesh:        id.Mesh,
			Zone:        cmp.Or(labels[labelZone], zone),
		},
	}
}
