package kuma_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"type: Mesh\nname: a\n---\ntype: Dataplane\nname: x\nnetworking: {inbound: [{port: 1, tags: {kuma.io/service: s}}]}",
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: kuma.io/v1alpha1, kind: ZoneIngress, metadata: {name: z}, spec: {zone: e, availableServices: [{mesh: m, tags: {kuma.io/service: s}}]}}",
		`{"total":1,"items":[{"type":"ExternalService","name":"a","tags":{"kuma.io/service":"s","meshvip.io/vip":"240.0.0.9"},"networking":{"address":"h:1"}}]}`,
		"type: Dataplane\nname: x\nnetworking: {inbound: [{port: 1, tags: {kuma.io/service: s, meshvip.io/vip: fd00::9}}, {tags: {meshvip.io/vip: '::ffff:1.2.3.4'}}]}",
		"type: MeshService\nmesh: m\nname: a\nspec: {ports: [{port: 80}, {port: 0}]}\nstatus: {addresses: [{hostname: A.b}, {hostname: a.b.}, {hostname: '*'}], vips: [{ip: 241.0.0.1}, {ip: fe80::1%x}, {}]}",
		"apiVersion: kuma.io/v1alpha1\nkind: MeshExternalService\nmetadata: {name: a, namespace: b, labels: {kuma.io/mesh: m}}\nspec: {match: {port: 1}}\nstatus: {vip: {ip: 242.0.0.1}, addresses: [{hostname: a}]}",
		`{"items":[{"type":"MeshMultiZoneService","name":"a","spec":{},"status":{"vips":[{"ip":"243.0.0.1"},{"ip":"FD00::1"},{"ip":"fd00::1"}]}}]}`,
		policyYAML("{match: {kuma.io/service: '*'}}, {match: {version: v1}}", goodConf),
		gatewayYAML("{crossMesh: true, port: 80, hostname: a.b, tags: {a: b}}, {crossMesh: true, port: 81}"),
		"apiVersion: kuma.io/v1alpha1\nkind: HostnameGenerator\nmetadata: {name: g, creationTimestamp: '2026-01-01T00:00:00Z', labels: {kuma.io/origin: zone}}\nspec: {selector: {meshService: {matchLabels: {a: b}}}, template: '{{ label \"a\" }}.b'}",
		`{"type":"MeshService","name":"a","labels":{"a":"b"},"creationTime":"2026-01-01T00:00:00Z","spec":{},"status":{"hostnameGenerators":[{}]}}`,
		bomb(9), "\xef\xbb\xbf# c\r\n---\r\n", "%YAML 1.1\n---\na: *b", "? [a]\n: b", "{a: 1} x", "<<: 3", "a: !!binary gIGC",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rs, invalid, err := kuma.Decode(data)
		if err != nil && (len(rs) > 0 || len(invalid) > 0) {
			t.Fatalf("an error, and %v and %v", rs, invalid)
		}
		lines := 1 + strings.Count(string(data), "\n")
		for _, inv := range invalid {
			if inv.Err == nil || inv.Line < 1 || inv.Line > lines {
				t.Fatalf("set aside without a reason or a line: %+v", inv)
			}
		}
		for _, r := range rs {
			if r.Name == "" || r.Spec == nil || r.Line < 1 || r.Line > lines {
				t.Fatalf("not a resource: %+v", r)
			}
			for _, f := range r.Faults {
				if f == nil || len(f.Error()) > 1000 || len(r.Faults) > 21 {
					t.Fatalf("faults of %+v", r)
				}
			}
			checkPart(t, r)
			claims, err := r.Claims("default")
			if err != nil {
				continue
			}
			for _, c := range claims {
				checkTerms(t, c)
				if tags := c.Tags.All(); !c.Tags.IsZero() && (c.Entry.Kind != vip.Service || kuma.NewTags(tags) != c.Tags) {
					t.Fatalf("%+v has the tags %v", c, tags)
				}
				if c.Entry.Mesh != "" && c.Entry.Mesh != c.Mesh {
					t.Fatalf("%+v is asked for in %s", c.Entry, c.Mesh)
				}
				for _, o := range c.Outbounds {
					for _, tag := range o.Tags {
						if tag.Key != vip.ServiceTag {
							t.Fatalf("%+v has an outbound with the tag %v", c, tag)
						}
					}
				}
				if err := c.Entry.Validate(); err != nil {
					t.Fatalf("%+v asks for %+v: %v", r, c, err)
				}
				if err := kuma.CheckMesh(c.Mesh); err != nil {
					t.Fatalf("%+v asks in a mesh: %v", r, err)
				}
			}
		}
	})
}

// checkPart fails if what counts together with others is not as it should be.
func checkPart(t *testing.T, r kuma.Resource) {
	t.Helper()
	part, faults := r.Part(kuma.Home{Zone: "default", Domain: "mesh"})
	if part == nil {
		return
	}
	if !part.Same(part) || len(faults) > 0 && r.Type != kuma.TypeMeshGateway {
		t.Fatalf("%+v: %v", r, faults)
	}
	switch part := part.(type) {
	case *kuma.CrossMesh:
		for _, l := range part.Listeners {
			if checkName(t, l.Host); l.Outbound.Port == 0 || !strings.HasPrefix(l.Outbound.Origin, kuma.OriginMeshGateway) {
				t.Fatalf("%+v has the listener %+v", r, l)
			}
		}
	case *kuma.Unnamed:
		if part.Kind.String() != r.Type {
			t.Fatalf("%+v is a %v", r, part.Kind)
		}
	case *kuma.VirtualOutbound:
		if len(part.Selectors) == 0 || len(part.Parameters) == 0 {
			t.Fatalf("%+v selects nothing", r)
		}
		if host, _, err := part.Outbound(r.Name, []vip.Tag{{Key: vip.ServiceTag, Value: "a"}}); err == nil {
			checkName(t, host)
		}
	}
}

// checkTerms fails if terms are not as [vip.Terms] says.
func checkTerms(t *testing.T, c kuma.Claim) {
	t.Helper()
	if c.Terms == nil {
		return
	}
	if c.Terms.Empty() {
		t.Fatalf("%+v has empty terms", c)
	}
	if c.Entry.Kind.OfMesh() != (len(c.Terms.Static) == 0) || len(c.Terms.Static) > 1 {
		t.Fatalf("%+v asks for %v", c, c.Terms.Static)
	}
	for _, a := range slices.Concat(c.Terms.Static, c.Terms.Given) {
		if !a.IsValid() || a.Zone() != "" || a.Is4In6() || a.IsUnspecified() || a.IsMulticast() {
			t.Fatalf("%+v has the address %v", c, a)
		}
	}
	for i, a := range c.Terms.Given {
		if i > 0 && !c.Terms.Given[i-1].Less(a) {
			t.Fatalf("%+v: %v is out of order", c, c.Terms.Given)
		}
	}
	seen := make(map[string]bool)
	for _, h := range c.Terms.Hostnames {
		if h == "" || len(h) > 253 || strings.HasSuffix(h, ".") || strings.Contains(h, "..") || seen[vip.Fold(h)] {
			t.Fatalf("%+v has the hostname %q", c, h)
		}
		seen[vip.Fold(h)] = true
	}
}
