package watcher_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
	"pgregory.net/rapid"
)

// anyTags are those of an inbound beside its service.
var anyTags = rapid.Custom(func(t *rapid.T) kuma.Tags {
	return kuma.NewTags(rapid.SampledFrom([][]vip.Tag{
		nil, nil,
		{{Key: "version", Value: "v1"}},
		{{Key: "version", Value: "v2"}},
		{{Key: "region", Value: "eu"}, {Key: "version", Value: "v1"}},
		{{Key: "port", Value: "81"}, {Key: "version", Value: "v1"}},
		{{Key: "port", Value: "no"}, {Key: "region", Value: "eu"}},
	}).Draw(t, "tags"))
})

// TestPoliciesGiveWhatAFreshReadingGives is a denser world than that of all
// kinds of resources: one resource a place, in two meshes, and much to contend
// for.
func TestPoliciesGiveWhatAFreshReadingGives(t *testing.T) {
	t.Parallel()
	var places []string
	for i := range 12 {
		places = append(places, fmt.Sprint(i))
	}
	one := rapid.Custom(func(t *rapid.T) []watcher.Resource {
		mesh := rapid.SampledFrom([]string{"default", "default", "m"}).Draw(t, "mesh")
		name := rapid.SampledFrom([]string{"p", "q", "r", "P"}).Draw(t, "name")
		switch rapid.IntRange(0, 8).Draw(t, "type") {
		case 0:
			return rapid.SampledFrom([][]watcher.Resource{nil, {meshNamed("m")}}).Draw(t, "mesh alone")
		case 1, 2, 3:
			dp := kuma.Dataplane{}
			for range rapid.IntRange(1, 3).Draw(t, "inbounds") {
				dp.Inbound = append(dp.Inbound, kuma.Inbound{Port: 80, Service: rapid.SampledFrom([]string{"a", "A", "b"}).Draw(t, "service"), Tags: anyTags.Draw(t, "tags")})
			}
			return []watcher.Resource{resource(kuma.TypeDataplane, mesh, name, dp)}
		}
		return []watcher.Resource{anyPolicy(t, mesh, name)}
	})
	rapid.Check(t, func(t *rapid.T) { sequence(t, places, places, one) })
}

// anyPolicy draws a policy, or a destination for one to name.
func anyPolicy(t *rapid.T, mesh, name string) watcher.Resource {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	created := pick("created", "", "", "creationTime: 2026-01-01T00:00:00Z\n", "creationTime: 2026-01-02T00:00:00Z\n")
	switch rapid.IntRange(0, 3).Draw(t, "policy") {
	case 0:
		return parsed(fmt.Sprintf("type: VirtualOutbound\nmesh: %q\nname: %q\n%sselectors: [%s]\nconf: {host: '%s', port: '%s', parameters: [{name: service, tagKey: kuma.io/service}, {name: version}, {name: port}]}",
			mesh, name, created,
			pick("selectors", "{match: {kuma.io/service: '*'}}", "{match: {kuma.io/service: a}}", "{match: {version: '*'}}",
				"{match: {kuma.io/service: b, version: v1}}, {match: {kuma.io/service: a}}", "{match: {kuma.io/service: '*', version: v1}}", "{match: {kuma.io/service: A}}, {match: {port: '*'}}",
				"{match: {kuma.io/service: '*'}}, {match: {kuma.io/service: '*', region: eu}}"),
			pick("host", "{{.service}}.mesh", "{{.service}}.mesh", "{{.service}}.{{.version}}.mesh", "one.mesh", "gw.mesh"),
			pick("port", "80", "80", "81", "{{.port}}")))
	case 1:
		var listeners []string
		for range rapid.IntRange(0, 2).Draw(t, "listeners") {
			listeners = append(listeners, fmt.Sprintf("{crossMesh: %s, port: %s, hostname: '%s'}",
				pick("crossMesh", "true", "true", "false"), pick("port", "80", "81"), pick("hostname", "gw.mesh", "GW.mesh", "one.mesh", "", "*.mesh")))
		}
		return parsed(fmt.Sprintf("type: MeshGateway\nmesh: %q\nname: %q\nselectors: [{match: {kuma.io/service: gateway}}]\nconf: {listeners: [%s]}",
			mesh, name, strings.Join(listeners, ", ")))
	case 2:
		labels := pick("labels", "{}", "{}", "{team: x}")
		return parsed(fmt.Sprintf("type: HostnameGenerator\nname: %q\n%slabels: {kuma.io/origin: %s}\nspec: {selector: {%s}, template: '%s'}",
			name, created, pick("origin", "zone", "global"),
			pick("selects", "meshService: {matchLabels: "+labels+"}", "meshExternalService: {}", "meshService: {}, meshExternalService: {matchLabels: "+labels+"}"),
			pick("template", "{{.Name}}.local", "{{.DisplayName}}.local", "one.local", "{{label \"team\"}}.local", "{{.Name}}_", "a.b")))
	default:
		return parsed(fmt.Sprintf("type: %s\nmesh: %q\nname: %q\n%slabels: {%s}\nspec: {}\nstatus: {%s}",
			pick("kind", "MeshService", "MeshService", "MeshExternalService"), mesh, name, created,
			pick("labels", "", "team: x", "kuma.io/display-name: q"), pick("status", "", "", "vips: [{ip: 241.0.0.1}]", "addresses: [{hostname: one.local}, {hostname: P.local}]")))
	}
}

