package watcher_test

import (
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher"
)

func TestGeneratorsNameWhatKumaHasNotNamed(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{
		meshNamed("m"), undecided("default", "web"), undecided("m", "web", "labels: {kuma.io/display-name: site}"),
		told("default", "db", nil, []string{"db.kuma.local"}),
	})
	wantChanges(t, d, "default: +3:default/db/80>~db.kuma.local +3:default/web; m: +3:m/web")
	d.Put("g", []watcher.Resource{hostnameGenerator("g", "{{.DisplayName}}.svc.local")})
	wantChanges(t, d, "default: +3:default/web~web.svc.local; m: +3:m/web~site.svc.local")
	d.Put("h", []watcher.Resource{hostnameGenerator("h", "{{.Name}}.{{.Mesh}}.local", older), hostnameGenerator("f", "{{.Name}}.local", "labels: {kuma.io/origin: zone}")})
	wantChanges(t, d, "default: +3:default/web~web.local~web.svc.local~web.default.local; m: +3:m/web~web.local~site.svc.local~web.m.local")
	d.Put("a", []watcher.Resource{undecided("default", "web"), meshNamed("m")})
	wantChanges(t, d, "default: -3:default/db; m: -3:m/web")
	d.Put("a", []watcher.Resource{told("default", "web", []string{"241.0.0.1"}, []string{"web.kuma.local"})}) // Kuma decided
	wantChanges(t, d, "default: +3:default/web/80><241.0.0.1~web.kuma.local; m: gone")
	d.Put("a", []watcher.Resource{undecided("default", "web", "status: {vips: [{ip: 241.0.0.1}]}")})
	wantChanges(t, d, "default: +3:default/web<241.0.0.1~web.local~web.svc.local~web.default.local")
	d.Put("h", nil)
	d.Put("g", []watcher.Resource{hostnameGenerator("g", "{{.Name}}.x.local")})
	wantChanges(t, d, "default: +3:default/web<241.0.0.1~web.x.local")
	wantProblems(t, d)
	d.Put("g", nil)
	wantChanges(t, d, "default: +3:default/web<241.0.0.1")
	d.Put("a", nil)
	wantChanges(t, d, "default: -3:default/web")
}

func TestTheFirstToClaimAHostnameInAMeshHasIt(t *testing.T) {
	t.Parallel()
	wantWhateverTheOrder(t, []watcher.Resource{
		meshNamed("m"), hostnameGenerator("g", "one.local"), hostnameGenerator("f", "{{.Name}}.local", younger),
		undecided("default", "a", younger), undecided("default", "b", older), undecided("default", "c", older), undecided("m", "z"),
	}, "default: +3:default/a~a.local +3:default/b~one.local~b.local +3:default/c~c.local; m: +3:m/z~one.local~z.local",
		`g.yaml:1 HostnameGenerator "g" gives the name "one.local" to MeshService "c" of mesh "default", and to 1 more, but MeshService "b" of mesh "default" has it: change the template, or what it selects`)
}

func TestTheFirstGeneratorHasAHostname(t *testing.T) {
	t.Parallel()
	const toA, toB = `{{if eq .Name "a"}}x.local{{end}}`, `{{if eq .Name "b"}}x.local{{end}}`
	for name, tc := range map[string]struct {
		toA, toB []string
		want     string
	}{
		"those of our zone first": {[]string{older}, []string{younger, "labels: {kuma.io/origin: zone}"}, "+3:default/a +3:default/b~x.local"},
		"then the older":          {[]string{older}, []string{younger}, "+3:default/a~x.local +3:default/b"},
		"then by name":            {[]string{older}, []string{older}, "+3:default/a +3:default/b~x.local"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantWhateverTheOrder(t, []watcher.Resource{
				undecided("default", "a"), undecided("default", "b"), hostnameGenerator("to-b", toA, tc.toA...), hostnameGenerator("to-a", toB, tc.toB...),
			}, "default: "+tc.want, "x.local")
		})
	}
}

func TestAHostnameOfAStatusComesFirst(t *testing.T) {
	t.Parallel()
	rs := []watcher.Resource{
		hostnameGenerator("g", "web.local"), undecided("default", "a"), undecided("default", "b"), told("default", "z", nil, []string{"WEB.local"}),
	}
	wantWhateverTheOrder(t, rs, "default: +3:default/a +3:default/b +3:default/z/80>~WEB.local",
		`HostnameGenerator "g" gives the name "web.local" to MeshService "a" of mesh "default", and to 1 more, but MeshService "z" of mesh "default" has it`)
	d := watcher.NewDesired()
	d.Put("a", rs)
	d.All()
	d.Put("a", rs[:3])
	wantChanges(t, d, "default: +3:default/a~web.local -3:default/z")
}

func TestADestinationThatAGeneratorCannotNameIsTold(t *testing.T) {
	t.Parallel()
	wantWhateverTheOrder(t, []watcher.Resource{
		hostnameGenerator("g", `{{.Name}}.{{label "team"}}.local`), undecided("default", "b"), undecided("default", "a"), undecided("default", "c", "labels: {team: x}"), undecided("nowhere", "a"),
	}, "default: +3:default/a +3:default/b +3:default/c~c.x.local",
		`g.yaml:1 HostnameGenerator "g" gives no name to MeshService "a" of mesh "default", and to 1 more: spec.template: template: template:1:`,
		"mesh nowhere the mesh is not declared")
}
