package watcher_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

func meshNamed(name string) watcher.Resource {
	return watcher.Resource{ID: kuma.ID{Type: kuma.TypeMesh, Name: name}, Where: name + ".yaml:1"}
}

func resource(typ, mesh, name string, spec kuma.Spec) watcher.Resource {
	r := kuma.Resource{ID: kuma.ID{Type: typ, Mesh: mesh, Name: name}, Spec: spec}
	claims, err := r.Claims("default")
	if err != nil {
		panic(err)
	}
	return watcher.Resource{ID: r.ID, Where: name + ".yaml:1", Claims: claims}
}

var home = kuma.Home{Zone: "default", Domain: "mesh"}

// parsed is the one resource that text has.
func parsed(text string) watcher.Resource {
	rs, invalid, err := kuma.Decode([]byte(text))
	if err != nil || len(invalid) > 0 || len(rs) != 1 {
		panic(fmt.Sprint(text, invalid, err))
	}
	r, problems, err := watcher.Read(rs[0], rs[0].Name+".yaml:1", home)
	if err != nil || len(problems) > 0 {
		panic(fmt.Sprint(text, problems, err))
	}
	return r
}

// proxy is a Dataplane with these services.
func proxy(mesh, name string, services ...string) watcher.Resource {
	dp := kuma.Dataplane{}
	for _, s := range services {
		dp.Inbound = append(dp.Inbound, kuma.Inbound{Port: 80, Service: s})
	}
	return resource(kuma.TypeDataplane, mesh, name, dp)
}

func external(mesh, name, service, host string, port uint16) watcher.Resource {
	return resource(kuma.TypeExternalService, mesh, name, kuma.ExternalService{Service: service, Host: host, Port: port})
}

// show prints a batch, one line an update.
func show(b vip.Batch) string {
	var lines []string
	for _, m := range b.Meshes {
		line := m.Mesh + ":"
		if m.Gone {
			line += " gone"
		}
		for _, r := range m.Set {
			line += " +" + r.Entry.String()
			for _, o := range r.Outbounds {
				if o.Port != 0 {
					line += fmt.Sprintf("/%d>%s", o.Port, o.TagMap()[vip.ServiceTag])
				}
			}
			if r.Terms != nil {
				if r.Terms.Empty() {
					line += "=nothing"
				}
				for _, a := range r.Terms.Static {
					line += fmt.Sprintf("=%v", a)
				}
				for _, a := range r.Terms.Given {
					line += fmt.Sprintf("<%v", a)
				}
				for _, h := range r.Terms.Hostnames {
					line += "~" + h
				}
			}
		}
		for _, k := range m.Drop {
			line += " -" + k.String()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func wantChanges(t *testing.T, d *watcher.Desired, want string) {
	t.Helper()
	if got := show(d.Changes()); got != want {
		t.Errorf("changes %q, want %q", got, want)
	}
}

func wantProblems(t *testing.T, d *watcher.Desired, want ...string) {
	t.Helper()
	ps := d.Problems()
	if len(ps) != len(want) {
		t.Errorf("problems %v, want %d", ps, len(want))
		return
	}
	for i, p := range ps {
		if !strings.Contains(p.Place+" "+p.What, want[i]) {
			t.Errorf("problem %v, want one with %q", p, want[i])
		}
	}
}

func TestManyResourcesOfOneServiceAreOneRequest(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	for i := range 10 {
		d.Put(fmt.Sprintf("%d.yaml", i), []watcher.Resource{proxy("default", fmt.Sprint("p", i), "web")})
	}
	wantChanges(t, d, "default: +0:web")
	for i := range 9 {
		d.Put(fmt.Sprintf("%d.yaml", i), nil)
	}
	wantChanges(t, d, "")
	d.Put("9.yaml", nil)
	wantChanges(t, d, "default: -0:web")
}

func TestWritingAgainWithoutChangeIsNoChange(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{meshNamed("m"), proxy("m", "p", "x", "y")})
	d.All()
	d.Put("a", []watcher.Resource{proxy("m", "p", "y", "x"), meshNamed("m")})
	if d.Touched() {
		t.Error("the same resources in another order touch something")
	}
	wantChanges(t, d, "")
	d.Put("b", []watcher.Resource{proxy("m", "p", "x", "y"), meshNamed("m")})
	d.Put("a", nil)
	wantChanges(t, d, "")
}

func TestTheFirstSpellingIsShownAndOutboundsAreTheUnion(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{proxy("default", "p", "web")})
	d.All()
	d.Put("b", []watcher.Resource{external("default", "e", "WEB", "192.0.2.1", 90), external("default", "f", "WEB", "192.0.2.1", 80)})
	wantChanges(t, d, "default: +0:WEB/80>WEB/90>WEB")
	d.Put("b", nil)
	wantChanges(t, d, "default: +0:web")
}

func TestOneHostWithTwoPortsIsOneEntry(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{external("default", "tls", "bin-tls", "Httpbin.org", 443), external("default", "plain", "bin", "httpbin.org", 80)})
	wantChanges(t, d, "default: +0:bin/80>bin +0:bin-tls/443>bin-tls +1:Httpbin.org/80>bin/443>bin-tls")
	wantProblems(t, d)
}

