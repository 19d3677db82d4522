package kuma_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// gatewayYAML is the gateway gw of mesh m with these listeners, in flow style.
func gatewayYAML(listeners string) string {
	return "type: MeshGateway\nmesh: m\nname: gw\nselectors: [{match: {kuma.io/service: edge}}]\ntags: {team: a}\nconf: {listeners: [" + listeners + "]}"
}

// crossMesh returns the names of the gateway r, one line each, and the faults.
func crossMesh(t *testing.T, r kuma.Resource, domain string) []string {
	t.Helper()
	if claims, err := r.Claims("default"); err != nil || len(claims) > 0 {
		t.Errorf("claims of its own: %v, %v", claims, err)
	}
	part, faults := r.Part(kuma.Home{Zone: "default", Domain: domain})
	var lines []string
	if c, ok := part.(*kuma.CrossMesh); ok {
		for _, l := range c.Listeners {
			lines = append(lines, fmt.Sprint(l.Host, l.Outbound))
		}
	} else if part != nil {
		t.Errorf("a gateway is %T", part)
	}
	for _, err := range append(r.Faults, faults...) {
		lines = append(lines, err.Error())
	}
	return lines
}

func TestCrossMeshListenersHaveANameInEveryMesh(t *testing.T) {
	t.Parallel()
	const common = " [{kuma.io/mesh m} {kuma.io/service edge} {team a}] mesh-gateway:m:gw:"
	for listeners, want := range map[string][]string{
		"": nil,
		"{port: 80, hostname: a.mesh}, {port: 81, crossMesh: false, hostname: b.mesh}, {port: none}": nil, // no business of other meshes
		"{port: 80, crossMesh: true, hostname: API.payments.mesh}":                                   {"API.payments.mesh{80" + common + "API.payments.mesh}"},
		"{port: 80, crossMesh: true}": {
			"internal.gw.m.mesh{80" + common + "internal.gw.m.mesh}",
		},
		"{port: 80, crossMesh: true, hostname: '*'}, {port: 81, crossMesh: true, hostname: '*.mesh'}, {port: 82, crossMesh: true, hostname: ''}, {port: 83, crossMesh: true, hostname: 'a.*'}": {
			"internal.gw.m.mesh{80" + common + "internal.gw.m.mesh}", "internal.gw.m.mesh{81" + common + "internal.gw.m.mesh}",
			"internal.gw.m.mesh{82" + common + "internal.gw.m.mesh}", "internal.gw.m.mesh{83" + common + "internal.gw.m.mesh}",
		},
		"{port: 80, crossMesh: true, hostname: a.mesh, tags: {team: b, kuma.io/mesh: x, kuma.io/service: z, port: p}}": {
			"a.mesh{80 [{kuma.io/mesh m} {kuma.io/service edge} {port p} {team b}] mesh-gateway:m:gw:a.mesh}",
		},
		"{port: 80, crossMesh: true, hostname: 'a b'}, {port: 81, crossMesh: true, hostname: ok.mesh}": {
			"ok.mesh{81" + common + "ok.mesh}",
			`conf.listeners[0].hostname: "a b" is no DNS name: write labels of letters, digits and hyphens, at most 63 bytes each and 253 in all, with dots between`,
		},
		"{crossMesh: true}, {port: 65536, crossMesh: true}, {port: 81, crossMesh: true, hostname: ok.mesh}": {
			"ok.mesh{81" + common + "ok.mesh}",
			"conf.listeners[0].port: missing or 0: write a number from 1 to 65535",
			"conf.listeners[1].port: 65536 is no port: write a number from 1 to 65535",
		},
	} {
		rs := decodeFaulty(t, gatewayYAML(listeners))
		if d := cmp.Diff(want, crossMesh(t, rs[0], "mesh")); d != "" {
			t.Errorf("%s: want -, got +:\n%s", listeners, d)
		}
	}
}

func TestAGatewayWithoutAHostnameIsNamedBelowTheDomain(t *testing.T) {
	t.Parallel()
	r := decode(t, gatewayYAML("{port: 80, crossMesh: true}, {port: 81, crossMesh: true, hostname: a.b}"))[0]
	for domain, want := range map[string]string{
		"mesh":                          "internal.gw.m.mesh",
		"svc.example.org":               "internal.gw.m.svc.example.org",
		"no domain":                     "",
		strings.Repeat("a.", 130) + "a": "",
	} {
		lines := crossMesh(t, r, domain)
		if want == "" {
			if len(lines) != 2 || !strings.HasPrefix(lines[0], "a.b{") || !strings.HasPrefix(lines[1], "the listener of port 80 has no hostname, and the name that it would have by its gateway, mesh and domain, ") {
				t.Errorf("%.20s: %v", domain, lines)
			}
			continue
		}
		if len(lines) != 2 || !strings.HasPrefix(lines[0], want+"{") {
			t.Errorf("%s: %v", domain, lines)
		}
	}
}

