package allocator_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"go4.org/netipx"
)

// BenchmarkPool takes an address and gives it back, by two calls of Apply, from
// a pool that is 99.9 % full and from one of the same size in which 65 are
// taken, block by block in turn, and reports how many times as long the full one
// takes. What is free in it lies scattered.
//
// Nobody has a /64 that is full. One stands here of which all but 65,536
// addresses are excluded, and one of which the first 65,534 are as full as the
// /16 is, and the others free.
func BenchmarkPool(b *testing.B) {
	most := netipx.MustParseIPRange("fd00:6d76::1:0-fd00:6d76::ffff:ffff:ffff:ffff")
	for _, pool := range []struct {
		name string
		of   allocator.Range
	}{
		{"v4-16-full", allocator.Range{Prefix: netip.MustParsePrefix("240.1.0.0/16")}},
		{"v6-64-all-but-65536-excluded", allocator.Range{Prefix: netip.MustParsePrefix("fd00:6d76::/64"), Exclude: []netipx.IPRange{most}}},
		{"v6-64-first-65534-full", allocator.Range{Prefix: netip.MustParsePrefix("fd00:6d76::/64")}},
	} {
		b.Run(pool.name, func(b *testing.B) {
			const all, free = 65_534, 65
			full, empty := openPool(b, pool.of, all, all/free), openPool(b, pool.of, free, 2*free)
			one := requests("one-more")[0]
			var blocks [2][]time.Duration
			for b.Loop() {
				for i, a := range []*allocator.Allocator{full, empty} {
					begin := time.Now()
					for range blockSize {
						apply(b, a, part(set("mesh-00000", one.Entry.Name)))
						apply(b, a, part(drop("mesh-00000", one.Entry.Name)))
					}
					blocks[i] = append(blocks[i], time.Since(begin))
				}
			}
			is, was := median(blocks[0]), median(blocks[1])
			b.ReportMetric(0, "ns/op") // of both together: of no interest
			b.ReportMetric(float64(is)/1e3/blockSize, "µs/full")
			b.ReportMetric(float64(was)/1e3/blockSize, "µs/empty")
			b.ReportMetric(float64(is)/float64(was), "ratio")
		})
	}
}

// openPool opens a table of n entries on a pool, and has each so many'th give
// its address back.
func openPool(b *testing.B, pool allocator.Range, n, each int) *allocator.Allocator {
	b.Helper()
	cfg := allocator.Config{Layout: allocator.Layout{Pools: []allocator.Range{pool}}, MaxRelease: anyRelease}
	a, err := allocator.Open(context.Background(), memstore.New(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { a.Close() })
	apply(b, a, fleet(n, 10))
	gone := drop("mesh-00000")
	for i, m := range fleet(n, 10).Meshes {
		for j, r := range m.Set {
			if (j*10+i)%each == each-1 {
				gone.Mesh, gone.Drop = m.Mesh, append(gone.Drop[:0:0], r.Entry.Key())
				apply(b, a, part(gone))
			}
		}
	}
	if left := a.Stats().Entries; left != n-n/each {
		b.Fatalf("%d of %d entries are left", left, n)
	}
	return a
}
