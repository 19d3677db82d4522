package test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// meshService returns a MeshService with its names and the addresses that Kuma
// gave it.
func meshService(mesh, name string, hostnames, vips []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type: MeshService\nmesh: %s\nname: %s\nspec:\n  ports:\n    - port: 6379\nstatus:\n  addresses:\n", mesh, name)
	for _, h := range hostnames {
		fmt.Fprintf(&b, "    - hostname: %s\n", h)
	}
	b.WriteString("  vips:\n")
	for _, v := range vips {
		fmt.Fprintf(&b, "    - ip: %q\n", v)
	}
	return b.String()
}

// addrs returns all addresses of name of both families, sorted.
func (s *server) addrs(name string) []string {
	s.t.Helper()
	var all []string
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		for _, rr := range s.ask(name, qtype).Answer {
			switch rr := rr.(type) {
			case *dns.A:
				all = append(all, rr.A.String())
			case *dns.AAAA:
				all = append(all, rr.AAAA.String())
			}
		}
	}
	slices.Sort(all)
	return all
}

// aroundGiven are properties by which the names of addresses that Kuma gives are
// served too: reverse zones come from the pools.
var aroundGiven = []string{"pool 240.0.0.0/8", drained("241.0.0.0/8")}

func TestGivenAddressesAreAnsweredAndNothingIsAllocated(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	p.zones = "mesh svc.local 240.0.0.0/8 241.0.0.0/8"
	s := p.start(aroundGiven...)
	before := s.resolveAll(exampleNames()...)
	used := s.metric("pool_used_addresses")
	vips := []string{"241.0.0.1", "241.0.0.2", "fd00:9::7"}
	write(t, p.resources, "redis.yaml", meshService("default", "redis", []string{"redis.svc.local"}, vips))
	check := func(s *server) {
		t.Helper()
		s.wait("all addresses of redis", func() bool { return slices.Equal(s.addrs("redis.svc.local"), vips) })
		for _, v := range vips {
			if addr := netip.MustParseAddr(v); addr.Is4() && s.ptr(addr) != "redis.svc.local." {
				t.Errorf("the name of %s is %q", v, s.ptr(addr))
			}
		}
		s.unmoved(before)
		if n := s.metric("pool_used_addresses"); n != used {
			t.Errorf("%v addresses of the pools are used, want %v", n, used)
		}
	}
	check(s)
	s.kill()
	s = p.start(aroundGiven...)
	check(s)
	// What Kuma says now counts, at once.
	vips = []string{"241.0.0.2", "241.0.0.9"}
	write(t, p.resources, "redis.yaml", meshService("default", "redis", []string{"redis.svc.local"}, vips))
	check(s)
	if ptr := s.ptr(netip.MustParseAddr("241.0.0.1")); ptr != "" {
		t.Errorf("the address that was taken away is %q's", ptr)
	}
	p.remove("redis.yaml")
	s.goes("redis.svc.local")
	if ptr := s.ptr(netip.MustParseAddr("241.0.0.9")); ptr != "" {
		t.Errorf("the address that was taken away is %q's", ptr)
	}
	s.unmoved(before)
}

// Of what is given by others, uniqueness is not ours to keep.
func TestOneGivenAddressOfTwoIsAnsweredForBoth(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	p.zones = "mesh svc.local 241.0.0.0/8"
	write(t, p.resources, "a.yaml", meshService("default", "one", []string{"one.svc.local"}, []string{"241.0.0.1"}))
	write(t, p.resources, "b.yaml", meshService("default", "two", []string{"two.svc.local"}, []string{"241.0.0.1"}))
	s := p.start(aroundGiven...)
	for range 2 {
		for _, name := range []string{"one.svc.local", "two.svc.local"} {
			s.wait(name+" to resolve", func() bool { return slices.Equal(s.addrs(name), []string{"241.0.0.1"}) })
		}
		ptr := s.ptr(netip.MustParseAddr("241.0.0.1"))
		if ptr != "one.svc.local." && ptr != "two.svc.local." {
			t.Errorf("the name of the address of both is %q", ptr)
		}
		s.kill()
		s = p.start(aroundGiven...)
	}
}
