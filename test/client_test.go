package test

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/miekg/dns"
)

// giveUp is when a client thinks that the server was killed with its question.
const giveUp = 100 * time.Millisecond

// ask asks all kinds of questions without end until ctx is done, of a server
// that may not be there: mostly for the services that came into use just now.
func (m *memory) ask(ctx context.Context, s *server, c *churn, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		services, fixed := *c.newest.Load(), false
		switch n % 8 {
		case 0:
			before := m.latest()
			if r, err := s.queryWithin(giveUp, "mesh", dns.TypeSOA); err == nil && len(r.Answer) == 1 {
				m.said(before, r.Answer[0].(*dns.SOA).Serial)
			}
			continue
		case 1:
			services, fixed = fixedServices, true
		case 2:
			services = m.some()
		}
		service := services[rnd.IntN(len(services))]
		if n%2 == 0 {
			service = dotted(service)
		}
		m.askBoth(s, service, fixed)
	}
}

// some returns some of the names that are known.
func (m *memory) some() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := slices.Clone(fixedServices)
	for name := range m.addrs { // in random order
		if names = append(names, name); len(names) == 20 {
			break
		}
	}
	return names
}

// askBoth asks for the address of a service and for the name of that address.
// fixed says that there always is one, once it was told.
func (m *memory) askBoth(s *server, service string, fixed bool) {
	known := m.knows(service)
	from := m.clock.now()
	r, err := s.queryWithin(giveUp, service+".mesh", dns.TypeA)
	if err != nil {
		return // killed, or not there yet
	}
	if len(r.Answer) == 0 {
		m.denied()
		if fixed && known {
			m.t.Errorf("%s, listed throughout, was answered with %s", service, dns.RcodeToString[r.Rcode])
		}
		return
	}
	addr, _ := netip.AddrFromSlice(r.Answer[0].(*dns.A).A.To4())
	m.told(service, addr, from)
	rev, _ := dns.ReverseAddr(addr.String())
	from = m.clock.now()
	if r, err = s.queryWithin(giveUp, rev, dns.TypePTR); err == nil && len(r.Answer) == 1 {
		m.told(strings.TrimSuffix(r.Answer[0].(*dns.PTR).Ptr, ".mesh."), addr, from)
	}
}

// address asks for the address of a service, notes and returns it.
func (m *memory) address(s *server, service string) netip.Addr {
	from := m.clock.now()
	addr := s.addr4(service + ".mesh")
	if addr.IsValid() {
		m.told(service, addr, from)
	}
	return addr
}

// resolves waits until a service has an address, and notes it.
func (m *memory) resolves(s *server, service string) {
	s.wait(service+" to resolve", func() bool { return m.address(s, service).IsValid() })
}

// restarted checks that a server which has just been started answers the table
// that its predecessor left, as far as it is listed still. Nothing changes
// meanwhile.
func (m *memory) restarted(s *server, left allocator.State, listed []string) {
	s.servesOther()
	for _, r := range left.Rows {
		name := r.Entry.Name
		if addr := m.address(s, name); r.V4.IsValid() && addr != r.V4 && slices.Contains(listed, name) {
			m.t.Errorf("%s is listed and in the table at %v, and at %v after a restart", name, r.V4, addr)
		}
	}
	for _, name := range m.some() {
		m.address(s, name)
	}
}
