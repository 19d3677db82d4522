package meshvip

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/file"
	_ "github.com/coredns/coredns/plugin/hosts" // a peer
	"github.com/coredns/coredns/plugin/whoami"
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

// fileOf returns plugin file over zones with the names of the rows, and with those
// of their IPv4 addresses.
func fileOf(b *testing.B, v *names.View, rows []*vip.Row) plugin.Handler {
	b.Helper()
	forward := zoneOf(b, "mesh.", func(w io.Writer) {
		for _, r := range rows {
			name := benchName(v, r)
			fmt.Fprintf(w, "%s 60 IN A %v\n%s 60 IN AAAA %v\n", name, r.V4, name, r.V6)
		}
	})
	reverse := zoneOf(b, "240.in-addr.arpa.", func(w io.Writer) {
		for _, r := range rows {
			a := r.V4.As4()
			fmt.Fprintf(w, "%d.%d.%d.240.in-addr.arpa. 60 IN PTR %s\n", a[3], a[2], a[1], benchName(v, r))
		}
	})
	return file.File{Zones: file.Zones{
		Z:     map[string]*file.Zone{"mesh.": forward, "240.in-addr.arpa.": reverse},
		Names: []string{"mesh.", "240.in-addr.arpa."},
	}}
}

// zoneOf returns a zone of plugin file that holds what write writes.
func zoneOf(b *testing.B, origin string, write func(io.Writer)) *file.Zone {
	b.Helper()
	text, w := io.Pipe()
	go func() {
		buffered := bufio.NewWriter(w)
		fmt.Fprintf(buffered, "%s 60 IN SOA ns.dns.mesh. hostmaster.mesh. 7 60 30 86340 5\n%s 60 IN NS ns.dns.mesh.\n", origin, origin)
		write(buffered)
		w.CloseWithError(buffered.Flush())
	}()
	z, err := file.Parse(text, origin, "bench", 0)
	if err != nil {
		b.Fatal(err)
	}
	return z
}

// benchQuestions returns questions of a thousand names that are spread over all, by
// what is asked for.
func benchQuestions(b *testing.B, v *names.View, rows []*vip.Row) map[string][]*dns.Msg {
	b.Helper()
	const questions = 1000
	all := map[string][]*dns.Msg{}
	ask := func(what, name string, qtype uint16) {
		all[what] = append(all[what], new(dns.Msg).SetQuestion(name, qtype))
	}
	for i := range questions {
		r := rows[i*(len(rows)/questions)]
		name := benchName(v, r)
		ask("A", name, dns.TypeA)
		ask("AAAA", name, dns.TypeAAAA)
		ask("NODATA", name, dns.TypeMX)
		ask("NXDOMAIN", "no-"+name, dns.TypeA)
		_, above, _ := strings.Cut(name, ".")
		ask("ancestor", above, dns.TypeA)
		for family, addr := range map[string]netip.Addr{"PTR": r.V4, "PTR6": r.V6} {
			reverse, err := dns.ReverseAddr(addr.String())
			if err != nil {
				b.Fatal(err)
			}
			ask(family, reverse, dns.TypePTR)
		}
	}
	return all
}

// BenchmarkServeDNS compares our time for a question with that of plugin hosts and
// of plugin file over the same names, and of plugin whoami, which looks nothing up,
// in the same process. They take turns, a batch of questions each, so that whatever
// else the machine does meets all; what is reported is the median batch of each.
//
// The questions are of a thousand names spread over all: those that are asked
// often, and are then in the processor's caches for every plugin. Plugin hosts has
// no answer to a name that does not exist, and plugin file has no zone of the IPv6
// addresses here.
func BenchmarkServeDNS(b *testing.B) {
	for _, size := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("names=%d", size), func(b *testing.B) {
			rows := benchRows(size)
			ours, _, x := fixture{rows: rows, pools: []string{"240.0.0.0/8", "fd00:6d76::/64"}}.handler(b)
			v := x.View(nil)
			defer v.Close()
			hosts, zone := hostsOf(b, v, rows), fileOf(b, v, rows)
			questions := benchQuestions(b, v, rows)
			for _, what := range []string{"A", "AAAA", "PTR", "PTR6", "NXDOMAIN", "NODATA", "ancestor"} {
				peers := map[string]plugin.Handler{"hosts": hosts, "file": zone, "whoami": whoami.Whoami{}}
				switch what {
				case "PTR6":
					delete(peers, "file")
				case "NXDOMAIN", "NODATA", "ancestor":
					delete(peers, "hosts")
				}
				b.Run(what, func(b *testing.B) { compareWithPeers(b, ours, peers, questions[what]) })
			}
		})
	}
}

// compareWithPeers asks all plugins all questions in turn.
func compareWithPeers(b *testing.B, ours plugin.Handler, peers map[string]plugin.Handler, qs []*dns.Msg) {
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
	all := maps.Clone(peers)
	all["meshvip"] = ours
	// What was loaded is collected, and one collection more has passed: from
	// then on replies come to lie in memory that has been used before, as in a
	// server that has run for a while. Among a million names of each plugin that
	// collection would be long in coming by itself.
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	percent := debug.SetGCPercent(5)
	for settled := m.NumGC + 1; m.NumGC < settled; goruntime.ReadMemStats(&m) {
		for range 10 {
			for _, h := range all {
				batch(h)
			}
		}
	}
	debug.SetGCPercent(percent)
	took := make(map[string][]time.Duration)
	for b.Loop() {
		for name, h := range all {
			took[name] = append(took[name], batch(h))
		}
	}
	perQuestion := func(name string) float64 {
		d := took[name]
		slices.Sort(d)
		return float64(d[len(d)/2].Nanoseconds()) / float64(len(qs))
	}
	b.ReportMetric(0, "ns/op") // of all together: of no interest
	ctx := context.Background()
	for name, h := range all {
		b.ReportMetric(perQuestion(name), name+"-ns")
		b.ReportMetric(testing.AllocsPerRun(100, func() { _, _ = h.ServeDNS(ctx, w, qs[0]) }), name+"-allocs")
	}
}
