package kuma

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// kindOf returns the kind of the entry of a destination, and whether resources
// of type typ are destinations.
func kindOf(typ string) (vip.Kind, bool) {
	switch typ {
	case TypeMeshService:
		return vip.MeshService, true
	case TypeMeshExternalService:
		return vip.MeshExternalService, true
	case TypeMeshMultiZoneService:
		return vip.MeshMultiZoneService, true
	}
	return 0, false
}

func isDestination(typ string) bool {
	_, ok := kindOf(typ)
	return ok
}

// destination reads a resource of the newer model. Both forms have spec and
// status at the top. Whether it is available (spec.state) does not matter: its
// names and addresses are its own either way.
func destination(typ string, o object, meta metadata) (Spec, error) {
	spec, ok, err := o.object("spec")
	if err == nil && !ok {
		err = errNoSpec
	}
	if err != nil {
		return nil, err
	}
	status, _, err := o.object("status")
	if err != nil {
		return nil, err
	}
	var d Destination
	d.Kind, _ = kindOf(typ)
	if d.Ports, err = destinationPorts(d.Kind, spec); err != nil {
		return nil, err
	}
	if d.Hostnames, err = statusHostnames(status); err != nil {
		return nil, err
	}
	if d.Given, err = statusVIPs(d.Kind, status); err != nil {
		return nil, err
	}
	if !decided(status) {
		d.Undecided = &Undecided{
			Labels:      meta.labels(),
			Created:     meta.created(),
			Environment: meta.env,
			Name:        meta.name,
			Namespace:   meta.namespace,
		}
	}
	return d, nil
}

// decided reports whether a control plane has decided on the names of a
// destination. It writes which of its generators it has asked, also where none
// gave a name; a status without either has only its addresses from it, so far.
func decided(status object) bool {
	for _, key := range []string{"addresses", "hostnameGenerators"} {
		if list, ok := status.m[key].([]any); ok && len(list) > 0 {
			return true
		}
	}
	return false
}

// destinationPorts returns the ports of spec. One that is none is a fault.
func destinationPorts(kind vip.Kind, spec object) ([]uint16, error) {
	list, err := spec.objects("ports")
	if kind == vip.MeshExternalService {
		list, err = optional(spec, "match")
	}
	if err != nil {
		return nil, err
	}
	var ports []uint16
	for _, item := range list {
		switch port, err := item.port("port"); {
		case err != nil:
			item.faults.add(err)
		case port == 0:
			item.fault("port", errors.New("missing or 0: write a number from 1 to 65535"))
		default:
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports), nil
}

// statusHostnames returns the names of status.addresses. One that is none is a
// fault.
func statusHostnames(status object) ([]string, error) {
	list, err := status.objects("addresses")
	if err != nil {
		return nil, err
	}
	var names []string
	folded := make(map[string]struct{}, len(list))
	for _, item := range list {
		text, err := item.text("hostname")
		if err != nil {
			item.faults.add(err)
			continue
		}
		name, err := hostname(text)
		if err != nil {
			item.fault("hostname", err)
			continue
		}
		fold := vip.Fold(name)
		if _, twice := folded[fold]; !twice {
			folded[fold] = struct{}{}
			names = append(names, name)
		}
	}
	return names, nil
}

// statusVIPs returns the addresses of status.vips, and of status.vip where the
// kind has that. One that is none is a fault; one that is empty is not given
// yet.
func statusVIPs(kind vip.Kind, status object) ([]netip.Addr, error) {
	list, err := status.objects("vips")
	if err != nil {
		return nil, err
	}
	if kind == vip.MeshExternalService {
		one, err := optional(status, "vip")
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
	}
	var addrs []netip.Addr
	for _, item := range list {
		if ip := item.m["ip"]; ip == nil || ip == "" {
			continue
		}
		if a := item.address("ip"); a.IsValid() {
			addrs = append(addrs, a)
		}
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return slices.Compact(addrs), nil
}

// optional returns the mapping at key as a list of one, or of none.
func optional(o object, key string) ([]object, error) {
	one, ok, err := o.object(key)
	if !ok {
		return nil, err
	}
	return []object{one}, nil
}

// destinationClaim is the one claim of a destination. Its outbounds have no
// tags, since no tag leads to it.
func destinationClaim(id ID, spec Destination) Claim {
	c := Claim{Mesh: id.Mesh, Entry: vip.Entry{Kind: spec.Kind, Mesh: id.Mesh, Name: id.Name}}
	for _, port := range spec.Ports {
		c.Outbounds = append(c.Outbounds, vip.Outbound{Port: port, Origin: originOf(spec.Kind, id.Name)})
	}
	if t := (&vip.Terms{Given: spec.Given, Hostnames: spec.Hostnames}); !t.Empty() {
		c.Terms = t
	}
	return c
}

// originOf returns the origin of a destination's outbounds, such as
// "mesh-service:backend". Kuma's tables have no such outbounds, so the words
// are ours, after the pattern of Kuma's "external-service:NAME".
func originOf(kind vip.Kind, name string) string {
	switch kind {
	case vip.MeshExternalService:
		return "mesh-external-service:" + name
	case vip.MeshMultiZoneService:
		return "mesh-multi-zone-service:" + name
	default:
		return "mesh-service:" + name
	}
}
