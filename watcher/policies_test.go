package watcher_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
	"pgregory.net/rapid"
)

// tagged is a Dataplane with one inbound, whose tags are told as "k=v".
func tagged(mesh, name, service string, tags ...string) watcher.Resource {
	m := map[string]string{}
	for _, t := range tags {
		k, v, _ := strings.Cut(t, "=")
		m[k] = v
	}
	return resource(kuma.TypeDataplane, mesh, name, kuma.Dataplane{Inbound: []kuma.Inbound{
		{Port: 80, Service: service, Tags: kuma.NewTags(vip.NewTags(m))},
	}})
}

// virtualOutbound is one with the parameters service, version and port. more are
// further fields.
func virtualOutbound(mesh, name, match, host, port string, more ...string) watcher.Resource {
	return parsed(fmt.Sprintf("type: VirtualOutbound\nmesh: %q\nname: %q\nselectors: [{match: {%s}}]\nconf: {host: '%s', port: '%s', parameters: [{name: service, tagKey: kuma.io/service}, {name: version}, {name: port}]}\n%s",
		mesh, name, match, host, port, strings.Join(more, "\n")))
}

func gateway(mesh, name, listeners string) watcher.Resource {
	return parsed(fmt.Sprintf("type: MeshGateway\nmesh: %q\nname: %q\nselectors: [{match: {kuma.io/service: %q}}]\nconf: {listeners: [%s]}", mesh, name, name+"-"+mesh, listeners))
}

func hostnameGenerator(name, template string, more ...string) watcher.Resource {
	return parsed(fmt.Sprintf("type: HostnameGenerator\nname: %q\nspec: {selector: {meshService: {}}, template: '%s'}\n%s", name, template, strings.Join(more, "\n")))
}

// undecided is a MeshService on whose names Kuma has not decided.
func undecided(mesh, name string, more ...string) watcher.Resource {
	return parsed(fmt.Sprintf("type: MeshService\nmesh: %q\nname: %q\nspec: {}\n%s", mesh, name, strings.Join(more, "\n")))
}

const (
	everyService = "kuma.io/service: '*'"
	older        = "creationTime: 2026-01-01T00:00:00Z"
	younger      = "creationTime: 2026-01-02T00:00:00Z"
)

// wantWhateverTheOrder syncs rs in a hundred orders, and wants the same changes
// and problems of all. One state that is put the lot again and again, in another
// order each time, has nothing to hand over after the first.
func wantWhateverTheOrder(t *testing.T, rs []watcher.Resource, want string, problems ...string) {
	t.Helper()
	order := make([]int, len(rs))
	for i := range order {
		order[i] = i
	}
	again := watcher.NewDesired()
	for n := 0; n < 100 && !t.Failed(); n++ {
		one, listing := watcher.NewDesired(), make([]watcher.Resource, 0, len(rs))
		for _, i := range rapid.Permutation(order).Example() {
			one.Put(fmt.Sprint(i), rs[i:i+1])
			listing = append(listing, rs[i])
		}
		again.Put("listing", listing)
		wantChanges(t, one, want)
		wantProblems(t, one, problems...)
		wantProblems(t, again, problems...)
		switch {
		case n == 0:
			wantChanges(t, again, want)
		case again.Touched():
			t.Error("another order of the same is a change")
			wantChanges(t, again, "")
		}
	}
}

func TestAVirtualOutboundNamesTheServicesThatItSelects(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{tagged("default", "p", "web", "version=v1"), tagged("default", "q", "web", "version=v1", "zone=east"), tagged("default", "r", "db")})
	wantChanges(t, d, "default: +0:db +0:web")
	d.Put("vo", []watcher.Resource{virtualOutbound("default", "vo", "version: '*'", "{{.version}}.{{.service}}.mesh", "8080")})
	wantChanges(t, d, "default: +2:v1.web.mesh/8080>web")
	d.Put("b", []watcher.Resource{tagged("default", "s", "db", "version=v2"), tagged("default", "t", "web", "version=v2")})
	wantChanges(t, d, "default: +2:v2.db.mesh/8080>db +2:v2.web.mesh/8080>web")
	d.Put("vo", []watcher.Resource{virtualOutbound("default", "vo", "kuma.io/service: web, version: '*'", "{{.version}}.{{.service}}.mesh", "80")})
	wantChanges(t, d, "default: +2:v1.web.mesh/80>web +2:v2.web.mesh/80>web -2:v2.db.mesh")
	d.Put("a", []watcher.Resource{tagged("default", "p", "web", "version=v1"), tagged("default", "r", "db")}) // a replica less
	wantChanges(t, d, "")
	d.Put("a", nil)
	wantChanges(t, d, "default: -2:v1.web.mesh")
	wantProblems(t, d)
	d.Put("vo", nil)
	wantChanges(t, d, "default: -2:v2.web.mesh")
	d.Put("b", nil)
	wantChanges(t, d, "default: -0:db -0:web")
}

