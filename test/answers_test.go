package test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// answers is an address by name, as a client got them.
type answers map[string]netip.Addr

// resolveAll waits until each of names has an address, and checks that no two
// have the same.
func (s *server) resolveAll(names ...string) answers {
	s.t.Helper()
	got := make(answers, len(names))
	owner := make(map[netip.Addr]string, len(names))
	for _, n := range names {
		addr := s.resolves(n)
		if other, taken := owner[addr]; taken {
			s.t.Errorf("%s and %s have one address, %v", n, other, addr)
		}
		got[n], owner[addr] = addr, n
	}
	return got
}

// unmoved checks that every name still has its address.
func (s *server) unmoved(before answers) {
	s.t.Helper()
	for _, n := range slices.Sorted(maps.Keys(before)) {
		if addr := s.addr4(n); addr != before[n] {
			s.t.Errorf("%s has moved from %v to %v", n, before[n], addr)
		}
	}
}

// without returns a copy of a that lacks names.
func (a answers) without(names ...string) answers {
	a = maps.Clone(a)
	for _, n := range names {
		delete(a, n)
	}
	return a
}

// rcode returns how a question for the A records of name ends.
func (s *server) rcode(name string) string {
	s.t.Helper()
	return dns.RcodeToString[s.ask(name, dns.TypeA).Rcode]
}

// goes waits until name does not exist any more.
func (s *server) goes(name string) {
	s.t.Helper()
	s.wait(name+" to go", func() bool { return s.rcode(name) == "NXDOMAIN" })
}

// servesOther waits until the zone that is not meshvip's is answered.
func (s *server) servesOther() {
	s.t.Helper()
	s.wait("an answer in the zone other.test", func() bool {
		r, err := s.query("www.other.test", dns.TypeA)
		return err == nil && r.Rcode == dns.RcodeSuccess && len(r.Answer) == 1
	})
}

var httpClient = &http.Client{Timeout: 5 * time.Second}

// isReady reports whether plugin ready says OK.
func (s *server) isReady() bool {
	r, err := httpClient.Get("http://" + s.ready + "/ready")
	if err != nil {
		return false
	}
	defer r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// metric returns a metric of meshvip, summed up over its labels.
func (s *server) metric(name string) float64 {
	s.t.Helper()
	return s.metricOf(name, "")
}

// metricOf returns a metric of meshvip, summed up over the labels that contain
// some text.
func (s *server) metricOf(name, label string) float64 {
	s.t.Helper()
	var r *http.Response
	s.wait("metrics", func() bool {
		var err error
		r, err = httpClient.Get("http://" + s.metrics + "/metrics")
		return err == nil
	})
	defer r.Body.Close()
	sum := 0.0
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), "coredns_meshvip_"+name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' || !strings.Contains(rest, label) {
			continue
		}
		v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			s.t.Fatalf("metric %s: %v", name, err)
		}
		sum += v
	}
	return sum
}

// measured waits until a metric has a value.
func (s *server) measured(name string, want float64) {
	s.t.Helper()
	s.wait(fmt.Sprintf("metric %s to be %v", name, want), func() bool { return s.metric(name) == want })
}

// logLine waits for a line of the log that has all of texts, and returns it.
func (s *server) logLine(texts ...string) (line string) {
	s.t.Helper()
	s.wait(fmt.Sprintf("a line with %q in the log", texts), func() bool {
		for l := range strings.Lines(s.log.String()) {
			if !slices.ContainsFunc(texts, func(t string) bool { return !strings.Contains(l, t) }) {
				line = l
				return true
			}
		}
		return false
	})
	return line
}

// watch asks for name again and again, and fails the test when the answer is
// anything but addr. It goes on until ended is called, which returns how many
// answers there were.
func (s *server) watch(name string, addr netip.Addr) (ended func() int) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan int)
	go func() {
		n := 0
		defer func() { done <- n }()
		for ctx.Err() == nil {
			r, err := s.query(name, dns.TypeA)
			if err != nil {
				continue // UDP loses packets
			}
			n++
			if len(r.Answer) != 1 || r.Answer[0].(*dns.A).A.String() != addr.String() {
				s.t.Errorf("%s was answered with\n%v\nwant %v", name, r, addr)
				return
			}
		}
	}()
	return func() int { stop(); return <-done }
}
