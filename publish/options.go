package publish

import "github.com/meshvip/coredns-meshvip/vip"

// Options say how the outbounds of a mesh name what they lead to. Kuma has two
// ways, of which older releases know the first and newer ones the second; some
// know both. The zero Options are those of Tags alone.
type Options struct {
	// Tags publishes services, hosts and fqdns, by their tags.
	Tags bool
	// BackendRefs publishes MeshServices, MeshExternalServices and
	// MeshMultiZoneServices, by their kind, name and port.
	BackendRefs bool
}

// optionsOf returns the options that a caller gave, if any.
func optionsOf(options []Options) Options {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if !o.Tags && !o.BackendRefs {
		o.Tags = true
	}
	return o
}

// publishes reports whether entries of the kind are in the outbounds.
func (o Options) publishes(kind vip.Kind) bool {
	if kind.OfMesh() {
		return o.BackendRefs
	}
	return o.Tags
}
