package names

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

// benchRow returns the i-th row of a table that looks like that of many Kuma
// zones: Kubernetes names, 200 services a namespace.
func benchRow(i int) *vip.Row {
	name := fmt.Sprintf("service-%d_team-%d_svc_8080", i, i/200)
	return &vip.Row{
		Entry:    vip.Entry{Kind: vip.Service, Name: name},
		V4:       netip.AddrFrom4([4]byte{240, byte(i >> 16), byte(i >> 8), byte(i)}),
		Listings: []vip.Listing{{Mesh: fmt.Sprintf("mesh-%d", i%10), Name: name}},
	}
}

func benchRows(n int) []Change {
	changes := make([]Change, n)
	for i := range changes {
		changes[i].New = benchRow(i)
	}
	return changes
}

var sizes = []struct {
	name string
	n    int
}{{"1k", 1_000}, {"10k", 10_000}, {"1M", 1_000_000}}

// filled returns an index of n records, made once for all benchmarks.
var filled = func() func(n int) *Index {
	var mu sync.Mutex
	made := make(map[int]*Index)
	return func(n int) *Index {
		mu.Lock()
		defer mu.Unlock()
		if made[n] == nil {
			x := NewIndex()
			x.SetZones([]string{"mesh."})
			x.View(nil)
			x.Apply(benchRows(n))
			made[n] = x
		}
		return made[n]
	}
}()

func BenchmarkForward(b *testing.B) {
	for _, q := range []struct{ name, format string }{
		{"dotted", "service-%d.team-%d.svc.8080.mesh."},
		{"literal", "service-%d_team-%d_svc_8080.mesh."},
		{"miss", "nobody-%d.team-%d.svc.8080.mesh."},
		{"ancestor", "team-%[2]d.svc.8080.mesh."},
	} {
		for _, size := range sizes[1:] {
			b.Run(q.name+"/"+size.name, func(b *testing.B) {
				v := filled(size.n).View(nil)
				defer v.Close()
				asked := make([]string, 1024)
				for i := range asked {
					k := i * 7919 % size.n
					asked[i] = fmt.Sprintf(q.format, k, k/200)
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					v.Forward(asked[i&1023], "mesh.")
					i++
				}
			})
		}
	}
}

func BenchmarkReverse(b *testing.B) {
	for _, size := range sizes[1:] {
		b.Run(size.name, func(b *testing.B) {
			v := filled(size.n).View(nil)
			defer v.Close()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				k := i & 1023 * 7919 % size.n
				v.Reverse(netip.AddrFrom4([4]byte{240, byte(k >> 16), byte(k >> 8), byte(k)}))
				i++
			}
		})
	}
}

func BenchmarkPTR(b *testing.B) {
	for _, size := range sizes[1:] {
		b.Run(size.name, func(b *testing.B) {
			v := filled(size.n).View(nil)
			defer v.Close()
			zones := []string{"mesh."}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				k := i & 1023 * 7919 % size.n
				addr := netip.AddrFrom4([4]byte{240, byte(k >> 16), byte(k >> 8), byte(k)})
				v.PTR(addr, zones)
				i++
			}
		})
	}
}

// BenchmarkApply adds one record and takes it away again: two changes an
// iteration.
func BenchmarkApply(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			x := filled(size.n)
			rows := make([]*vip.Row, 256)
			for i := range rows {
				rows[i] = benchRow(size.n + i*31)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r := rows[i&255]
				x.Apply([]Change{{New: r}})
				x.Apply([]Change{{Old: r}})
				i++
			}
		})
	}
}

// BenchmarkApplyAmongMeshes adds and takes away one mesh's claim to a hostname and
// to an address that all meshes have: two changes an iteration. The view shows
// that mesh, or another.
func BenchmarkApplyAmongMeshes(b *testing.B) {
	backend := func(mesh string) *vip.Row {
		terms := &vip.Terms{Hostnames: []string{"backend.svc.mesh"}, Given: []netip.Addr{netip.MustParseAddr("241.0.0.1")}}
		return &vip.Row{
			Entry:    vip.Entry{Kind: vip.MeshService, Mesh: mesh, Name: "backend"},
			Listings: []vip.Listing{{Mesh: mesh, Name: "backend", Terms: terms}},
		}
	}
	for _, shown := range []string{"shown", "hidden"} {
		for _, size := range sizes[:2] {
			b.Run(shown+"/"+size.name, func(b *testing.B) {
				x := NewIndex()
				x.SetZones([]string{"mesh."})
				rows := make([]*vip.Row, size.n)
				for i := range rows {
					rows[i] = backend(fmt.Sprintf("m%d", i))
				}
				x.Fill(rows)
				v := x.View([]string{map[string]string{"shown": "z", "hidden": "m1"}[shown]})
				defer v.Close()
				r := backend("z")
				b.ReportAllocs()
				for b.Loop() {
					x.Apply([]Change{{New: r}})
					x.Apply([]Change{{Old: r}})
				}
			})
		}
	}
}

// BenchmarkFill reports what a record costs to load and to hold, beyond its
// row.
func BenchmarkFill(b *testing.B) {
	const n = 1_000_000
	var x *Index
	var bytes uint64
	for b.Loop() {
		b.StopTimer()
		x = nil
		changes := benchRows(n)
		rows := make([]*vip.Row, n)
		for i, c := range changes {
			rows[i] = c.New
		}
		before := heap()
		b.StartTimer()
		x = NewIndex()
		x.SetZones([]string{"mesh."})
		x.View(nil)
		x.Fill(rows)
		b.StopTimer()
		bytes = heap() - before
		runtime.KeepAlive(changes)
		b.StartTimer()
	}
	b.ReportMetric(float64(bytes)/n, "bytes/record")
	runtime.KeepAlive(x)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
