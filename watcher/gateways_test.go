package watcher_test

import (
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher"
)

func TestAGatewayHasItsNameInEveryMesh(t *testing.T) {
	t.Parallel()
	d := watcher.NewDesired()
	d.Put("m", []watcher.Resource{meshNamed("m"), meshNamed("n")})
	d.All()
	d.Put("gw", []watcher.Resource{gateway("m", "gw", "{crossMesh: true, port: 80, hostname: api.m.mesh}, {port: 81, hostname: inner.mesh}")})
	wantChanges(t, d, "default: +2:api.m.mesh/80>gw-m; m: +2:api.m.mesh/80>gw-m; n: +2:api.m.mesh/80>gw-m")
	d.Put("o", []watcher.Resource{meshNamed("o"), tagged("o", "p", "web")})
	wantChanges(t, d, "o: +0:web +2:api.m.mesh/80>gw-m")
	d.Put("gw", []watcher.Resource{gateway("m", "gw", "{crossMesh: true, port: 80}, {crossMesh: true, port: 443}")})
	wantChanges(t, d, "default: +2:internal.gw.m.mesh/80>gw-m/443>gw-m -2:api.m.mesh; m: +2:internal.gw.m.mesh/80>gw-m/443>gw-m -2:api.m.mesh; "+
		"n: +2:internal.gw.m.mesh/80>gw-m/443>gw-m -2:api.m.mesh; o: +2:internal.gw.m.mesh/80>gw-m/443>gw-m -2:api.m.mesh")
	d.Put("o", nil)
	wantChanges(t, d, "o: gone")
	d.Put("m", []watcher.Resource{meshNamed("n")}) // and with the mesh, its gateway
	wantChanges(t, d, "default: -2:internal.gw.m.mesh; m: gone; n: -2:internal.gw.m.mesh")
	wantProblems(t, d, "mesh m the mesh is not declared")
	d.Put("gw", nil)
	wantChanges(t, d, "")
	wantProblems(t, d)
}

func TestTheFirstGatewayByMeshAndNameHasAName(t *testing.T) {
	t.Parallel()
	const one, two = "{crossMesh: true, port: 80, hostname: api.mesh}", "{crossMesh: true, port: 80, hostname: API.mesh}, {crossMesh: true, port: 81, hostname: api.mesh}"
	wantWhateverTheOrder(t, []watcher.Resource{
		meshNamed("a"), meshNamed("a-b"), gateway("a", "y", two), gateway("a", "x", one), gateway("a-b", "w", one), gateway("default", "v", two+", "+one),
	}, "a: +2:api.mesh/80>x-a/81>y-a; a-b: +2:api.mesh/80>x-a/81>y-a; default: +2:api.mesh/80>x-a/81>y-a",
		`v.yaml:1 MeshGateway "v" of mesh "default" has the name "API.mesh" and port 80 that MeshGateway "x" of mesh "a" has, which comes first by mesh and name: change or remove one of the two`,
		`MeshGateway "v" of mesh "default" has the name "api.mesh" and port 80 that MeshGateway "x"`,
		`MeshGateway "v" of mesh "default" has the name "api.mesh" and port 81 that MeshGateway "y"`,
		`MeshGateway "w" of mesh "a-b" has the name "api.mesh" and port 80 that MeshGateway "x"`,
		`MeshGateway "y" of mesh "a" has the name "API.mesh" and port 80 that MeshGateway "x"`)
}

func TestAVirtualOutboundComesBeforeAGatewayInItsMesh(t *testing.T) {
	t.Parallel()
	wantWhateverTheOrder(t, []watcher.Resource{
		meshNamed("m"), gateway("m", "gw", "{crossMesh: true, port: 80, hostname: api.mesh}, {crossMesh: true, port: 81, hostname: api.mesh}"),
		tagged("default", "p", "web"), virtualOutbound("default", "vo", everyService, "api.mesh", "80"),
	}, "default: +0:web +2:api.mesh/80>web/81>gw-m; m: +2:api.mesh/80>gw-m/81>gw-m",
		`gw.yaml:1 in mesh "default", MeshGateway "gw" of mesh "m" does not have its name "api.mesh" and port 80: VirtualOutbound "vo" gives them to a service there, which comes first: change one of the two`)
}
