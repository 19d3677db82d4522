package watcher_test

import (
	"fmt"
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher"
)

// BenchmarkPolicies changes one resource where each mesh has 100 services of two
// versions, three replicas each, and two policies. It must not matter how many
// meshes there are.
func BenchmarkPolicies(b *testing.B) {
	for _, meshes := range []int{10, 1_000} {
		d := watcher.NewDesired()
		for m := range meshes {
			mesh := fmt.Sprintf("mesh-%d", m)
			rs := []watcher.Resource{
				meshNamed(mesh),
				virtualOutbound(mesh, "versions", "version: '*'", "{{.service}}.{{.version}}."+mesh, "80"),
				virtualOutbound(mesh, "one", "kuma.io/service: service-1, version: v1", "one."+mesh, "80"),
			}
			for i := range 600 {
				rs = append(rs, tagged(mesh, fmt.Sprint("dp-", i), fmt.Sprint("service-", i%100), fmt.Sprint("version=v", i/100%2), "zone=east"))
			}
			d.Put(mesh, rs)
		}
		d.All()
		for _, bench := range []struct {
			name    string
			changes int
			rs      []watcher.Resource
		}{
			{"a Dataplane more", 1, []watcher.Resource{tagged("mesh-1", "new", "service-1", "version=v0", "zone=west")}},
			{"a Dataplane of another version", 1, []watcher.Resource{tagged("mesh-1", "new", "service-1", "version=v2")}},
			{"a policy for one service", 2, []watcher.Resource{virtualOutbound("mesh-1", "new", "kuma.io/service: service-2", "two.{{.version}}.mesh", "80")}},
			{"a policy for every service", 200, []watcher.Resource{virtualOutbound("mesh-1", "new", everyService, "{{.service}}.{{.version}}.new.mesh", "80")}},
		} {
			b.Run(fmt.Sprintf("%s/meshes=%d", bench.name, meshes), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					d.Put("new", bench.rs)
					got := d.Changes().Changes()
					d.Problems()
					d.Put("new", nil)
					got += d.Changes().Changes()
					if got != 2*bench.changes && got != 0 { // a replica more is no change
						b.Fatalf("%d changes", got)
					}
				}
			})
		}
	}
}