// offered is a name and port that a policy gives, and what decides about it.
type offered struct {
	mesh    string // empty where it is all meshes
	rank    kuma.Rank
	created time.Time
	name    string // of the policy
	index   int
	claim   kuma.Claim
}

// given works out from scratch what policies give in the meshes of t.
func given(active map[kuma.ID]watcher.Resource, t table) []kuma.Claim {
	var claims []kuma.Claim
	for mesh := range t {
		claims = append(claims, virtual(active, mesh)...)
		claims = append(claims, crossMesh(active, t, mesh)...)
		claims = append(claims, generated(active, mesh)...)
	}
	return claims
}

// first keeps of the offers for each name and port the first in order.
func first(offers []offered, order func(a, b offered) int) []kuma.Claim {
	slices.SortFunc(offers, order)
	taken := map[string]bool{}
	var claims []kuma.Claim
	for _, o := range offers {
		at := fmt.Sprint(strings.ToLower(o.claim.Entry.Name), o.claim.Outbounds[0].Port)
		if !taken[at] {
			claims = append(claims, o.claim)
		}
		taken[at] = true
	}
	return claims
}

func virtual(active map[kuma.ID]watcher.Resource, mesh string) []kuma.Claim {
	var offers []offered
	for id, policy := range active {
		v, ok := policy.Part.(*kuma.VirtualOutbound)
		if !ok || id.Mesh != mesh {
			continue
		}
		for _, r := range active {
			for _, c := range r.Claims {
				if c.Mesh != mesh || c.Tags.IsZero() {
					continue
				}
				tags := c.Tags.Of(c.Entry.Name)
				rank, ok := v.Match(tags)
				if !ok {
					continue
				}
				if host, out, err := v.Outbound(id.Name, v.Uses(tags)); err == nil {
					offers = append(offers, offered{rank: rank, created: v.Created, name: id.Name, claim: kuma.Claim{
						Mesh: mesh, Entry: vip.Entry{Kind: vip.FQDN, Name: host}, Outbounds: []vip.Outbound{out},
					}})
				}
			}
		}
	}
	return first(offers, func(a, b offered) int {
		return cmp.Or(
			cmp.Compare(b.rank.Tags, a.rank.Tags),
			cmp.Compare(b.rank.Exact, a.rank.Exact),
			b.created.Compare(a.created),
			strings.Compare(a.name, b.name),
			a.claim.Outbounds[0].Compare(b.claim.Outbounds[0]),
		)
	})
}

func crossMesh(active map[kuma.ID]watcher.Resource, t table, mesh string) []kuma.Claim {
	var offers []offered
	for id, r := range active {
		g, ok := r.Part.(*kuma.CrossMesh)
		if !ok || t[id.Mesh] == nil {
			continue
		}
		for i, l := range g.Listeners {
			offers = append(offers, offered{mesh: id.Mesh, name: id.Name, index: i, claim: kuma.Claim{
				Mesh: mesh, Entry: vip.Entry{Kind: vip.FQDN, Name: l.Host}, Outbounds: []vip.Outbound{l.Outbound},
			}})
		}
	}
	return first(offers, func(a, b offered) int {
		return cmp.Or(strings.Compare(a.mesh, b.mesh), strings.Compare(a.name, b.name), cmp.Compare(a.index, b.index))
	})
}

func generated(active map[kuma.ID]watcher.Resource, mesh string) []kuma.Claim {
	type named struct {
		kuma.ID
		*kuma.Unnamed
	}
	type generator struct {
		kuma.ID
		*kuma.HostnameGenerator
	}
	var services []named
	var generators []generator
	owner := map[string]kuma.ID{}
	for id, r := range active {
		switch part := r.Part.(type) {
		case *kuma.HostnameGenerator:
			generators = append(generators, generator{id, part})
		case *kuma.Unnamed:
			if id.Mesh == mesh {
				services = append(services, named{id, part})
			}
		}
		for _, c := range r.Claims {
			if c.Terms != nil && c.Mesh == mesh {
				for _, h := range c.Terms.Hostnames {
					owner[strings.ToLower(h)] = id
				}
			}
		}
	}
	slices.SortFunc(generators, func(a, b generator) int {
		return cmp.Or(cmp.Compare(fmt.Sprint(b.Local), fmt.Sprint(a.Local)), a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(services, func(a, b named) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID.Name, b.ID.Name), a.ID.Compare(b.ID))
	})
	names := map[kuma.ID][]string{}
	for _, g := range generators {
		for _, s := range services {
			name, err := g.Hostname(s.Unnamed)
			if err != nil || name == "" {
				continue
			}
			if o, taken := owner[name]; taken && o != s.ID {
				continue
			}
			owner[name] = s.ID
			if !slices.Contains(names[s.ID], name) {
				names[s.ID] = append(names[s.ID], name)
			}
		}
	}
	var claims []kuma.Claim
	for _, s := range services {
		if len(names[s.ID]) > 0 {
			claims = append(claims, kuma.Claim{
				Mesh:  mesh,
				Entry: vip.Entry{Kind: s.Kind, Mesh: mesh, Name: s.ID.Name},
				Terms: &vip.Terms{Hostnames: names[s.ID]},
			})
		}
	}
	return claims
}
