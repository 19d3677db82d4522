package test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/miekg/dns"
)

// BenchmarkChange tells how long after a change it is answered by the real server,
// in the median and at the 99th percentile: the file that declares a service is
// written, and its name is asked for over UDP, again as soon as the answer is
// there, until it has an address. Run it with -benchtime=200x.
func BenchmarkChange(b *testing.B) {
	b.Run("file", func(b *testing.B) {
		p := exampleSite(b)
		benchmarkChanges(b, p.resources, p.start())
	})
	// The file is written at the replica that leads. Another is asked, which has a
	// source of its own, and so the address from etcd alone.
	b.Run("follower", func(b *testing.B) {
		etcd := etcdtest.Start(b)
		replica := func() (*site, *server) {
			p := exampleSite(b)
			p.store = "" // the table is in etcd
			return p, p.start("store etcd " + etcd.Endpoint())
		}
		p, leads := replica()
		leader([]*server{leads})
		_, follows := replica()
		benchmarkChanges(b, p.resources, follows)
		if now, _ := leader([]*server{leads, follows}); now != leads {
			b.Error("the replica whose source was written no longer leads")
		}
	})
}

// benchmarkChanges has a service declared below resources in each iteration, and
// reports after what time a server answers for it, once it has the examples.
func benchmarkChanges(b *testing.B, resources string, s *server) {
	s.resolveAll(exampleNames()...)
	conn, err := new(dns.Client).Dial(s.addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	var took []time.Duration
	for b.Loop() {
		service := fmt.Sprintf("bench-%d_ns_svc_80", len(took))
		begin := time.Now()
		write(b, resources, fmt.Sprintf("bench/%d.yaml", len(took)), dataplane("default", fmt.Sprint("bench-", len(took)), service))
		for !answered(conn, service+".mesh.") {
			if time.Since(begin) > patience {
				b.Fatalf("%s has no address", service)
			}
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	at := func(q float64) float64 { return took[int(q*float64(len(took)-1))].Seconds() * 1e3 }
	b.ReportMetric(0, "ns/op") // the mean: of no interest
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
}

// answered asks once, and reports whether the name has an address. What is lost
// is asked for again.
func answered(conn *dns.Conn, name string) bool {
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	q := new(dns.Msg).SetQuestion(name, dns.TypeA)
	if conn.WriteMsg(q) != nil {
		return false
	}
	for {
		r, err := conn.ReadMsg()
		if err != nil {
			return false
		}
		if r.Id == q.Id { // not one that was given up on
			return len(r.Answer) == 1
		}
	}
}
