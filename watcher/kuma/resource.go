package kuma

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// The types of resources that this package knows.
const (
	TypeMesh            = "Mesh"
	TypeDataplane       = "Dataplane"
	TypeZoneIngress     = "ZoneIngress"
	TypeExternalService = "ExternalService"
	TypeVirtualOutbound = "VirtualOutbound"
	TypeMeshGateway     = "MeshGateway"

	TypeHostnameGenerator    = "HostnameGenerator"
	TypeMeshService          = "MeshService"
	TypeMeshExternalService  = "MeshExternalService"
	TypeMeshMultiZoneService = "MeshMultiZoneService"
)

// ID is what identifies a resource. It is usable as a map key.
type ID struct {
	Type string
	// Mesh is empty for types that belong to no mesh: Mesh, ZoneIngress and
	// HostnameGenerator.
	Mesh string
	Name string
	// Source tells resources apart that several sources list, each in its own
	// right; 0 where there is one source.
	Source int
}

// String returns the identity as messages show it: Dataplane "web-1" of mesh "default".
func (id ID) String() string {
	s := cmp.Or(id.Type, "document")
	if id.Name != "" {
		s += " " + strconv.Quote(id.Name)
	}
	if id.Mesh != "" {
		s += " of mesh " + strconv.Quote(id.Mesh)
	}
	return s
}

// Compare orders identities by type, mesh, name and source.
func (id ID) Compare(o ID) int {
	return cmp.Or(strings.Compare(id.Type, o.Type), strings.Compare(id.Mesh, o.Mesh), strings.Compare(id.Name, o.Name),
		cmp.Compare(id.Source, o.Source))
}

// Covers reports whether id, of which empty fields are unknown, may be the
// identity o, in whatever source.
func (id ID) Covers(o ID) bool {
	return (id.Type == "" || id.Type == o.Type) &&
		(id.Mesh == "" || id.Mesh == o.Mesh) &&
		(id.Name == "" || id.Name == o.Name)
}

// Resource is one decoded resource.
type Resource struct {
	ID
	// Line is where the resource's document begins, from 1.
	Line int
	// Spec is a [Mesh], [Dataplane], [ZoneIngress], [ExternalService],
	// [MeshGateway] or [Destination], or a pointer to a [VirtualOutbound] or a
	// [HostnameGenerator].
	Spec Spec
	// Faults are values that are passed over, while all else of the resource
	// counts. Each error names the field, the value and the remedy. There are
	// twenty at most, and one that says how many more.
	Faults []error
}

// Invalid is a document that reads well but is not a valid resource.
type Invalid struct {
	// ID has what could be read of the identity; an empty field is unknown.
	ID ID
	// Line is where the document begins, from 1.
	Line int
	// Err names the field and the remedy.
	Err error
}

// Spec is what a resource says, by type.
type Spec interface{ isSpec() }

// Mesh declares a mesh. Its settings do not matter here.
type Mesh struct{}

// Dataplane is one proxy and the services that it stands before.
type Dataplane struct {
	Inbound []Inbound
	// Ingress marks the old style of ingress, a Dataplane that lists what is
	// available in other zones. Its inbounds do not count.
	Ingress   bool
	Available []AvailableService
}

// Inbound is one port of a Dataplane.
type Inbound struct {
	Port    uint16
	Ignored bool   // its state is Ignored
	Service string // its service tag, may be empty
	// Tags are its other tags, but for its VIP tag; zero where it has none.
	Tags Tags
	// Static is the address that its VIP tag asks for; the zero Addr where
	// there is none, or none that is good.
	Static netip.Addr
}

// ZoneIngress lists what another zone makes available.
type ZoneIngress struct {
	Zone      string // the zone that it belongs to; empty where the resource names none
	Available []AvailableService
}

// AvailableService is a service of one mesh that is reached through an ingress.
type AvailableService struct {
	Mesh, Service string
	Tags          Tags // the others, but for a VIP tag; zero where there are none
}

// ExternalService is a service outside the mesh.
type ExternalService struct {
	Service string // its service tag
	// Static is the address that its VIP tag asks for, for the service and not
	// for the host; the zero Addr where there is none, or none that is good.
	Static netip.Addr
	Host   string // a DNS name or an IP address
	Port   uint16
	// DisableHostDNSEntry says that only the service gets a VIP, not the host.
	DisableHostDNSEntry bool
}

// Destination is a service of Kuma's newer model: a MeshService, a
// MeshExternalService or a MeshMultiZoneService. Kuma decides on its names and
// addresses and writes them into its status.
type Destination struct {
	Kind  vip.Kind // that of its entry
	Ports []uint16 // sorted, none twice
	// Hostnames are in the order of the status, none twice, whatever the case,
	// without a final dot.
	Hostnames []string
	// Undecided is nil where Kuma has decided on the names. Otherwise generators
	// do. Nothing answers to a destination that has no name from either.
	Undecided *Undecided
	// Given are the addresses that it has from Kuma, sorted, none twice.
	Given []netip.Addr
}

func (Mesh) isSpec()               {}
func (Dataplane) isSpec()          {}
func (ZoneIngress) isSpec()        {}
func (ExternalService) isSpec()    {}
func (*VirtualOutbound) isSpec()   {}
func (MeshGateway) isSpec()        {}
func (*HostnameGenerator) isSpec() {}
func (Destination) isSpec()        {}
