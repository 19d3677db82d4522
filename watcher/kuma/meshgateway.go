package kuma

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// OriginMeshGateway stands before the mesh, the name and the hostname of the
// MeshGateway that gave an outbound, in Kuma's words.
const OriginMeshGateway = "mesh-gateway:"

// meshTag is the tag of the mesh that a gateway of another mesh is in.
const meshTag = "kuma.io/mesh"

// MeshGateway is a gateway: its names in every mesh, in the order of those of
// its listeners that are reached from other meshes (crossMesh).
type MeshGateway struct{ Listeners []Listener }

// Listener is a name of a gateway, and the outbound that leads to it.
type Listener struct {
	// Host is empty where the resource names no host, or several by a
	// wildcard. Kuma makes a name then.
	Host     string
	Outbound vip.Outbound
}

// CrossMesh is a MeshGateway with all its names. It is immutable.
type CrossMesh struct{ Listeners []Listener }

// meshGateway reads a MeshGateway of mesh.
func meshGateway(o object, mesh string) (Spec, error) {
	conf, _, err := o.object("conf")
	if err != nil {
		return nil, err
	}
	list, err := conf.objects("listeners")
	if err != nil {
		return nil, err
	}
	var g MeshGateway
	asked := false
	for _, item := range list {
		cross, err := item.flag("crossMesh")
		if err != nil {
			return nil, err
		}
		if !cross {
			continue
		}
		if !asked {
			asked = true
			o.checkService()
		}
		l, ok, err := crossMeshListener(o, item, mesh)
		if err != nil {
			return nil, err
		}
		if ok {
			g.Listeners = append(g.Listeners, l)
		}
	}
	return g, nil
}

// checkService tells where a gateway has no selector that names a service. It
// has its name all the same, as it has one without any Dataplane.
func (o object) checkService() {
	list, _ := o.objects("selectors")
	if len(list) > 0 {
		if match, _, _ := list[0].object("match"); match.m[vip.ServiceTag] != nil {
			return
		}
	}
	o.fault("selectors", fmt.Errorf("the first does not match a %s, so that no proxy finds the gateway: add selectors: [{match: {%s: NAME}}]", vip.ServiceTag, vip.ServiceTag))
}

// crossMeshListener reads a listener of the gateway o, and reports whether it
// can be told: one whose port or name is no good is a fault.
func crossMeshListener(o, item object, mesh string) (Listener, bool, error) {
	var l Listener
	host, err := item.text("hostname")
	if err != nil {
		return l, false, err
	}
	if l.Outbound.Tags, err = listenerTags(o, item, mesh); err != nil {
		return l, false, err
	}
	if host != "" && !strings.Contains(host, "*") {
		if l.Host, err = hostname(host); err != nil {
			item.fault("hostname", err)
			return l, false, nil
		}
	}
	l.Outbound.Port, err = item.port("port")
	switch {
	case err != nil:
		item.faults.add(err)
	case l.Outbound.Port == 0:
		item.fault("port", errors.New("missing or 0: write a number from 1 to 65535"))
	}
	return l, l.Outbound.Port != 0, nil
}

// listenerTags returns the tags by which proxies of other meshes find a listener.
// As in Kuma, what the selector says comes before the mesh, and that before the
// tags of the listener and the gateway. A crossMesh listener has one selector
// there, so of several the first counts.
func listenerTags(o, item object, mesh string) ([]vip.Tag, error) {
	gateway, err := o.textMap("tags")
	if err != nil {
		return nil, err
	}
	listener, err := item.textMap("tags")
	if err != nil {
		return nil, err
	}
	list, err := o.objects("selectors")
	if err != nil {
		return nil, err
	}
	var match []vip.Tag
	if len(list) > 0 {
		if match, err = list[0].textMap("match"); err != nil {
			return nil, err
		}
	}
	m := make(map[string]string)
	for _, tags := range [][]vip.Tag{gateway, listener, {{Key: meshTag, Value: mesh}}, match} {
		for _, t := range tags {
			m[t.Key] = t.Value
		}
	}
	return vip.NewTags(m), nil
}

// crossMesh returns g, which is id, with all its names. A name that cannot be
// one is an error, and the listener is left out.
func (g MeshGateway) crossMesh(id ID, domain string) (Part, []error) {
	var c CrossMesh
	var errs []error
	for _, l := range g.Listeners {
		if l.Host == "" {
			var err error
			if l.Host, err = hostname("internal." + id.Name + "." + id.Mesh + "." + domain); err != nil {
				errs = append(errs, fmt.Errorf("the listener of port %d has no hostname, and the name that it would have by its gateway, mesh and domain, %w", l.Outbound.Port, err))
				continue
			}
		}
		l.Outbound.Origin = OriginMeshGateway + id.Mesh + ":" + id.Name + ":" + l.Host
		c.Listeners = append(c.Listeners, l)
	}
	if len(c.Listeners) == 0 {
		return nil, errs
	}
	return &c, errs
}

// Same implements [Part].
func (c *CrossMesh) Same(p Part) bool {
	o, ok := p.(*CrossMesh)
	return ok && slices.EqualFunc(c.Listeners, o.Listeners, func(a, b Listener) bool {
		return a.Host == b.Host && a.Outbound.Equal(b.Outbound)
	})
}
