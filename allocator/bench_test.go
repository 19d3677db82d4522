package allocator_test

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// fleet returns a full batch of n services spread over meshes.
func fleet(n, meshes int) vip.Batch {
	b := vip.Batch{Full: true, Meshes: make([]vip.MeshUpdate, meshes)}
	for i := range b.Meshes {
		b.Meshes[i].Mesh = fmt.Sprintf("mesh-%05d", i)
	}
	for i := range n {
		m := &b.Meshes[i%meshes]
		m.Set = append(m.Set, requests(fmt.Sprintf("svc-%07d_ns-%03d_svc_8080", i, i%1000))...)
	}
	return b
}

// BenchmarkApplyOne adds one entry to one mesh, and takes it away again, in
// tables of several sizes and numbers of meshes.
func BenchmarkApplyOne(b *testing.B) {
	for _, size := range []struct{ n, meshes int }{{1000, 10}, {100_000, 10}, {1_000_000, 10}, {1_000_000, 10_000}} {
		for _, kind := range []string{"memory", "bolt"} {
			b.Run(fmt.Sprintf("store=%s/entries=%d/meshes=%d", kind, size.n, size.meshes), func(b *testing.B) {
				var store allocator.Store = memstore.New()
				if kind == "bolt" {
					s, _, err := boltstore.Open(filepath.Join(b.TempDir(), "t.db"), boltstore.Options{NoSync: true})
					if err != nil {
						b.Fatal(err)
					}
					store = s
				}
				a, err := allocator.Open(context.Background(), store, allocator.Config{
					Pools: []netip.Prefix{netip.MustParsePrefix("240.0.0.0/8")},
				})
				if err != nil {
					b.Fatal(err)
				}
				defer a.Close()
				apply(b, a, fleet(size.n, size.meshes))
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					name := fmt.Sprintf("new-%09d_ns_svc_80", i)
					mesh := fmt.Sprintf("mesh-%05d", i*7919%size.meshes)
					apply(b, a, vip.Batch{Meshes: []vip.MeshUpdate{{Mesh: mesh, Set: requests(name)}}})
					i++
				}
			})
		}
	}
}

// BenchmarkRestart opens a bbolt store of a million entries and loads it.
func BenchmarkRestart(b *testing.B) {
	for _, size := range []struct{ n, meshes int }{{10_000, 10}, {1_000_000, 10_000}} {
		b.Run(fmt.Sprintf("entries=%d/meshes=%d", size.n, size.meshes), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "t.db")
			cfg := allocator.Config{Pools: []netip.Prefix{netip.MustParsePrefix("240.0.0.0/8")}}
			reopen := func() *allocator.Allocator {
				s, _, err := boltstore.Open(path, boltstore.Options{NoSync: true})
				if err != nil {
					b.Fatal(err)
				}
				a, err := allocator.Open(context.Background(), s, cfg)
				if err != nil {
					b.Fatal(err)
				}
				return a
			}
			a := reopen()
			apply(b, a, fleet(size.n, size.meshes))
			a.Close()
			b.ReportAllocs()
			for b.Loop() {
				reopen().Close()
			}
		})
	}
}
