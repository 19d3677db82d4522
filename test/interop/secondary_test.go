package interop

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// flock is the secondaries of one server.
type flock struct {
	t       testing.TB
	members []*daemon
}

// follow waits until each secondary has a name as the primary p has it: the
// addresses, and the names of these.
func (f *flock) follow(p *daemon, name string) {
	f.t.Helper()
	v4, v6 := p.address(name, dns.TypeA), p.address(name, dns.TypeAAAA)
	for _, m := range f.members {
		m.wait(soon, m.name+" to have "+name, func() bool {
			return m.address(name, dns.TypeA) == v4 && m.address(name, dns.TypeAAAA) == v6
		})
		for _, addr := range []netip.Addr{v4, v6} {
			m.wait(soon, m.name+" to have the name of "+addr.String(), func() bool { return m.ptr(addr) == p.ptr(addr) })
		}
	}
}

// lose waits until no secondary has a name, nor names for addrs.
func (f *flock) lose(name string, addrs ...netip.Addr) {
	f.t.Helper()
	for _, m := range f.members {
		m.wait(soon, m.name+" to lose "+name, func() bool { return m.ask(name, dns.TypeA).Rcode == dns.RcodeNameError })
		for _, addr := range addrs {
			m.wait(soon, m.name+" to lose "+addr.String(), func() bool {
				return m.ask(reverse(addr), dns.TypePTR).Rcode == dns.RcodeNameError
			})
		}
	}
}

// same waits until each secondary has the very zones of p.
func (f *flock) same(p *daemon) {
	f.t.Helper()
	for _, zone := range zones {
		want := compiled(f.t, zone, transferred(f.t, p, zone))
		for _, m := range f.members {
			m.wait(soon, m.name+" to have the serial of "+zone, func() bool { return m.serial(zone) == p.serial(zone) })
			if got := compiled(f.t, zone, transferred(f.t, m, zone)); got != want {
				f.t.Errorf("%s has %s as\n%s\nwant\n%s", m.name, zone, got, want)
			}
		}
	}
}

func TestSecondariesFollowByNotify(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ports := make([]string, len(secondaries))
	for i := range ports {
		ports[i] = freePort(t)
	}
	s.plugins = "transfer {\n\t\tto 127.0.0.1:" + strings.Join(ports, " 127.0.0.1:") + "\n\t}"
	d := s.start()
	f := &flock{t: t}
	for i, secondary := range secondaries {
		m := secondary.start(t, ports[i], s.port)
		m.name = secondary.name
		for _, zone := range zones {
			m.serves(zone)
		}
		m.sameAs(d)
		f.members = append(f.members, m)
	}
	f.same(d)
	told(t, "BIND, Knot, NSD and CoreDNS have %d zones as we have them", len(zones))

	s.list("newcomer")
	d.resolves("newcomer.mesh.", dns.TypeA)
	f.follow(d, "newcomer.mesh.")
	told(t, "a service that is new is with them, forward and reverse, by NOTIFY")

	v4, v6 := d.address("newcomer.mesh.", dns.TypeA), d.address("newcomer.mesh.", dns.TypeAAAA)
	s.unlist("newcomer")
	d.wait(patience, "newcomer.mesh to go", func() bool { return d.ask("newcomer.mesh.", dns.TypeA).Rcode == dns.RcodeNameError })
	f.lose("newcomer.mesh.", v4, v6)
	told(t, "one that is gone is gone with them")

	serials := make(map[string]uint32)
	for _, zone := range zones {
		serials[zone] = d.serial(zone)
	}
	d.kill()
	for _, m := range f.members {
		if !m.address("backend.mesh.", dns.TypeA).IsValid() {
			t.Errorf("%s has no backend.mesh while we are down", m.name)
		}
	}
	d = s.start()
	for _, zone := range zones {
		if serial := d.serial(zone); serial < serials[zone] {
			t.Errorf("the serial of %s is %d after kill -9, and was %d", zone, serial, serials[zone])
		}
	}
	s.list("latecomer")
	d.resolves("latecomer.mesh.", dns.TypeA)
	f.follow(d, "latecomer.mesh.")
	for _, m := range f.members {
		m.sameAs(d)
	}
	f.same(d)
	told(t, "they answer while we are down, serials do not fall over kill -9, and they follow us after it")
}
