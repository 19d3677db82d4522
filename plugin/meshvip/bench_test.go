package meshvip

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	_ "github.com/coredns/coredns/plugin/hosts" // the peer
	"github.com/coredns/coredns/plugin/test"
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
		rows[i] = row(fmt.Sprintf("0:service-%d_namespace-%d_svc_8080", i, i%97), addr.String(), fmt.Sprintf("mesh-%d", i%10))
	}
	return rows
}

// benchName returns the name that a row has in DNS and in the hosts file.
func benchName(v *names.View, r *vip.Row) string {
	return v.PTR(v.Reverse(r.V4), []string{"mesh."})
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
		fmt.Fprintf(w, "%v %s\n", r.V4, benchName(v, r))
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
// over the same names, in the same process: /meshvip beside /hosts.
func BenchmarkServeDNS(b *testing.B) {
	for _, size := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("names=%d", size), func(b *testing.B) {
			rows := benchRows(size)
			ours, _, x := setup{rows: rows, pools: []string{"240.0.0.0/8"}}.handler(b)
			v := x.View(nil)
			defer v.Close()
			peer := hostsOf(b, v, rows)

			const questions = 1 << 14
			byType := map[string][]*dns.Msg{}
			for i := range questions {
				r := rows[(i*7919)%len(rows)]
				byType["A"] = append(byType["A"], new(dns.Msg).SetQuestion(benchName(v, r), dns.TypeA))
				reverse, err := dns.ReverseAddr(r.V4.String())
				if err != nil {
					b.Fatal(err)
				}
				byType["PTR"] = append(byType["PTR"], new(dns.Msg).SetQuestion(reverse, dns.TypePTR))
			}
			for _, qtype := range []string{"A", "PTR"} {
				for _, who := range []struct {
					name string
					h    plugin.Handler
				}{{"meshvip", ours}, {"hosts", peer}} {
					b.Run(qtype+"/"+who.name, func(b *testing.B) { benchmarkQuestions(b, who.h, byType[qtype]) })
				}
			}
		})
	}
}

// benchmarkQuestions asks one question after another, each as a server of
// CoreDNS would.
func benchmarkQuestions(b *testing.B, h plugin.Handler, qs []*dns.Msg) {
	ctx := context.WithValue(context.Background(), dnsserver.Key{}, &dnsserver.Server{Addr: "dns://:53"})
	ctx = context.WithValue(ctx, dnsserver.LoopKey{}, 0)
	w := &discard{ResponseWriter: test.ResponseWriter{}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, _ = h.ServeDNS(ctx, w, qs[i%len(qs)])
	}
	if w.written == 0 {
		b.Fatal("nothing was answered")
	}
}
