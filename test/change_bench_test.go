package test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// BenchmarkChange tells how long after a change it is answered by the real server,
// in the median and at the 99th percentile: the file that declares a service is
// written, and its name is asked for over UDP, again as soon as the answer is
// there, until it has an address. Run it with -benchtime=200x.
func BenchmarkChange(b *testing.B) {
	b.Run("file", func(b *testing.B) {
		p := exampleSite(b)
		s := p.start()
		s.resolveAll(exampleNames()...)
		benchmarkChanges(b, s.addr, func(i int, service string) {
			write(b, p.resources, fmt.Sprintf("bench/%d.yaml", i), dataplane("default", fmt.Sprint("bench-", i), service))
		})
	})
}

// benchmarkChanges has a service declared in each iteration, and reports after what
// time the server at addr answers for it.
func benchmarkChanges(b *testing.B, addr string, declare func(i int, service string)) {
	conn, err := new(dns.Client).Dial(addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	var took []time.Duration
	for b.Loop() {
		service := fmt.Sprintf("bench-%d_ns_svc_80", len(took))
		begin := time.Now()
		declare(len(took), service)
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