func TestTheFirstByNameHasAHostAndPort(t *testing.T) {
	t.Parallel()
	rs := []watcher.Resource{
		external("default", "b", "second", "httpbin.org", 443),
		external("default", "a", "first", "HTTPBIN.org", 443),
		external("default", "c", "third", "httpbin.org", 443),
		proxy("default", "p", "unrelated"),
	}
	const want = "default: +0:first/443>first +0:second/443>second +0:third/443>third +0:unrelated +1:HTTPBIN.org/443>first"
	wantWhateverTheOrder(t, rs, want, `ExternalService "b" of mesh "default" has the host "httpbin.org" and port 443 that ExternalService "a" has`, `ExternalService "c"`)
	d := watcher.NewDesired()
	d.Put("x", rs)
	d.All()
	d.Put("x", slices.Delete(slices.Clone(rs), 1, 2))
	wantChanges(t, d, "default: +1:httpbin.org/443>second -0:first")
	wantProblems(t, d, `ExternalService "c"`)
}

func TestUndeclaredMeshesWait(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{proxy("m", "p", "x"), proxy("m", "q", "y"), proxy("default", "r", "z")})
	if got := show(d.All()); got != "default: +0:z" {
		t.Errorf("full batch %q", got)
	}
	wantProblems(t, d, `mesh m the mesh is not declared`)
	d.Put("m", []watcher.Resource{meshNamed("m")})
	wantChanges(t, d, "m: +0:x +0:y")
	wantProblems(t, d)
	d.Put("m", nil)
	wantChanges(t, d, "m: gone")
	wantProblems(t, d, "add a document with type: Mesh and name: m")
	d.Put("a", nil)
	wantProblems(t, d)
	wantChanges(t, d, "default: -0:z")
	d.Put("m", []watcher.Resource{meshNamed("m")})
	wantChanges(t, d, "m:")
	d.Put("m", nil)
	d.Put("n", []watcher.Resource{meshNamed("m")})
	wantChanges(t, d, "")
}

func TestTheDefaultMeshCannotGo(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("m", []watcher.Resource{meshNamed("default"), proxy("default", "p", "x")})
	d.All()
	d.Put("m", []watcher.Resource{proxy("default", "p", "x")})
	wantChanges(t, d, "")
	d.Put("m", nil)
	wantChanges(t, d, "default: -0:x")
	if got := show(d.All()); got != "default:" {
		t.Errorf("full batch %q", got)
	}
}

func TestAFullBatchHasEmptyMeshes(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{meshNamed("b"), meshNamed("a"), proxy("b", "p", "x"), proxy("waits", "p", "x")})
	b := d.All()
	if got := show(b); got != "a:; b: +0:x; default:" || !b.Full {
		t.Errorf("batch %q, full %v", got, b.Full)
	}
	if got := show(d.All()); got != "a:; b: +0:x; default:" {
		t.Errorf("again: %q", got)
	}
}

func TestTheFirstOfTwoDeclarationsCounts(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("b", []watcher.Resource{meshNamed("m"), proxy("m", "p", "second", "both")})
	d.All()
	d.Put("a", []watcher.Resource{meshNamed("m"), proxy("m", "p", "first", "both"), proxy("m", "p", "third")})
	wantChanges(t, d, "m: +0:first -0:second")
	wantProblems(t, d, `Mesh "m" is declared in`, `Dataplane "p" of mesh "m" is declared in`, `Dataplane "p"`)
	d.Put("a", nil)
	wantChanges(t, d, "m: +0:second -0:first")
	wantProblems(t, d)
}
