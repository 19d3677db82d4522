package kuma_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// generated is the name that a generator for MeshServices makes of a document, and
// "" where none.
func generated(t *testing.T, template, labels, service string) (string, error) {
	t.Helper()
	g := decode(t, "type: HostnameGenerator\nname: g\nspec: {selector: {meshService: {matchLabels: "+labels+"}}, template: '"+template+"'}")[0]
	r := decode(t, service)[0]
	part, faults := r.Part(kuma.Home{Zone: "east", Domain: "mesh"})
	u, ok := part.(*kuma.Unnamed)
	if !ok || len(faults) > 0 {
		t.Fatalf("%s: %v, %v", service, part, faults)
	}
	return g.Spec.(*kuma.HostnameGenerator).Hostname(u)
}

func TestGeneratorsSeeADestinationAsKumaShowsIt(t *testing.T) {
	t.Parallel()
	const (
		bare       = "type: MeshService\nmesh: m\nname: backend\nspec: {}"
		labelled   = "type: MeshService\nmesh: m\nname: backend-x1\nlabels: {kuma.io/display-name: backend, k8s.kuma.io/namespace: shop, kuma.io/zone: west, team: a}\nspec: {}"
		kubernetes = "apiVersion: kuma.io/v1alpha1\nkind: MeshService\nmetadata: {name: backend, namespace: shop, labels: {kuma.io/mesh: m}}\nspec: {}"
	)
	for _, tc := range []struct{ template, labels, service, want string }{
		{"{{ .Name }}.svc.mesh.local", "{}", bare, "backend.svc.mesh.local"},
		{"{{ .DisplayName }}.svc.mesh.local", "{}", bare, "backend.svc.mesh.local"},
		{"{{ .DisplayName }}.{{ .Name }}.local", "{}", labelled, "backend.backend-x1.local"},
		{"{{ .Name }}.{{ .Namespace }}.{{ .Mesh }}.{{ .Zone }}", "{}", labelled, "backend-x1.shop.m.west"},
		{"{{ .Name }}.{{ .Mesh }}.{{ .Zone }}", "{}", bare, "backend.m.east"},
		{"{{ .Name }}.{{ .Namespace }}.{{ .Zone }}", "{}", kubernetes, "backend.shop.east"},
		{`{{ label "team" }}.local`, "{}", labelled, "a.local"},
		{`{{ label "kuma.io/env" }}.local`, "{}", bare, "universal.local"},
		{`{{ label "kuma.io/env" }}.local`, "{}", kubernetes, "kubernetes.local"},
		// What a control plane would have put on the resource is there.
		{"{{ .Name }}.local", "{kuma.io/origin: zone, kuma.io/zone: east, kuma.io/mesh: m, kuma.io/display-name: backend}", bare, "backend.local"},
		{"{{ .Name }}.local", "{kuma.io/zone: east}", labelled, ""},
		{"{{ .Name }}.local", "{team: a}", labelled, "backend-x1.local"},
		{"{{ .Name }}.local", "{team: '*'}", labelled, ""}, // not as in tag selectors
		{"{{ .Name }}.local", "{team: a}", bare, ""},
		{`{{ if eq .Namespace "shop" }}{{ .Name }}.local{{ end }}`, "{}", bare, ""},
	} {
		if got, err := generated(t, tc.template, tc.labels, tc.service); err != nil || got != tc.want {
			t.Errorf("%s for %s of %q: %q, %v, want %q", tc.template, tc.labels, tc.service, got, err, tc.want)
		}
	}
}

func TestAGeneratedNameIsASubdomainOrNone(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"{{ .Name }}.Local":                `spec.template: "backend.Local" is no DNS name: write labels of lower-case letters, digits and hyphens`,
		"under_score.local":                `"under_score.local" is no DNS name`,
		"-a.local":                         `is no DNS name`,
		"a-.local":                         `is no DNS name`,
		"a..local":                         `is no DNS name`,
		"a.local.":                         `"a.local." ends in a dot`,
		"*.local":                          `is no DNS name`,
		"10.0.0.1":                         `is an address`,
		"a b":                              `is no DNS name`,
		"ä.local":                          `is no DNS name`,
		strings.Repeat("a", 64):            `is no DNS name`,
		"{{ .Nope }}":                      `can't evaluate field Nope`,
		`{{ label "team" }}.local`:         `there is no label "team"`,
		strings.Repeat("{{ .Name }}", 200): `longer than 1024 bytes`,
	} {
		got, err := generated(t, template, "{}", "type: MeshService\nname: backend\nspec: {}")
		if err == nil || got != "" || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "spec.template: ") || len(err.Error()) > 400 {
			t.Errorf("%s: %q, %v, want an error with %q", template, got, err, want)
		}
	}
}

