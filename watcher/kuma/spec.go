package kuma

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/meshvip/coredns-meshvip/vip"
)

// readSpec reads the fields of a resource of a known type. o is the mapping that
// has them.
func readSpec(id ID, o object, meta metadata) (Spec, error) {
	switch id.Type {
	case TypeMesh:
		return Mesh{}, nil
	case TypeDataplane:
		return dataplane(o)
	case TypeZoneIngress:
		return zoneIngress(o)
	case TypeExternalService:
		return externalService(o)
	case TypeVirtualOutbound:
		return virtualOutbound(o, meta)
	case TypeMeshGateway:
		return meshGateway(o, id.Mesh)
	case TypeHostnameGenerator:
		return hostnameGenerator(o, meta)
	case TypeMeshService, TypeMeshExternalService, TypeMeshMultiZoneService:
		return destination(id.Type, o, meta)
	}
	return nil, fmt.Errorf("type %q is not read", id.Type)
}

func dataplane(o object) (Spec, error) {
	networking, ok, err := o.object("networking")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("networking is missing: the document was cut short")
	}
	ingress, ok, err := networking.object("ingress")
	if err != nil {
		return nil, err
	}
	if ok {
		available, err := availableServices(ingress)
		if err != nil {
			return nil, err
		}
		return Dataplane{Ingress: true, Available: available}, nil
	}
	list, err := networking.objects("inbound")
	if err != nil {
		return nil, err
	}
	dp := Dataplane{Inbound: make([]Inbound, len(list))}
	for i, in := range list {
		if dp.Inbound[i], err = inbound(in); err != nil {
			return nil, err
		}
	}
	return dp, nil
}

func inbound(o object) (Inbound, error) {
	port, err := o.port("port")
	if err != nil {
		return Inbound{}, err
	}
	service, err := serviceTag(o)
	if err != nil {
		return Inbound{}, err
	}
	state, err := o.text("state")
	if err != nil {
		return Inbound{}, err
	}
	in := Inbound{Port: port, Ignored: state == "Ignored", Service: service, Tags: tagsBeside(o), Static: staticTag(o)}
	if in.Static.IsValid() && service == "" && port != noServicePort {
		o.fault("tags."+vip.StaticTag, fmt.Errorf("%v is asked for, but there is no %s beside it to have it: add that tag, or remove this one", in.Static, vip.ServiceTag))
	}
	return in, nil
}

// serviceTag returns the service among the tags of o, "" where there is none.
func serviceTag(o object) (string, error) {
	tags, _, err := o.object("tags")
	if err != nil {
		return "", err
	}
	return tags.text(vip.ServiceTag)
}

// staticTag returns the address that the tags of o ask for, the zero Addr where
// they ask for none. One that is no good is a fault: the service has its name
// all the same, with an address of our choice.
func staticTag(o object) netip.Addr {
	tags, _, _ := o.object("tags") // serviceTag has told the error
	if _, asked := tags.m[vip.StaticTag]; !asked {
		return netip.Addr{}
	}
	return tags.address(vip.StaticTag)
}

func zoneIngress(o object) (Spec, error) {
	zone, err := o.text("zone")
	if err != nil {
		return nil, err
	}
	available, err := availableServices(o)
	if err != nil {
		return nil, err
	}
	return ZoneIngress{Zone: zone, Available: available}, nil
}

func availableServices(o object) ([]AvailableService, error) {
	list, err := o.objects("availableServices")
	if err != nil {
		return nil, err
	}
	available := make([]AvailableService, len(list))
	for i, item := range list {
		mesh, err := item.text("mesh")
		if err != nil {
			return nil, err
		}
		if mesh == "" {
			mesh = vip.DefaultMesh
		}
		if err := CheckMesh(mesh); err != nil {
			return nil, fmt.Errorf("%smesh: %w", item.path, err)
		}
		service, err := serviceTag(item)
		if err != nil {
			return nil, err
		}
		available[i] = AvailableService{mesh, service, tagsBeside(item)}
	}
	return available, nil
}

func externalService(o object) (Spec, error) {
	service, err := serviceTag(o)
	if err != nil {
		return nil, err
	}
	if service == "" {
		return nil, fmt.Errorf("%stags has no %s, which names the service: add it", o.path, vip.ServiceTag)
	}
	networking, _, err := o.object("networking")
	if err != nil {
		return nil, err
	}
	address, err := networking.text("address")
	if err != nil {
		return nil, err
	}
	host, port, err := hostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%saddress: %w", networking.path, err)
	}
	disabled, err := networking.flag("disableHostDNSEntry")
	if err != nil {
		return nil, err
	}
	return ExternalService{Service: service, Static: staticTag(o), Host: host, Port: port, DisableHostDNSEntry: disabled}, nil
}

// hostPort reads the address of an ExternalService.
func hostPort(address string) (string, uint16, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return "", 0, fmt.Errorf("%.80q is not of the form HOST:PORT, as in httpbin.org:443", address)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%.80q: the port has to be a number from 1 to 65535", address)
	}
	return host, uint16(n), nil
}
