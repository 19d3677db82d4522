package test

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestAnExhaustedPoolServesThoseThatFit(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	var services, names []string
	for i := range 9 {
		services = append(services, fmt.Sprintf("svc-%d", i))
		names = append(names, fmt.Sprintf("svc-%d.mesh", i))
	}
	write(t, p.resources, "a.yaml", dataplane("default", "a", services...))
	pool := netip.MustParsePrefix("240.7.7.8/29") // eight addresses, without network and broadcast six
	s := p.start("pool " + pool.String())
	got := s.resolveAll(names[:6]...)
	for name, addr := range got {
		if !pool.Contains(addr) || addr == pool.Addr() || addr == netip.MustParseAddr("240.7.7.15") {
			t.Errorf("%s has %v", name, addr)
		}
		if ptr := s.ptr(addr); ptr != name+"." {
			t.Errorf("the name of %v is %q, want that of %s", addr, ptr, name)
		}
	}
	waiting := names[6:]
	s.logLine("[ERROR]", "the pools are exhausted", "add a pool, or release entries", "waiting=3", "first=0:svc-6")
	s.measured("exhausted_entries", 3)
	for _, n := range waiting {
		// A name without an address is not claimed: it does not exist.
		if rcode := s.rcode(n); rcode != "NXDOMAIN" {
			t.Errorf("%s, for which there is no address: %s, want NXDOMAIN", n, rcode)
		}
	}
	// What is released is kept for its owner, whoever waits.
	write(t, p.resources, "a.yaml", dataplane("default", "a", services[1:]...))
	s.goes("svc-0.mesh")
	write(t, p.resources, "b.yaml", dataplane("default", "b", "marker"))
	s.measured("exhausted_entries", 4)
	s.unmoved(got.without("svc-0.mesh"))
	write(t, p.resources, "b.yaml", dataplane("default", "b", "svc-0"))
	if addr := s.resolves("svc-0.mesh"); addr != got["svc-0.mesh"] {
		t.Errorf("svc-0 came back and has %v, want %v", addr, got["svc-0.mesh"])
	}

	// A restart changes nothing, and a second pool is used at once.
	s.kill()
	s = p.start("pool " + pool.String())
	s.measured("exhausted_entries", 3)
	s.unmoved(got)
	p.reload(s, "pool "+pool.String()+" 240.9.0.0/24")
	s.resolveAll(names...)
	s.unmoved(got)
	s.measured("exhausted_entries", 0)
}