func TestAGeneratorNamesOnlyItsKinds(t *testing.T) {
	t.Parallel()
	for selector, want := range map[string]string{
		"meshService: {}":                           "MeshService",
		"meshExternalService: {matchLabels: }":      "MeshExternalService",
		"meshMultiZoneService: {matchLabels: {}}":   "MeshMultiZoneService",
		"meshService: {}, meshMultiZoneService: {}": "MeshService MeshMultiZoneService",
		"somethingNewer: {}":                        "",
	} {
		g := decode(t, "type: HostnameGenerator\nname: g\nspec: {selector: {"+selector+"}, template: a.local}")[0].Spec.(*kuma.HostnameGenerator)
		var got []string
		for _, kind := range []string{"MeshService", "MeshExternalService", "MeshMultiZoneService"} {
			part, _ := decode(t, "type: "+kind+"\nname: a\nspec: {}")[0].Part(kuma.Home{})
			if name, err := g.Hostname(part.(*kuma.Unnamed)); err != nil {
				t.Error(err)
			} else if name != "" {
				got = append(got, kind)
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s, want %s", selector, got, want)
		}
	}
}

func TestWhatKumaDecidedOnIsNotNamedAgain(t *testing.T) {
	t.Parallel()
	for status, unnamed := range map[string]bool{
		"":                                     true,
		"status: ":                             true,
		"status: {}":                           true,
		"status: {vips: [{ip: 241.0.0.1}]}":    true, // Kuma gives addresses first
		"status: {addresses: []}":              true,
		"status: {addresses: [{hostname: a}]}": false,
		"status: {addresses: [{hostname: a}], hostnameGenerators: []}": false,
		// It has asked its generators, and none gave a name.
		"status: {hostnameGenerators: [{hostnameGeneratorRef: {coreName: g}, conditions: []}]}": false,
	} {
		part, _ := decode(t, "type: MeshService\nname: a\nspec: {}\n"+status)[0].Part(kuma.Home{})
		if (part != nil) != unnamed {
			t.Errorf("%s: %v", status, part)
		}
	}
}

func TestGeneratorsComeInKumasOrder(t *testing.T) {
	t.Parallel()
	var last *kuma.HostnameGenerator
	for _, head := range []string{
		"labels: {kuma.io/origin: zone}",
		"labels: {kuma.io/origin: zone}\ncreationTime: 2026-01-01T00:00:00Z",
		"labels: {kuma.io/origin: zone}\ncreationTime: 2026-01-02T00:00:00Z",
		"labels: {kuma.io/origin: global}",
		"creationTime: 2025-01-01T00:00:00Z",
	} {
		g := decode(t, "type: HostnameGenerator\nname: g\n"+head+"\nspec: {selector: {meshService: {}}, template: a.local}")[0].Spec.(*kuma.HostnameGenerator)
		if g.Compare(g) != 0 || last != nil && (last.Compare(g) >= 0 || g.Compare(last) <= 0 || g.Same(last)) {
			t.Errorf("%q is out of order", head)
		}
		last = g
	}
}

func TestBothFormsOfAGeneratorAreOneResource(t *testing.T) {
	t.Parallel()
	const body = "\nspec: {selector: {meshService: {matchLabels: {a: b}}}, template: a.local}"
	a := decode(t, "type: HostnameGenerator\nname: g.kuma-system\nmesh: ignored\nlabels: {kuma.io/origin: zone}\ncreationTime: 2026-01-01T00:00:00Z"+body)
	b := decode(t, "apiVersion: kuma.io/v1alpha1\nkind: HostnameGenerator\nmetadata: {name: g, namespace: kuma-system, labels: {kuma.io/origin: zone, kuma.io/mesh: ignored}, creationTimestamp: '2026-01-01T00:00:00Z'}"+body)
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("universal and Kubernetes form differ:\n%s", d)
	}
	g := a[0].Spec.(*kuma.HostnameGenerator)
	if a[0].Mesh != "" || !g.Same(b[0].Spec.(*kuma.HostnameGenerator)) {
		t.Errorf("%+v", a[0])
	}
	for _, change := range [][2]string{{"a: b", "a: c"}, {"meshService", "meshExternalService"}, {"a.local", "b.local"}} {
		other := decode(t, "type: HostnameGenerator\nname: g\nlabels: {kuma.io/origin: zone}\ncreationTime: 2026-01-01T00:00:00Z"+strings.Replace(body, change[0], change[1], 1))
		if g.Same(other[0].Spec.(*kuma.HostnameGenerator)) {
			t.Errorf("%s for %s says the same", change[1], change[0])
		}
	}
}

