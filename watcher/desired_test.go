package watcher_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
	"pgregory.net/rapid"
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
	for range 100 {
		d := watcher.NewDesired()
		for _, i := range rapid.Permutation([]int{0, 1, 2, 3}).Example() {
			d.Put(fmt.Sprint(i), rs[i:i+1])
		}
		wantChanges(t, d, want)
		wantProblems(t, d, `ExternalService "b" of mesh "default" has the host "httpbin.org" and port 443 that ExternalService "a" has`, `ExternalService "c"`)
		wantChanges(t, d, "")
	}
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

// table is what each mesh lists, as a receiver of batches keeps it.
type table map[string]map[vip.Key]vip.Request

// apply applies b to t, and fails if b says anything that t says already.
func (t table) apply(rt *rapid.T, b vip.Batch) {
	if b.Full {
		clear(t)
	}
	for i, u := range b.Meshes {
		if i > 0 && b.Meshes[i-1].Mesh >= u.Mesh {
			rt.Fatalf("meshes out of order: %v", b)
		}
		if u.Gone {
			if t[u.Mesh] == nil {
				rt.Fatalf("mesh %s goes, but was not there", u.Mesh)
			}
			delete(t, u.Mesh)
			continue
		}
		m, isNew := t[u.Mesh], t[u.Mesh] == nil
		if isNew {
			m = make(map[vip.Key]vip.Request)
			t[u.Mesh] = m
		} else if len(u.Set)+len(u.Drop) == 0 {
			rt.Fatalf("an update of %s says nothing", u.Mesh)
		}
		if !slices.IsSortedFunc(u.Set, func(a, b vip.Request) int { return a.Entry.Key().Compare(b.Entry.Key()) }) || !slices.IsSortedFunc(u.Drop, vip.Key.Compare) {
			rt.Fatalf("an update is out of order: %v", u)
		}
		for _, r := range u.Set {
			if old, ok := m[r.Entry.Key()]; ok && cmp.Equal(old, r) {
				rt.Fatalf("%v is set again without change", r)
			}
			m[r.Entry.Key()] = r
		}
		for _, k := range u.Drop {
			if _, ok := m[k]; !ok {
				rt.Fatalf("%v is dropped, but was not there", k)
			}
			delete(m, k)
		}
	}
}

// expected works the desired state out from scratch, the slow and obvious way.
func expected(places map[string][]watcher.Resource) table {
	names := make([]string, 0, len(places))
	for name := range places {
		names = append(names, name)
	}
	slices.Sort(names)
	active := map[kuma.ID]watcher.Resource{}
	t := table{vip.DefaultMesh: {}}
	for _, name := range names {
		for _, r := range places[name] {
			if _, ok := active[r.ID]; !ok {
				active[r.ID] = r
			}
			if r.Type == kuma.TypeMesh && t[r.Name] == nil {
				t[r.Name] = map[vip.Key]vip.Request{}
			}
		}
	}
	for _, r := range active {
		for _, c := range r.Claims {
			m := t[c.Mesh]
			if m == nil {
				continue
			}
			key := c.Entry.Key()
			q, ok := m[key]
			if !ok || c.Entry.Name < q.Entry.Name {
				q.Entry = c.Entry
			}
			q.Outbounds = append(slices.Clone(q.Outbounds), c.Outbounds...)
			m[key] = q
		}
	}
	for _, m := range t {
		for key, q := range m {
			slices.SortFunc(q.Outbounds, vip.Outbound.Compare)
			q.Outbounds = slices.CompactFunc(q.Outbounds, vip.Outbound.Equal)
			if key.Kind == vip.Host {
				q.Outbounds = slices.CompactFunc(q.Outbounds, func(a, b vip.Outbound) bool { return a.Port == b.Port })
			}
			m[key] = q
		}
	}
	return t
}

// anyResource draws from a small world, so that things meet.
var anyResource = rapid.Custom(func(t *rapid.T) watcher.Resource {
	mesh := rapid.SampledFrom([]string{"default", "m", "n"}).Draw(t, "mesh")
	name := rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "name")
	service := rapid.SampledFrom([]string{"a", "A", "b", "c"})
	switch rapid.IntRange(0, 3).Draw(t, "type") {
	case 0:
		return meshNamed(mesh)
	case 1:
		return proxy(mesh, name, rapid.SliceOfN(service, 0, 3).Draw(t, "services")...)
	case 2:
		return resource(kuma.TypeZoneIngress, "", name, kuma.ZoneIngress{Zone: "east", Available: []kuma.AvailableService{
			{Mesh: mesh, Service: service.Draw(t, "service")}, {Mesh: "m", Service: service.Draw(t, "other")},
		}})
	default:
		return external(mesh, name, service.Draw(t, "service"), rapid.SampledFrom([]string{"h", "H", "i"}).Draw(t, "host"), uint16(rapid.IntRange(1, 2).Draw(t, "port")))
	}
})

func TestBatchesAddUpToWhatAFreshReadingGives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := watcher.NewDesired()
		places := map[string][]watcher.Resource{}
		got := table{}
		got.apply(t, d.All())
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			place := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "place")
			rs := rapid.SliceOfN(anyResource, 0, 4).Draw(t, "resources")
			d.Put(place, rs)
			places[place] = rs
			switch rapid.IntRange(0, 3).Draw(t, "take") {
			case 0:
				continue
			case 1:
				got.apply(t, d.All())
			default:
				got.apply(t, d.Changes())
			}
			want := expected(places)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("want -, got +:\n%s", diff)
			}
			fresh := watcher.NewDesired()
			for name, rs := range places {
				fresh.Put(name, rs)
			}
			// Which place named a waiting mesh first is history.
			clean := func(ps []watcher.Problem) []string {
				var s []string
				for _, p := range ps {
					what, _, _ := strings.Cut(p.What, "(first seen in")
					s = append(s, p.Place+" "+what)
				}
				return s
			}
			if diff := cmp.Diff(clean(fresh.Problems()), clean(d.Problems())); diff != "" {
				t.Fatalf("problems, want -, got +:\n%s", diff)
			}
		}
	})
}
