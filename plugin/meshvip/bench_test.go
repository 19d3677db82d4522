package meshvip

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	_ "github.com/coredns/coredns/plugin/hosts" // the peer
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// benchRows returns n services with names as Kubernetes gives them, spread over
// ten meshes.
func benchRows(n int) []*vip.Row {
	rows := make([]*vip.Row, n)
	for i := range rows {
		addr := netip.AddrFrom4([4]byte{240, byte(i >> 16), byte(i >> 8), byte(i)})
		addr6 := netip.AddrFrom16([16]byte{0xfd, 0, 0x6d, 0x76, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)})
		rows[i] = row(fmt.Sprintf("0:service-%d_namespace-%d_svc_8080", i, i%97), addr.String()+" "+addr6.String(), fmt.Sprintf("mesh-%d", i%10))
	}
	return rows
}

// benchName returns the name that a row has in DNS and in the hosts file.
func benchName(v *names.View, r *vip.Row) string {
	return v.PTR(r.V4, []string{"mesh."})
}

// hostsOf returns plugin hosts over a file with the names of the rows. The file
// is read as in a server: by the plugin's own periodic reading.
func hostsOf(b *testing.B, v *names.View, rows []*vip.Row) plugin.Handler {
	b.Helper()
	path := filepath.Join(b.TempDir(), "hosts")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for _, r := range rows {
		name := benchName(v, r)
		fmt.Fprintf(w, "%v %s\n%v %s\n", r.V4, name, r.V6, name)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	c := caddy.NewTestController("dns", "hosts "+path+" mesh {\nreload 200ms\nttl 60\n}")
	setup, err := caddy.DirectiveAction("dns", "hosts")
	if err != nil {
		b.Fatal(err)
	}
	if err := setup(c); err != nil {
		b.Fatal(err)
	}
	h := dnsserver.GetConfig(c).Plugin[0](nil)
	q := new(dns.Msg).SetQuestion(benchName(v, rows[0]), dns.TypeA)
	for deadline := time.Now().Add(time.Minute); ; {
		rec := &discard{}
		if _, _ = h.ServeDNS(context.Background(), rec, q); rec.written > 0 {
			return h
		}
		if time.Now().After(deadline) {
			b.Fatal("plugin hosts has not read its file")
		}
		<-time.After(20 * time.Millisecond)
	}
}

// BenchmarkServeDNS compares our time for a question with that of plugin hosts
// over the same names, in the same process. The two take turns, a batch of
// questions each, so that whatever else the machine does meets both; what is
// reported is the median batch of each, and the ratio of the two.
//
// The questions are of a thousand names spread over all: those that are asked
// often, and are then in the processor's caches for both plugins.
func BenchmarkServeDNS(b *testing.B) {
	for _, size := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("names=%d", size), func(b *testing.B) {
			rows := benchRows(size)
			ours, _, x := fixture{rows: rows, pools: []string{"240.0.0.0/8", "fd00:6d76::/64"}}.handler(b)
			v := x.View(nil)
			defer v.Close()
			peer := hostsOf(b, v, rows)

			const questions = 1000
			byType := map[string][]*dns.Msg{}
			for i := range questions {
				r := rows[i*(size/questions)]
				name := benchName(v, r)
				byType["A"] = append(byType["A"], new(dns.Msg).SetQuestion(name, dns.TypeA))
				byType["AAAA"] = append(byType["AAAA"], new(dns.Msg).SetQuestion(name, dns.TypeAAAA))
				for family, addr := range map[string]netip.Addr{"PTR4": r.V4, "PTR6": r.V6} {
					reverse, err := dns.ReverseAddr(addr.String())
					if err != nil {
						b.Fatal(err)
					}
					byType[family] = append(byType[family], new(dns.Msg).SetQuestion(reverse, dns.TypePTR))
				}
			}
			for _, qtype := range []string{"A", "AAAA", "PTR4", "PTR6"} {
				b.Run(qtype, func(b *testing.B) { compareWithPeer(b, ours, peer, byType[qtype]) })
			}
		})
	}
}

// compareWithPeer asks both plugins all questions in turn.
func compareWithPeer(b *testing.B, ours, peer plugin.Handler, qs []*dns.Msg) {
	w := &discard{}
	batch := func(h plugin.Handler) time.Duration {
		ctx := context.WithValue(context.Background(), dnsserver.Key{}, &dnsserver.Server{Addr: "dns://:53"})
		ctx = context.WithValue(ctx, dnsserver.LoopKey{}, 0)
		w.written = 0
		start := time.Now()
		for _, q := range qs {
			_, _ = h.ServeDNS(ctx, w, q)
		}
		took := time.Since(start)
		if w.written != len(qs) {
			b.Fatalf("%s answered %d of %d questions", h.Name(), w.written, len(qs))
		}
		return took
	}
	// What was loaded is collected, and one collection more has passed: from
	// then on replies come to lie in memory that has been used before, as in a
	// server that has run for a while.
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	for settled := m.NumGC + 1; m.NumGC < settled; goruntime.ReadMemStats(&m) {
		for range 100 {
			batch(ours)
			batch(peer)
		}
	}
	var us, them []time.Duration
	for b.Loop() {
		us = append(us, batch(ours))
		them = append(them, batch(peer))
	}
	perQuestion := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Nanoseconds()) / float64(len(qs))
	}
	b.ReportMetric(0, "ns/op") // of both together: of no interest
	b.ReportMetric(perQuestion(us), "meshvip-ns")
	b.ReportMetric(perQuestion(them), "hosts-ns")
	b.ReportMetric(perQuestion(us)/perQuestion(them), "ratio")
	ctx := context.Background()
	b.ReportMetric(testing.AllocsPerRun(100, func() { _, _ = ours.ServeDNS(ctx, w, qs[0]) }), "meshvip-allocs")
	b.ReportMetric(testing.AllocsPerRun(100, func() { _, _ = peer.ServeDNS(ctx, w, qs[0]) }), "hosts-allocs")
}