func TestAGeneratorThatCannotBeReadIsSetAside(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"":                            "spec is missing",
		"\nspec: {template: a.local}": "spec.selector is missing: write what is selected",
		"\nspec: {selector: {meshService: {matchLabels: {a: 1}}}, template: a.local}": "spec.selector.meshService.matchLabels.a: the number 1",
		"\nspec: {selector: {meshService: []}, template: a.local}":                    "spec.selector.meshService: a list",
		"\nspec: {selector: {meshService: {}}}":                                       "spec.template: missing or empty",
		"\nspec: {selector: {meshService: {}}, template: 5}":                          "spec.template: the number 5",
		"\nspec: {selector: {meshService: {}}, template: '{{ .Name'}":                 "spec.template: template: template:1: unclosed action",
		"\nspec: {selector: {meshService: {}}, template: '{{ range 5 }}{{ end }}'}":   "{{range}} is not allowed",
		"\nspec: {selector: {meshService: {}}, template: '{{ labels }}'}":             `function "labels" not defined`,
	} {
		rs, invalid := decodeBoth(t, "type: HostnameGenerator\nname: g"+spec+"\n---\ntype: Mesh\nname: after\n")
		if len(rs) != 1 || rs[0].Name != "after" {
			t.Errorf("%q: %v; the sibling has to count", spec, rs)
		}
		if len(invalid) != 1 || invalid[0].ID != (kuma.ID{Type: kuma.TypeHostnameGenerator, Name: "g"}) || !strings.Contains(invalid[0].Err.Error(), want) {
			t.Errorf("%q: set aside %v, want %s", spec, invalid, want)
		}
	}
}

// TestKumasOwnGeneratorsMakeTheNamesThatItMade takes the status away from what a
// running control plane listed, and compares the names with those that it wrote
// there.
func TestKumasOwnGeneratorsMakeTheNamesThatItMade(t *testing.T) {
	t.Parallel()
	live := liveSamples(t)
	read := func(file, from, to string) []kuma.Resource {
		return decode(t, strings.ReplaceAll(live(file), from, to))
	}
	generators := read("hostnamegenerators.json", "", "")
	if len(generators) != 2 {
		t.Fatalf("%d generators", len(generators))
	}
	n := 0
	for _, file := range []string{"meshservices.json", "meshexternalservices.json"} {
		decided := read(file, "", "")
		for i, r := range read(file, `"status": {`, `"was": {`) {
			part, _ := r.Part(kuma.Home{Zone: "default"})
			var names []string
			for _, g := range generators {
				name, err := g.Spec.(*kuma.HostnameGenerator).Hostname(part.(*kuma.Unnamed))
				if err != nil {
					t.Errorf("%s: %v", r.ID, err)
				}
				if name != "" {
					names = append(names, name)
				}
			}
			if want := decided[i].Spec.(kuma.Destination).Hostnames; fmt.Sprint(names) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", r.ID, names, want)
			}
			n++
		}
	}
	if n != 7 {
		t.Errorf("%d destinations, want 7", n)
	}
}
