package kuma

// Home is what no resource can say of itself: where it is read.
type Home struct {
	// Zone is the name of our own Kuma zone.
	Zone string
	// Domain is the DNS domain below which a gateway without a hostname is
	// named, "mesh" by default in Kuma.
	Domain string
}

// Part is what a resource says that counts only together with others: a
// [*VirtualOutbound], a [*CrossMesh] gateway, a [*HostnameGenerator], or a
// destination that is [*Unnamed]. It is immutable.
type Part interface {
	// Same reports whether p says the same.
	Same(p Part) bool
}

// Part returns the part of r that counts together with other resources, nil
// where it has none, as most. What is wrong with values that are passed over is
// told; all else counts.
func (r Resource) Part(home Home) (Part, []error) {
	switch spec := r.Spec.(type) {
	case *VirtualOutbound:
		return spec, nil
	case *HostnameGenerator:
		return spec, nil
	case MeshGateway:
		return spec.crossMesh(r.ID, home.Domain)
	case Destination:
		if spec.Undecided != nil {
			return spec.Undecided.unnamed(r.ID, spec.Kind, home.Zone), nil
		}
	}
	return nil, nil
}
