package kumaapi

import (
	"net/url"

	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// kind is a kind of resource that the API lists.
type kind struct {
	typ string // of its items
	// paths are below the base URL. Versions differ in which of them they
	// answer; those that answer list the same. The first one names its places.
	paths  []string
	meshed bool // its resources belong to a mesh each
	always bool // every version has it: that it is absent is an error
}

// kinds are all kinds that ask for VIPs, in the order in which they are listed.
var kinds = []*kind{
	{typ: kuma.TypeMesh, paths: []string{"meshes"}, always: true},
	{typ: kuma.TypeDataplane, paths: []string{"dataplanes"}, meshed: true, always: true},
	{typ: kuma.TypeExternalService, paths: []string{"external-services", "externalservices"}, meshed: true},
	{typ: kuma.TypeZoneIngress, paths: []string{"zone-ingresses", "zoneingresses"}},
	{typ: kuma.TypeVirtualOutbound, paths: []string{"virtual-outbounds", "virtualoutbounds"}, meshed: true},
	{typ: kuma.TypeMeshGateway, paths: []string{"meshgateways"}, meshed: true},
	{typ: kuma.TypeMeshService, paths: []string{"meshservices"}, meshed: true},
	{typ: kuma.TypeMeshExternalService, paths: []string{"meshexternalservices"}, meshed: true},
	{typ: kuma.TypeMeshMultiZoneService, paths: []string{"meshmultizoneservices"}, meshed: true},
	{typ: kuma.TypeHostnameGenerator, paths: []string{"hostnamegenerators"}},
}

// place returns where the API has the resource id, the place that declares it.
func (k *kind) place(base string, id kuma.ID) string {
	path := base + "/"
	if k.meshed {
		path += "meshes/" + url.PathEscape(id.Mesh) + "/"
	}
	return path + k.paths[0] + "/" + url.PathEscape(id.Name)
}
