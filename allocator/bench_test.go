package allocator_test

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// fleet returns a full batch of n services spread over meshes, with names as
// Kubernetes gives them.
func fleet(n, meshes int) vip.Batch {
	b := vip.Batch{Full: true, Meshes: make([]vip.MeshUpdate, meshes)}
	for i := range b.Meshes {
		b.Meshes[i].Mesh = meshName(i)
	}
	for i := range n {
		m := &b.Meshes[i%meshes]
		m.Set = append(m.Set, requests(fmt.Sprintf("svc-%07d_ns-%03d_svc_8080", i, i%1000))...)
	}
	return b
}

// newName returns a name that is not in a fleet of n, and lies anywhere among
// the fleet's names: new ones do not all come last.
func newName(i, n int) string {
	return fmt.Sprintf("svc-%07d_ns-new-%09d_svc_8080", i*104_729%n, i)
}

func meshName(i int) string { return fmt.Sprintf("mesh-%05d", i) }

// skipLarge skips a benchmark that takes long to prepare.
func skipLarge(b *testing.B, entries int) {
	b.Helper()
	if entries > 100_000 && testing.Short() {
		b.Skip("more than 100,000 entries take too long for -short")
	}
}

var benchConfig = allocator.Config{Layout: allocator.Ranges(netip.MustParsePrefix("240.0.0.0/8"))}

// openBench opens an allocator on a new store of a kind, or on the bolt file at
// path.
func openBench(b *testing.B, kind, path string) *allocator.Allocator {
	b.Helper()
	var store allocator.Store = memstore.New()
	if kind == "bolt" {
		s, _, err := boltstore.Open(path, boltstore.Options{NoSync: true})
		if err != nil {
			b.Fatal(err)
		}
		store = s
	}
	a, err := allocator.Open(context.Background(), store, benchConfig)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// BenchmarkApplyOne adds one entry to one mesh, in tables of several sizes and
// numbers of meshes.
func BenchmarkApplyOne(b *testing.B) {
	for _, size := range []struct{ entries, meshes int }{{1000, 10}, {100_000, 10}, {1_000_000, 10}, {1_000_000, 10_000}} {
		for _, kind := range []string{"memory", "bolt"} {
			b.Run(fmt.Sprintf("store=%s/entries=%d/meshes=%d", kind, size.entries, size.meshes), func(b *testing.B) {
				skipLarge(b, size.entries)
				a := openBench(b, kind, filepath.Join(b.TempDir(), "t.db"))
				defer a.Close()
				apply(b, a, fleet(size.entries, size.meshes))
				runtime.GC()
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					apply(b, a, part(set(meshName(i*7919%size.meshes), newName(i, size.entries))))
					i++
				}
			})
		}
	}
}

// rebuild adds one entry as a control plane does that keeps a table for each
// mesh and makes addresses unique over all of them: it reads every table,
// reserves each address in a set that is made anew, and takes one that is free.
func rebuild(tables []map[string]netip.Addr, mesh int, name string, pool netip.Prefix) bool {
	reserved := make(map[netip.Addr]string)
	for _, t := range tables {
		for name, addr := range t {
			if owner, ok := reserved[addr]; ok && owner != name {
				return false
			}
			reserved[addr] = name
		}
	}
	for addr := pool.Addr().Next(); pool.Contains(addr); addr = addr.Next() {
		if _, ok := reserved[addr]; !ok {
			tables[mesh][name] = addr
			return true
		}
	}
	return false
}

// BenchmarkAgainstRebuilding adds one entry at a hundred services a mesh: by
// looking at every mesh's table, and by Apply.
func BenchmarkAgainstRebuilding(b *testing.B) {
	const perMesh = 100
	for _, meshes := range []int{10, 100, 500} {
		b.Run(fmt.Sprintf("rebuild/meshes=%d", meshes), func(b *testing.B) {
			pool := benchConfig.Layout.Pools[0].Prefix
			addr := pool.Addr()
			tables := make([]map[string]netip.Addr, meshes)
			for i, m := range fleet(meshes*perMesh, meshes).Meshes {
				tables[i] = make(map[string]netip.Addr)
				for _, r := range m.Set {
					addr = addr.Next()
					tables[i][r.Entry.Name] = addr
				}
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if !rebuild(tables, i%meshes, newName(i, meshes*perMesh), pool) {
					b.Fatal("no address")
				}
				i++
			}
		})
		b.Run(fmt.Sprintf("apply/meshes=%d", meshes), func(b *testing.B) {
			a := openBench(b, "memory", "")
			defer a.Close()
			apply(b, a, fleet(meshes*perMesh, meshes))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				apply(b, a, part(set(meshName(i%meshes), newName(i, meshes*perMesh))))
				i++
			}
		})
	}
}

// heap returns the bytes in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkFirstSync applies a whole fleet to an empty table, and tells what
// each entry takes of the heap afterwards, in the table and in a memory store
// that shares its rows; the batch itself is gone by then but for its strings.
func BenchmarkFirstSync(b *testing.B) {
	for _, size := range []struct{ entries, meshes int }{{10_000, 10}, {1_000_000, 10_000}} {
		for _, kind := range []string{"memory", "bolt"} {
			b.Run(fmt.Sprintf("store=%s/entries=%d/meshes=%d", kind, size.entries, size.meshes), func(b *testing.B) {
				skipLarge(b, size.entries)
				b.ReportAllocs()
				perEntry := 0.0
				i := 0
				for b.Loop() {
					b.StopTimer()
					before := heap()
					a := openBench(b, kind, filepath.Join(b.TempDir(), fmt.Sprintf("%d.db", i)))
					i++
					batch := fleet(size.entries, size.meshes)
					b.StartTimer()
					apply(b, a, batch)
					b.StopTimer()
					batch = vip.Batch{}
					perEntry = float64(heap()-before) / float64(size.entries)
					if len(batch.Meshes) > 0 || a.Stats().Entries != size.entries {
						b.Fatal("the table is not the fleet")
					}
					a.Close()
					b.StartTimer()
				}
				b.ReportMetric(perEntry, "B/entry")
			})
		}
	}
}

// BenchmarkRestart opens a bolt store and loads it, and tells what each entry
// takes of the heap afterwards.
func BenchmarkRestart(b *testing.B) {
	for _, size := range []struct{ entries, meshes int }{{10_000, 10}, {1_000_000, 10_000}} {
		b.Run(fmt.Sprintf("entries=%d/meshes=%d", size.entries, size.meshes), func(b *testing.B) {
			skipLarge(b, size.entries)
			path := filepath.Join(b.TempDir(), "t.db")
			a := openBench(b, "bolt", path)
			apply(b, a, fleet(size.entries, size.meshes))
			a.Close()
			a = nil
			b.ReportAllocs()
			perEntry := 0.0
			for b.Loop() {
				b.StopTimer()
				before := heap()
				b.StartTimer()
				a = openBench(b, "bolt", path)
				b.StopTimer()
				perEntry = float64(heap()-before) / float64(size.entries)
				a.Close()
				a = nil
				b.StartTimer()
			}
			b.ReportMetric(perEntry, "B/entry")
		})
	}
}
