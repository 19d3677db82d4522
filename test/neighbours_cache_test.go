package test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"testing"

	"github.com/miekg/dns"
)

// cached returns a Corefile with a block that has plugin cache, and one on
// another port that has not, over one table. properties are of the first.
func (p *site) cached(other, properties string) string {
	return fmt.Sprintf(`mesh:%[1]s other.test:%[1]s 240.0.0.0/8:%[1]s {
	bind 127.0.0.1
	errors
	prometheus %[2]s
	cache
	meshvip mesh 240.0.0.0/8 {
		pool 240.0.0.0/8
		source file %[3]s
		store bolt %[4]s
		%[6]s
	}
	hosts {
		192.0.2.1 www.other.test
	}
}
mesh:%[5]s 240.0.0.0/8:%[5]s {
	bind 127.0.0.1
	meshvip
}
`, p.port, p.metrics, p.resources, p.store, other, properties)
}

var cacheHit = regexp.MustCompile(`(?m)^coredns_cache_hits_total\{.*\} (\d+)$`)

// cacheHits returns how many answers plugin cache gave.
func (s *server) cacheHits() (n int) {
	s.t.Helper()
	page, err := fetch("http://" + s.metrics + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range cacheHit.FindAllStringSubmatch(page, -1) {
		hits, err := strconv.Atoi(m[1])
		if err != nil {
			s.t.Fatal(err)
		}
		n += hits
	}
	return n
}

// What is new is answered at once, and so is what is gone, there and back: the
// block without a cache says when it is.
func TestACacheHidesNoChange(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	write(t, p.resources, "backend.yaml", dataplane("default", "backend", "backend"))
	port := freePort(t)
	s := launch(t, p.dir, p.cached(port, ""), "127.0.0.1:"+p.port)
	s.metrics = p.metrics
	without := s.at(port)
	first := without.resolves("backend.mesh")
	soon := first.Next() // the address that is given next
	for range 3 {
		if got := s.rcode("soon.mesh"); got != "NXDOMAIN" {
			t.Fatalf("soon.mesh: %s", got)
		}
		if got := s.ptr(soon); got != "" {
			t.Fatalf("%v is %s", soon, got)
		}
		if got := s.addr4("backend.mesh"); got != first {
			t.Fatalf("backend.mesh is at %v", got)
		}
	}
	if n := s.cacheHits(); n != 0 {
		t.Errorf("the cache gave %d answers of ours", n)
	}
	write(t, p.resources, "soon.yaml", dataplane("default", "soon", "soon"))
	if addr := without.resolves("soon.mesh"); addr != soon {
		t.Fatalf("soon.mesh is at %v, want %v", addr, soon)
	}
	if got := s.addr4("soon.mesh"); got != soon {
		t.Errorf("behind the cache, soon.mesh is at %v", got)
	}
	if got := s.ptr(soon); got != "soon.mesh." {
		t.Errorf("behind the cache, %v is %q", soon, got)
	}
	p.remove("soon.yaml")
	without.goes("soon.mesh")
	if got := s.rcode("soon.mesh"); got != "NXDOMAIN" {
		t.Errorf("behind the cache, soon.mesh is gone: %s", got)
	}
	if got := s.ptr(soon); got != "" {
		t.Errorf("behind the cache, %v is gone: %q", soon, got)
	}
	// It does its work for others.
	for range 2 {
		s.ask("www.other.test", dns.TypeA)
	}
	if n := s.cacheHits(); n != 1 {
		t.Errorf("of two questions for another zone, the cache answered %d", n)
	}
}

// The answers of other plugins are worth keeping, and the cache bypasses whole
// zones only.
func TestACacheKeepsWhatFallsThrough(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	write(t, p.resources, "backend.yaml", dataplane("default", "backend", "backend"))
	port := freePort(t)
	s := launch(t, p.dir, p.cached(port, "fallthrough 240.in-addr.arpa"), "127.0.0.1:"+p.port)
	s.metrics = p.metrics
	s.at(port).resolves("backend.mesh")
	for range 2 {
		s.addr4("backend.mesh")
	}
	if n := s.cacheHits(); n != 0 {
		t.Errorf("the cache gave %d answers of the zone that does not fall through", n)
	}
	addr := netip.MustParseAddr("240.0.0.1")
	for range 2 {
		if got := s.ptr(addr); got != "backend.mesh." {
			t.Errorf("%v is %q", addr, got)
		}
	}
	if n := s.cacheHits(); n != 1 {
		t.Errorf("of two questions in a zone that falls through, the cache answered %d", n)
	}
}
