package meshvip

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// BenchmarkStart starts a CoreDNS over a bolt store with a table in it, and one
// with plugin hosts over a file with as many names, in turn, each until it can
// answer, and compares the two.
func BenchmarkStart(b *testing.B) {
	if !slices.Contains(dnsserver.Directives, "hosts") {
		dnsserver.Directives = append(dnsserver.Directives, "hosts")
	}
	for _, size := range []struct{ names, meshes int }{{10_000, 10}, {1_000_000, 10_000}} {
		b.Run(fmt.Sprintf("names=%d/meshes=%d", size.names, size.meshes), func(b *testing.B) {
			if size.names > 100_000 && testing.Short() {
				b.Skip("more than 100,000 names take too long for -short")
			}
			dir := b.TempDir()
			name := fillStore(b, filepath.Join(dir, "meshvip.db"), size.names, size.meshes)
			fillHosts(b, filepath.Join(dir, "hosts"), size.names)
			if err := os.Mkdir(filepath.Join(dir, "src"), 0o755); err != nil {
				b.Fatal(err)
			}
			ours := strings.ReplaceAll("mesh.:0 {\n bind 127.0.0.1\n meshvip {\n pool 240.0.0.0/8\n source file DIR/src\n store bolt DIR/meshvip.db\n }\n}", "DIR", dir)
			peer := strings.ReplaceAll("mesh.:0 {\n bind 127.0.0.1\n hosts DIR/hosts {\n reload 0\n }\n}", "DIR", dir)
			// What CoreDNS keeps of one that has stopped goes when another starts.
			before := liveHeap()
			var us, them []started
			for b.Loop() {
				them = append(them, startAndAsk(b, peer, name))
				us = append(us, startAndAsk(b, ours, name))
			}
			b.ReportMetric(0, "ns/op") // of both together: of no interest
			for what, all := range map[string][]started{"meshvip": us, "hosts": them} {
				slices.SortFunc(all, func(a, b started) int { return cmp.Compare(a.took, b.took) })
				b.ReportMetric(all[len(all)/2].took.Seconds(), what+"-s")
				b.ReportMetric(float64(all[len(all)/2].heap-before)/float64(size.names), what+"-B/name")
			}
			b.ReportMetric(us[len(us)/2].took.Seconds()/them[len(them)/2].took.Seconds(), "ratio")
		})
	}
}

// loadName returns the i-th service, and its name in DNS.
func loadName(i int) (service, name string) {
	service = fmt.Sprintf("svc-%07d_ns-%03d_svc_8080", i, i%1000)
	return service, strings.ReplaceAll(service, "_", ".") + ".mesh."
}

// fillStore makes a store of n services in so many meshes, and returns the name
// of the last.
func fillStore(b *testing.B, path string, n, meshes int) (last string) {
	b.Helper()
	store, _, err := boltstore.Open(path, boltstore.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	a, err := allocator.Open(context.Background(), store, allocator.Config{Layout: allocator.Ranges(netip.MustParsePrefix("240.0.0.0/8"))})
	if err != nil {
		b.Fatal(err)
	}
	batch := vip.Batch{Full: true, Meshes: make([]vip.MeshUpdate, meshes)}
	for i := range n {
		service, name := loadName(i)
		m := &batch.Meshes[i%meshes]
		m.Mesh, last = fmt.Sprintf("mesh-%05d", i%meshes), name
		m.Set = append(m.Set, vip.Request{
			Entry:     vip.Entry{Name: service},
			Outbounds: []vip.Outbound{{Tags: []vip.Tag{{Key: vip.ServiceTag, Value: service}}, Origin: vip.OriginService}},
		})
	}
	if _, err := a.Apply(context.Background(), batch); err != nil {
		b.Fatal(err)
	}
	if err := a.Close(); err != nil {
		b.Fatal(err)
	}
	return last
}

// fillHosts writes a hosts file with the same names and addresses.
func fillHosts(b *testing.B, path string, n int) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	addr := netip.MustParseAddr("240.0.0.0")
	for i := range n {
		_, name := loadName(i)
		addr = addr.Next()
		fmt.Fprintf(w, "%v %s\n", addr, name)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// started is what a start took: time, and bytes that are live from then on.
type started struct {
	took time.Duration
	heap int64
}

// liveHeap returns the bytes that are live.
func liveHeap() int64 {
	var m goruntime.MemStats
	for range 2 { // the second frees what finalizers held
		goruntime.GC()
	}
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// startAndAsk starts a CoreDNS, asks for name, and stops it. What plugins load,
// they load before the start returns.
func startAndAsk(b *testing.B, corefile, name string) started {
	b.Helper()
	goruntime.GC()
	begin := time.Now()
	inst, err := caddy.Start(caddy.CaddyfileInput{Filepath: "Corefile", Contents: []byte(corefile), ServerTypeName: "dns"})
	s := started{took: time.Since(begin)}
	if err != nil {
		b.Fatal(err)
	}
	s.heap = liveHeap()
	q, c := new(dns.Msg).SetQuestion(name, dns.TypeA), &dns.Client{Timeout: time.Second}
	var reply *dns.Msg
	for deadline := time.Now().Add(patience); reply == nil; { // it listens, and may not serve yet
		if reply, _, err = c.Exchange(q, inst.Servers()[0].LocalAddr().String()); err != nil && time.Now().After(deadline) {
			b.Fatal(err)
		}
	}
	if len(reply.Answer) != 1 {
		b.Fatalf("asked for %s: %v", name, reply)
	}
	_ = inst.ShutdownCallbacks()
	if err := inst.Stop(); err != nil {
		b.Fatal(err)
	}
	return s
}