func TestAGatewayThatNoProxyFindsHasItsNameAllTheSame(t *testing.T) {
	t.Parallel()
	for selectors, service := range map[string]string{
		"": "", "\nselectors: []": "", "\nselectors: [{}]": "", "\nselectors: [{match: {team: a}}]": "", "\nselectors: [{match: {kuma.io/service: s}}, {match: {kuma.io/service: t}}]": "s",
	} {
		rs := decodeFaulty(t, "type: MeshGateway\nname: gw\nconf: {listeners: [{port: 80, crossMesh: true}, {port: 81, crossMesh: true}]}"+selectors)
		part, _ := rs[0].Part(kuma.Home{Domain: "mesh"})
		c, ok := part.(*kuma.CrossMesh)
		if !ok || len(c.Listeners) != 2 || c.Listeners[0].Outbound.TagMap()[vip.ServiceTag] != service {
			t.Errorf("%s: %+v", selectors, part)
		}
		if told := len(rs[0].Faults) == 1 && strings.Contains(rs[0].Faults[0].Error(), "no proxy finds the gateway: add selectors"); told != (service == "") {
			t.Errorf("%s: faults %v", selectors, rs[0].Faults)
		}
	}
}

func TestBothFormsOfAGatewayAreOneResource(t *testing.T) {
	t.Parallel()
	const text = "selectors: [{match: {kuma.io/service: edge}}]\n%sconf: {listeners: [{port: 80, crossMesh: true, hostname: a.b, protocol: HTTP}]}"
	a := decode(t, "type: MeshGateway\nmesh: m\nname: gw\n"+fmt.Sprintf(text, ""))
	b := decode(t, "apiVersion: kuma.io/v1alpha1\nkind: MeshGateway\nmesh: m\nmetadata: {name: gw}\nspec:\n  "+fmt.Sprintf(text, "  "))
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("universal and Kubernetes form differ:\n%s", d)
	}
	home := kuma.Home{Domain: "mesh"}
	part, _ := a[0].Part(home)
	same, _ := b[0].Part(home)
	if !part.Same(same) {
		t.Errorf("%v and %v are not the same", part, same)
	}
	for _, change := range [][2]string{{"edge", "other"}, {"80", "81"}, {"a.b", "a.c"}} {
		other, _ := decode(t, "type: MeshGateway\nmesh: m\nname: gw\n"+fmt.Sprintf(strings.Replace(text, change[0], change[1], 1), ""))[0].Part(home)
		if part.Same(other) {
			t.Errorf("%s for %s says the same", change[1], change[0])
		}
	}
}

func TestAGatewayThatCannotBeReadIsSetAside(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		gatewayYAML("{crossMesh: 'yes', port: 80}"):                                                         "conf.listeners[0].crossMesh: the text \"yes\" where true or false",
		gatewayYAML("{crossMesh: true, port: 80, hostname: 5}"):                                             "conf.listeners[0].hostname: the number 5",
		gatewayYAML("{crossMesh: true, port: 80, tags: {a: 1}}"):                                            "conf.listeners[0].tags.a: the number 1",
		"type: MeshGateway\nname: gw\nconf: []":                                                             "conf: a list where a mapping",
		"type: MeshGateway\nname: gw\nconf: {listeners: {}}":                                                "conf.listeners: a mapping where a list",
		"type: MeshGateway\nname: gw\ntags: 5\nconf: {listeners: [{crossMesh: true}]}":                      "tags: the number 5 where a mapping",
		"type: MeshGateway\nname: gw\nselectors: 5\nconf: {listeners: [{crossMesh: true}]}":                 "selectors: the number 5 where a list",
		"type: MeshGateway\nname: gw\nselectors: [{match: {a: 5}}]\nconf: {listeners: [{crossMesh: true}]}": "selectors[0].match.a: the number 5",
	} {
		rs, invalid := decodeBoth(t, doc+"\n---\ntype: Mesh\nname: after\n")
		if len(rs) != 1 || rs[0].Name != "after" {
			t.Errorf("%q: %v; the sibling has to count", doc, rs)
		}
		if len(invalid) != 1 || invalid[0].ID.Type != kuma.TypeMeshGateway || !strings.Contains(invalid[0].Err.Error(), want) {
			t.Errorf("%q: set aside %v, want %s", doc, invalid, want)
		}
	}
}
