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

// BenchmarkOneEntry adds entries to tables of several sizes and numbers of meshes
// in turn, block by block, so that whatever else the machine does falls on all of
// them, and reports what an entry takes in the median block of each. It holds all
// tables at once: some gigabytes.
func BenchmarkOneEntry(b *testing.B) {
	type table struct {
		name            string
		entries, meshes int
	}
	small, ten := table{"1k-in-10", 1_000, 10}, table{"1M-in-10", 1_000_000, 10}
	most := table{"1M-in-10000", 1_000_000, 10_000}
	for _, of := range []struct {
		store  string
		tables []table
	}{
		{"memory", []table{small, ten, {"1M-in-100", 1_000_000, 100}, {"1M-in-1000", 1_000_000, 1_000}, most}},
		{"bolt", []table{small, ten, most}},
	} {
		b.Run("store="+of.store, func(b *testing.B) {
			skipLarge(b, 1_000_000)
			tables := make([]*allocator.Allocator, len(of.tables))
			for i, t := range of.tables {
				tables[i] = openBench(b, of.store, filepath.Join(b.TempDir(), fmt.Sprint(i, ".db")))
				defer tables[i].Close()
				apply(b, tables[i], fleet(t.entries, t.meshes))
			}
			runtime.GC()
			blocks := make([][]time.Duration, len(tables))
			n := 0
			for b.Loop() {
				for i, t := range of.tables {
					begin := time.Now()
					for j := range blockSize {
						apply(b, tables[i], part(set(meshName((n+j)*7919%t.meshes), newName(n+j, t.entries))))
					}
					blocks[i] = append(blocks[i], time.Since(begin))
				}
				n += blockSize
			}
			b.ReportMetric(0, "ns/op") // of all together: of no interest
			for i, t := range of.tables {
				b.ReportMetric(float64(median(blocks[i]).Nanoseconds())/blockSize, t.name+"-ns")
			}
		})
	}
}

// blockSize is how many entries are added to a table before it is the next one's
// turn.
const blockSize = 100

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}