func TestTheOutboundOfAVirtualOutboundHasTheTagsOfItsParameters(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{
		virtualOutbound("default", "vo", everyService, "{{.service}}.mesh", "80"),
		tagged("default", "p", "web", "version=v1", "zone=east"),
	})
	got := d.Changes().Meshes[0].Set[1].Outbounds
	want := vip.Outbound{Port: 80, Tags: []vip.Tag{{Key: vip.ServiceTag, Value: "web"}, {Key: "version", Value: "v1"}}, Origin: "virtual-outbound:vo"}
	if len(got) != 1 || !got[0].Equal(want) {
		t.Errorf("outbounds %v, want %v", got, want)
	}
}

func TestVirtualOutboundsSelectWhatKumasDo(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	tags := kuma.NewTags([]vip.Tag{{Key: "version", Value: "v1"}})
	d.Put("a", []watcher.Resource{
		meshNamed("m"),
		virtualOutbound("default", "all", everyService, "{{.service}}.all.mesh", "80"),
		virtualOutbound("m", "versions", "version: v1", "{{.service}}.m.mesh", "80"),
		external("default", "es", "outside", "192.0.2.1", 443),
		resource(kuma.TypeZoneIngress, "", "zi", kuma.ZoneIngress{Zone: "east", Available: []kuma.AvailableService{
			{Mesh: "default", Service: "here", Tags: tags}, {Mesh: "m", Service: "there", Tags: tags}, {Mesh: "m", Service: "plain"},
		}}),
		// Neither of these is selected.
		resource(kuma.TypeDataplane, "default", "old-ingress", kuma.Dataplane{Ingress: true, Available: []kuma.AvailableService{{Mesh: "default", Service: "old", Tags: tags}}}),
		resource(kuma.TypeDataplane, "default", "idle", kuma.Dataplane{Inbound: []kuma.Inbound{{Port: 49151, Service: "none"}, {Port: 1, Ignored: true, Service: "none"}}}),
		told("default", "new", nil, []string{"new.mesh"}),
	})
	wantChanges(t, d, "default: +0:here +0:old +0:outside/443>outside +2:here.all.mesh/80>here +2:outside.all.mesh/80>outside +3:default/new/80>~new.mesh; "+
		"m: +0:plain +0:there +2:there.m.mesh/80>there")
	wantProblems(t, d)
}

