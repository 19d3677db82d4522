package watcher_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
	"pgregory.net/rapid"
)

// pinned is a Dataplane of one service that asks for these addresses.
func pinned(mesh, name, service string, addrs ...string) watcher.Resource {
	dp := kuma.Dataplane{}
	for _, a := range addrs {
		dp.Inbound = append(dp.Inbound, kuma.Inbound{Port: 80, Service: service, Static: netip.MustParseAddr(a)})
	}
	return resource(kuma.TypeDataplane, mesh, name, dp)
}

func TestAStaticAddressAloneIsAChange(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{proxy("default", "p", "web")})
	wantChanges(t, d, "default: +0:web")
	d.Put("a", []watcher.Resource{pinned("default", "p", "web", "240.0.0.9")})
	wantChanges(t, d, "default: +0:web=240.0.0.9")
	d.Put("a", []watcher.Resource{pinned("default", "p", "web", "240.0.0.10")})
	wantChanges(t, d, "default: +0:web=240.0.0.10")
	d.Put("b", []watcher.Resource{pinned("default", "q", "web", "240.0.0.10"), proxy("default", "r", "web")})
	wantChanges(t, d, "")
	d.Put("a", nil)
	wantChanges(t, d, "")
	d.Put("b", []watcher.Resource{proxy("default", "q", "web")})
	wantChanges(t, d, "default: +0:web")
	wantProblems(t, d)
}

func TestStaticAddressesOfBothFamiliesAreMerged(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{pinned("default", "six", "web", "fd00::9"), pinned("default", "four", "WEB", "240.0.0.9")})
	wantChanges(t, d, "default: +0:WEB=240.0.0.9=fd00::9")
	wantProblems(t, d)
}

func TestTheSmallestStaticAddressCountsWhateverTheOrder(t *testing.T) {
	t.Parallel()
	rs := []watcher.Resource{
		pinned("default", "a", "web", "240.0.0.10", "fd00::1"),
		pinned("default", "b", "web", "240.0.0.9"),
		pinned("default", "c", "WEB", "240.0.0.10"),
		pinned("default", "d", "web", "240.0.0.100", "240.0.0.9"),
		pinned("default", "e", "other", "240.0.0.1"),
	}
	for range 100 {
		d := watcher.NewDesired()
		for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4}).Example() {
			d.Put(fmt.Sprint(i), rs[i:i+1])
		}
		wantChanges(t, d, "default: +0:other=240.0.0.1 +0:WEB=240.0.0.9=fd00::1")
		wantProblems(t, d,
			`a.yaml:1 Dataplane "a" of mesh "default", among others, asks for the address 240.0.0.10 for the service "web", but Dataplane "b" of mesh "default" asks for 240.0.0.9, which counts because it is smaller: give the tag meshvip.io/vip of that service one value everywhere`,
			`d.yaml:1 Dataplane "d" of mesh "default" asks for the address 240.0.0.100 for the service "web", but Dataplane "b"`)
	}
	d := watcher.NewDesired()
	d.Put("x", rs)
	d.Changes()
	d.Put("x", []watcher.Resource{rs[0], rs[2]})
	wantChanges(t, d, "default: +0:WEB=240.0.0.10=fd00::1 -0:other")
	wantProblems(t, d)
}

func TestStaticAddressesOfAMeshThatIsNotDeclaredWait(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{pinned("m", "p", "web", "240.0.0.9", "240.0.0.8"), pinned("default", "p", "web", "240.0.0.7")})
	wantChanges(t, d, "default: +0:web=240.0.0.7")
	wantProblems(t, d, "the mesh is not declared")
	d.Put("m", []watcher.Resource{meshNamed("m")})
	wantChanges(t, d, "m: +0:web=240.0.0.8")
	wantProblems(t, d, `Dataplane "p" of mesh "m" asks for the address 240.0.0.9`)
	d.Put("m", nil)
	wantChanges(t, d, "m: gone")
}

// told is a MeshService with these given addresses and hostnames.
func told(mesh, name string, given, hostnames []string) watcher.Resource {
	d := kuma.Destination{Kind: vip.MeshService, Ports: []uint16{80}, Hostnames: hostnames}
	for _, a := range given {
		d.Given = append(d.Given, netip.MustParseAddr(a))
	}
	return resource(kuma.TypeMeshService, mesh, name, d)
}

func TestDestinationsOfTwoMeshesAreTwoEntries(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{
		told("m", "backend", []string{"241.0.0.4"}, []string{"backend.svc.mesh.local"}),
		told("default", "backend", []string{"241.0.0.1"}, []string{"backend.svc.mesh.local"}),
		proxy("default", "p", "backend"),
	})
	wantChanges(t, d, "default: +0:backend +3:default/backend/80><241.0.0.1~backend.svc.mesh.local")
	wantProblems(t, d, "the mesh is not declared")
	d.Put("m", []watcher.Resource{meshNamed("m")})
	wantChanges(t, d, "m: +3:m/backend/80><241.0.0.4~backend.svc.mesh.local")
	wantProblems(t, d)
	d.Put("m", nil)
	wantChanges(t, d, "m: gone")
	d.Put("a", nil)
	wantChanges(t, d, "default: -0:backend -3:default/backend")
}

func TestWhatKumaSaysOfADestinationAloneIsAChange(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	put := func(given, hostnames []string) {
		d.Put("a", []watcher.Resource{told("default", "b", given, hostnames)})
	}
	put(nil, nil)
	wantChanges(t, d, "default: +3:default/b/80>")
	put(nil, []string{"b.local"})
	wantChanges(t, d, "default: +3:default/b/80>~b.local")
	put([]string{"241.0.0.1"}, []string{"b.local"})
	wantChanges(t, d, "default: +3:default/b/80><241.0.0.1~b.local")
	put([]string{"241.0.0.1"}, []string{"b.local"})
	wantChanges(t, d, "")
	put([]string{"241.0.0.1"}, []string{"z.local", "b.local"})
	wantChanges(t, d, "default: +3:default/b/80><241.0.0.1~z.local~b.local")
	put([]string{"241.0.0.1"}, []string{"b.local", "z.local"}) // another is shown first
	wantChanges(t, d, "default: +3:default/b/80><241.0.0.1~b.local~z.local")
	put(nil, nil)
	wantChanges(t, d, "default: +3:default/b/80>")
	wantProblems(t, d)
}

func TestDestinationsThatDifferInCaseAreOneEntryWithAllThatTheyHave(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("a", []watcher.Resource{
		told("default", "web", []string{"10.0.0.1", "241.0.0.1"}, []string{"b.local", "a.local"}),
		told("default", "WEB", []string{"241.0.0.1", "fd00::1"}, []string{"A.local", "c.local"}),
	})
	wantChanges(t, d, "default: +3:default/WEB/80>/80><10.0.0.1<241.0.0.1<fd00::1~b.local~a.local~c.local")
}
