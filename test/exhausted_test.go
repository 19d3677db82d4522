package test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
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

// A range of one address: who has it keeps it, whoever is read first.
func TestTheHolderOfTheOnlyAddressKeepsItWhoeverIsReadFirst(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	write(t, p.resources, "b.yaml", dataplane("default", "zz", "zz"))
	s := p.start("pool 240.7.7.7/32")
	held := answers{"zz.mesh": s.resolves("zz.mesh")}
	write(t, p.resources, "a.yaml", dataplane("default", "aa", "aa")) // before b.yaml, and the smaller key
	s.logLine("the pools are exhausted", "waiting=1", "first=0:aa")
	for range 3 {
		s.kill()
		s = p.start("pool 240.7.7.7/32")
		s.measured("exhausted_entries", 1)
		s.unmoved(held)
		s.named(held)
		if rcode := s.rcode("aa.mesh"); rcode != "NXDOMAIN" {
			t.Errorf("aa, for which there is no address: %s, want NXDOMAIN", rcode)
		}
	}
}

// Nothing happens to the files while the entry waits.
func TestAnEntryThatWaitsIsServedWhenAnAddressFallsFree(t *testing.T) {
	t.Parallel()
	const cooldown = 3 * time.Second
	p := newSite(t)
	write(t, p.resources, "a.yaml", dataplane("default", "a", "aa", "bb"))
	lines := quick(cooldown, "pool 240.7.7.8/30") // without network and broadcast, two addresses
	s := p.start(lines...)
	before := s.resolveAll("aa.mesh", "bb.mesh")
	write(t, p.resources, "c.yaml", dataplane("default", "c", "cc", "dd"))
	s.logLine("[ERROR]", "the pools are exhausted", "waiting=2", "first=0:cc")
	s.measured("exhausted_entries", 2)

	last := time.Now()
	write(t, p.resources, "a.yaml", dataplane("default", "a", "bb"))
	s.goes("aa.mesh")
	addr := s.resolves("cc.mesh") // the smaller key
	if passed := time.Since(last); passed < cooldown {
		t.Errorf("cc has an address %v after aa had it, the cooldown is %v", passed, cooldown)
	}
	if addr != before["aa.mesh"] {
		t.Errorf("cc is at %v, want %v that aa had", addr, before["aa.mesh"])
	}
	s.measured("exhausted_entries", 1)
	s.named(answers{"cc.mesh": addr, "bb.mesh": before["bb.mesh"]})

	// It is waited for over a kill too.
	write(t, p.resources, "a.yaml", "# none\n")
	s.goes("bb.mesh")
	s.kill()
	s = p.start(lines...)
	if got := s.resolves("dd.mesh"); got != before["bb.mesh"] {
		t.Errorf("dd is at %v, want %v that bb had", got, before["bb.mesh"])
	}
	s.unmoved(answers{"cc.mesh": addr})
	s.measured("exhausted_entries", 0)
}

func TestAFamilyThatIsExhaustedLeavesTheOtherServed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, pools string
		v4, v6      int // how many of three have an address
	}{
		{"IPv4", "240.7.7.8/30 fd00:7::/64", 2, 3},
		{"IPv6", "240.7.7.0/24 fd00:7::8/127", 3, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newSite(t)
			p.zones = "mesh 240.0.0.0/8 fd00:7::/64"
			var services []string
			for i := range tc.v4 + tc.v6 - 2 {
				services = append(services, fmt.Sprint("svc-", i))
			}
			write(t, p.resources, "a.yaml", dataplane("default", "a", services...))
			check := func(s *server) {
				s.measured("exhausted_entries", 1)
				s.logLine("the pools are exhausted")
				v4, v6 := make(answers), make(answers)
				for _, name := range services {
					name += ".mesh"
					s.wait(name+" to be there", func() bool { return s.rcode(name) == "NOERROR" })
					if a := s.addr4(name); a.IsValid() {
						v4[name] = a
					}
					if a := s.addr6(name); a.IsValid() {
						v6[name] = a
					}
				}
				if len(v4) != tc.v4 || len(v6) != tc.v6 {
					t.Errorf("A: %v, AAAA: %v; want %d and %d", v4, v6, tc.v4, tc.v6)
				}
				s.named(v4)
				s.named(v6)
			}
			s := p.start("pool " + tc.pools)
			check(s)
			s.kill()
			check(p.start("pool " + tc.pools))
		})
	}
}