func TestTheNarrowestPolicyHasAName(t *testing.T) {
	t.Parallel()
	web, v1 := tagged("default", "p", "web"), tagged("default", "q", "web", "version=v1", "port=8080")
	for name, tc := range map[string]struct {
		rs       []watcher.Resource
		want     string
		problems []string
	}{
		"most tags": {
			[]watcher.Resource{
				v1, virtualOutbound("default", "a", "kuma.io/service: web", "web.mesh", "80", younger),
				virtualOutbound("default", "b", "kuma.io/service: '*', version: '*'", "web.mesh", "80"),
			},
			"virtual-outbound:b",
			[]string{`VirtualOutbound "a" of mesh "default" gives the name "web.mesh" and port 80 to the service "web" (port=8080, version=v1), but VirtualOutbound "b" of mesh "default" gives them to the service "web" (port=8080, version=v1), which comes first`},
		},
		"then most exact ones": {
			[]watcher.Resource{
				web, virtualOutbound("default", "a", everyService, "web.mesh", "80", younger),
				virtualOutbound("default", "b", "kuma.io/service: web", "WEB.mesh", "80"),
			},
			"virtual-outbound:b",
			[]string{`VirtualOutbound "a"`},
		},
		"then the youngest, of which files do not tell": {
			[]watcher.Resource{
				web, virtualOutbound("default", "a", everyService, "web.mesh", "80"),
				virtualOutbound("default", "b", everyService, "web.mesh", "80", older),
				virtualOutbound("default", "c", everyService, "web.mesh", "80", younger),
			},
			"virtual-outbound:c",
			[]string{`VirtualOutbound "a"`, `VirtualOutbound "b"`},
		},
		"then by name": {
			[]watcher.Resource{
				web, virtualOutbound("default", "b", everyService, "web.mesh", "80"),
				virtualOutbound("default", "a", everyService, "web.mesh", "80"),
			},
			"virtual-outbound:a",
			[]string{`VirtualOutbound "b"`},
		},
		"of one policy, the smaller tags": {
			[]watcher.Resource{tagged("default", "x", "zoo"), tagged("default", "y", "db"), web, virtualOutbound("default", "a", everyService, "one.mesh", "80")},
			"virtual-outbound:a",
			[]string{`VirtualOutbound "a" of mesh "default" gives the name "one.mesh" and port 80 to the service "web", and to 1 more, but it gives them to the service "db", which comes first`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantWhateverTheOrder(t, tc.rs, show(batchOf(tc.rs)), tc.problems...)
			winners := 0
			for _, r := range batchOf(tc.rs).Meshes[0].Set {
				if r.Entry.Kind != vip.FQDN {
					continue
				}
				if winners++; len(r.Outbounds) != 1 || r.Outbounds[0].Origin != tc.want {
					t.Errorf("%v, want %s", r, tc.want)
				}
			}
			if winners != 1 {
				t.Errorf("%d names", winners)
			}
		})
	}
}

func TestANameFollowsHowNarrowlyItsServiceIsSelected(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	wide := parsed("type: VirtualOutbound\nname: wide\nselectors: [{match: {kuma.io/service: '*'}}, {match: {kuma.io/service: '*', zone: '*'}}]\n" +
		"conf: {host: web.mesh, port: '80', parameters: [{name: s, tagKey: kuma.io/service}]}")
	d.Put("vo", []watcher.Resource{wide, virtualOutbound("default", "narrow", "kuma.io/service: web", "web.mesh", "80")})
	d.Put("a", []watcher.Resource{tagged("default", "p", "web")})
	winner := func() string {
		for _, r := range d.All().Meshes[0].Set {
			if r.Entry.Kind == vip.FQDN {
				return r.Outbounds[0].Origin
			}
		}
		return ""
	}
	for range 2 {
		if got := winner(); got != "virtual-outbound:narrow" {
			t.Error(got)
		}
		d.Put("b", []watcher.Resource{tagged("default", "q", "web", "zone=east")}) // of equal use to the policy, but better selected
		if got := winner(); got != "virtual-outbound:wide" {
			t.Error(got)
		}
		d.Put("b", nil)
	}
}

func batchOf(rs []watcher.Resource) vip.Batch {
	d := watcher.NewDesired()
	d.Put("all", rs)
	return d.Changes()
}

func TestOneNameMayHaveThePortsOfSeveralPolicies(t *testing.T) {
	t.Parallel()
	wantWhateverTheOrder(t, []watcher.Resource{
		tagged("default", "p", "web"), tagged("default", "q", "db"),
		virtualOutbound("default", "a", "kuma.io/service: web", "Site.mesh", "80"),
		virtualOutbound("default", "b", "kuma.io/service: db", "site.mesh", "5432"),
		gateway("default", "gw", "{crossMesh: true, port: 443, hostname: SITE.mesh}"),
	}, "default: +0:db +0:web +2:SITE.mesh/80>web/443>gw-default/5432>db")
}

