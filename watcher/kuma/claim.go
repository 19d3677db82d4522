package kuma

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// noServicePort is the port that Kuma gives the inbound of a pod that has no
// service (mesh_proto.TCPPortReserved).
const noServicePort = 49151

// Claim is one entry that a resource asks for in one mesh.
type Claim struct {
	Mesh      string
	Entry     vip.Entry
	Outbounds []vip.Outbound // sorted by [vip.Outbound.Compare]
	Terms     *vip.Terms     // nil where it asks for nothing more
	// Tags are the tags that a VirtualOutbound of the mesh may select the
	// service by, beside that of the service itself. They are zero where none
	// may: of hosts, destinations, and what an old-style ingress lists.
	Tags Tags
}

// Compare orders claims by mesh, entry key, spelling, outbounds, terms and tags.
func (c Claim) Compare(o Claim) int {
	return cmp.Or(
		strings.Compare(c.Mesh, o.Mesh),
		c.Entry.Key().Compare(o.Entry.Key()),
		strings.Compare(c.Entry.Name, o.Entry.Name),
		slices.CompareFunc(c.Outbounds, o.Outbounds, vip.Outbound.Compare),
		CompareTerms(c.Terms, o.Terms),
		c.Tags.Compare(o.Tags),
	)
}

// CompareTerms orders terms by static addresses, given addresses, hostnames and
// whether they are Kuma's alone to give. nil is the same as empty.
func CompareTerms(t, u *vip.Terms) int {
	var none vip.Terms
	t, u = cmp.Or(t, &none), cmp.Or(u, &none)
	return cmp.Or(
		slices.CompareFunc(t.Static, u.Static, netip.Addr.Compare),
		slices.CompareFunc(t.Given, u.Given, netip.Addr.Compare),
		slices.Compare(t.Hostnames, u.Hostnames),
		compareBool(t.Follow, u.Follow),
	)
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Equal reports whether c and o ask for the same.
func (c Claim) Equal(o Claim) bool {
	return c.Mesh == o.Mesh && c.Entry == o.Entry && slices.EqualFunc(c.Outbounds, o.Outbounds, vip.Outbound.Equal) &&
		c.Terms.Equal(o.Terms) && c.Tags == o.Tags
}

// Claims returns what r asks for, sorted by [Claim.Compare], without
// repetition. zone is the name of our own Kuma zone: what an ingress of it
// lists is here already. The error names a field whose value cannot be an
// entry; the resource gives nothing then.
func (r Resource) Claims(zone string) ([]Claim, error) {
	var claims []Claim
	switch spec := r.Spec.(type) {
	case Dataplane:
		claims = make([]Claim, 0, len(spec.Inbound)+len(spec.Available))
		for _, in := range spec.Inbound {
			if in.Port != noServicePort && !in.Ignored {
				claims = appendService(claims, serviceClaim(r.Mesh, in.Service, 0, in.Static, orNone(in.Tags)))
			}
		}
		for _, a := range spec.Available {
			claims = appendService(claims, serviceClaim(a.Mesh, a.Service, 0, netip.Addr{}, Tags{}))
		}
	case ZoneIngress:
		if spec.Zone == "" || spec.Zone == zone {
			break
		}
		claims = make([]Claim, 0, len(spec.Available))
		for _, a := range spec.Available {
			claims = appendService(claims, serviceClaim(a.Mesh, a.Service, 0, netip.Addr{}, orNone(a.Tags)))
		}
	case ExternalService:
		// As in Kuma, no policy sees its other tags.
		claims = appendService(claims, serviceClaim(r.Mesh, spec.Service, spec.Port, spec.Static, noTags))
		if _, err := netip.ParseAddr(spec.Host); err != nil && !spec.DisableHostDNSEntry {
			claims = append(claims, hostClaim(r.ID, spec))
		}
	case Destination:
		claims = append(claims, destinationClaim(r.ID, spec))
	}
	for _, c := range claims {
		if err := c.Entry.Validate(); err != nil {
			return nil, fmt.Errorf("%.80q: %w", c.Entry, err)
		}
	}
	slices.SortFunc(claims, Claim.Compare)
	return slices.CompactFunc(claims, Claim.Equal), nil
}

// Remark returns what an operator should know about r although nothing is
// broken: why it gives nothing. It is empty for most resources.
func (r Resource) Remark() string {
	if spec, ok := r.Spec.(ZoneIngress); ok && spec.Zone == "" && len(spec.Available) > 0 {
		return "names no zone, so its services are taken for our own and get no VIP from it: add zone: NAME of the zone it belongs to"
	}
	return ""
}

// orNone returns t, the empty set where it is none at all.
func orNone(t Tags) Tags {
	if t.IsZero() {
		return noTags
	}
	return t
}

// appendService adds the claim of a service, nothing where it has no name.
func appendService(claims []Claim, c Claim) []Claim {
	if c.Entry.Name == "" {
		return claims
	}
	return append(claims, c)
}

// serviceClaim is the claim of a service tag. static is the address that it asks
// for, if any.
func serviceClaim(mesh, service string, port uint16, static netip.Addr, tags Tags) Claim {
	c := Claim{
		Mesh:  mesh,
		Entry: vip.Entry{Kind: vip.Service, Name: service},
		Outbounds: []vip.Outbound{{
			Port:   port,
			Tags:   []vip.Tag{{Key: vip.ServiceTag, Value: service}},
			Origin: vip.OriginService,
		}},
		Tags: tags,
	}
	if static.IsValid() {
		c.Terms = &vip.Terms{Static: []netip.Addr{static}}
	}
	return c
}

func hostClaim(id ID, spec ExternalService) Claim {
	return Claim{
		Mesh:  id.Mesh,
		Entry: vip.Entry{Kind: vip.Host, Name: spec.Host},
		Outbounds: []vip.Outbound{{
			Port:   spec.Port,
			Tags:   []vip.Tag{{Key: vip.ServiceTag, Value: spec.Service}},
			Origin: vip.OriginHostPrefix + id.Name,
		}},
	}
}
