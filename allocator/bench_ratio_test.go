package allocator_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// BenchmarkRatios adds entries to two tables in turn, block by block, so that
// whatever else the machine does falls on both, and reports how many times as
// long the second takes: by the medians of the blocks.
func BenchmarkRatios(b *testing.B) {
	type size struct{ entries, meshes int }
	for _, cmp := range []struct {
		name string
		of   [2]size
	}{
		{"10-to-10000-meshes", [2]size{{1_000_000, 10}, {1_000_000, 10_000}}},
		{"1k-to-1M-entries", [2]size{{1_000, 10}, {1_000_000, 10}}},
	} {
		for _, kind := range []string{"memory", "bolt"} {
			b.Run(fmt.Sprintf("%s/store=%s", cmp.name, kind), func(b *testing.B) {
				skipLarge(b, 1_000_000)
				var tables [2]*allocator.Allocator
				for i, s := range cmp.of {
					tables[i] = openBench(b, kind, filepath.Join(b.TempDir(), "t.db"))
					defer tables[i].Close()
					apply(b, tables[i], fleet(s.entries, s.meshes))
				}
				runtime.GC()
				var blocks [2][]time.Duration
				n := 0
				for b.Loop() {
					for i, a := range tables {
						begin := time.Now()
						for j := range blockSize {
							apply(b, a, part(set(meshName((n+j)*7919%cmp.of[i].meshes), newName(n+j, cmp.of[i].entries))))
						}
						blocks[i] = append(blocks[i], time.Since(begin))
					}
					n += blockSize
				}
				one, two := median(blocks[0]), median(blocks[1])
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(one)/1e3/blockSize, "µs/first")
				b.ReportMetric(float64(two)/1e3/blockSize, "µs/second")
				b.ReportMetric(float64(two)/float64(one), "ratio")
			})
		}
	}
}

// blockSize is how many entries are added to a table before it is the other's
// turn.
const blockSize = 100

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}