func TestAServiceThatAPolicyCannotNameIsToldOnceAndTheOthersAreNamed(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{
		virtualOutbound("default", "vo", everyService, "{{.service}}.{{.version}}.mesh", "{{.port}}"),
		tagged("default", "p", "web", "version=v1", "port=80"),
		tagged("default", "q", "web", "version=v2", "port=http"),
		tagged("default", "r", "db", "version=v2"),
		tagged("default", "s", "cache"),
	})
	wantChanges(t, d, "default: +0:cache +0:db +0:web +2:web.v1.mesh/80>web")
	wantProblems(t, d, `vo.yaml:1 VirtualOutbound "vo" of mesh "default" gives no name to the service "cache", and to 2 more: conf.host: "cache.<no value>.mesh" is no DNS name`)
	d.Put("a", []watcher.Resource{
		virtualOutbound("default", "vo", everyService, "{{.service}}.{{.version}}.mesh", "{{.port}}"),
		tagged("default", "q", "web", "version=v2", "port=http"),
	})
	wantChanges(t, d, "default: -0:cache -0:db -2:web.v1.mesh")
	wantProblems(t, d, `gives no name to the service "web" (port=http, version=v2): conf.port: "http" is no port: it has to be a number from 1 to 65535: correct the policy, or the tags of the service`)
	d.Put("b", []watcher.Resource{virtualOutbound("default", "vo", everyService, "a.mesh", "1")}) // in vain
	wantProblems(t, d, "gives no name", "is declared in")
	d.Put("a", nil)
	wantChanges(t, d, "default: -0:web")
	wantProblems(t, d)
}

func TestPoliciesOfAMeshThatIsNotDeclaredWait(t *testing.T) {
	t.Parallel()
	for _, policy := range []watcher.Resource{
		virtualOutbound("m", "p", everyService, "bad name", "80"),
		gateway("m", "p", "{crossMesh: true, port: 80}"),
	} {
		d := watcher.NewDesired()
		d.Put("a", []watcher.Resource{policy})
		wantChanges(t, d, "")
		wantProblems(t, d, "mesh m the mesh is not declared, so the resources that name it wait (first seen in p.yaml:1)")
		d.Put("b", []watcher.Resource{tagged("m", "p", "web")})
		d.Put("a", nil)
		wantProblems(t, d, "first seen in p.yaml:1")
		d.Put("b", nil)
		wantProblems(t, d)
		wantChanges(t, d, "")
	}
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{
		virtualOutbound("m", "vo", everyService, "{{.service}}.mesh", "80"), tagged("m", "p", "web"),
		gateway("m", "gw", "{crossMesh: true, port: 80}"), undecided("m", "ms"), hostnameGenerator("g", "{{.Name}}.local"),
	})
	wantChanges(t, d, "")
	d.Put("m", []watcher.Resource{meshNamed("m")})
	wantChanges(t, d, "default: +2:internal.gw.m.mesh/80>gw-m; m: +0:web +2:internal.gw.m.mesh/80>gw-m +2:web.mesh/80>web +3:m/ms~ms.local")
	wantProblems(t, d)
	d.Put("m", nil)
	wantChanges(t, d, "default: -2:internal.gw.m.mesh; m: gone")
}

// It runs alone: whatever else allocates would be counted.
func TestTheCostOfAChangeDoesNotGrowWithTheMeshes(t *testing.T) {
	cost := func(meshes int) float64 {
		d := watcher.NewDesired()
		for m := range meshes {
			mesh := fmt.Sprint("m", m)
			rs := []watcher.Resource{meshNamed(mesh), virtualOutbound(mesh, "vo", everyService, "{{.service}}.{{.version}}."+mesh, "80"), undecided(mesh, "ms")}
			for i := range 20 {
				rs = append(rs, tagged(mesh, fmt.Sprint(i), fmt.Sprint("s", i%10), "version=v1"))
			}
			d.Put(mesh, rs)
		}
		d.All()
		service := []watcher.Resource{tagged("m0", "new", "s0", "version=v2"), undecided("m0", "new")}
		policy := []watcher.Resource{virtualOutbound("m0", "new", "kuma.io/service: s1", "new.mesh", "80")}
		return testing.AllocsPerRun(20, func() {
			for _, rs := range [][]watcher.Resource{service, nil, policy, nil} {
				d.Put("new", rs)
				if b := d.Changes(); len(b.Meshes) != 1 {
					t.Errorf("batch %q", show(b))
				}
				if ps := d.Problems(); len(ps) > 0 {
					t.Errorf("problems %v", ps)
				}
			}
		})
	}
	few, many := cost(2), cost(500)
	if many > few*1.1 {
		t.Errorf("%v allocations among 500 meshes, %v among two", many, few)
	}
}
