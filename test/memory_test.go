package test

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/publish"
	"github.com/miekg/dns"
)

// giveUp is when a client thinks that the server was killed with its question.
const giveUp = 100 * time.Millisecond

// memory is what clients were ever told: for as long as no cooldown is over, a
// name has one address and an address one name, whatever happens in between.
type memory struct {
	t testing.TB

	mu      sync.Mutex
	addrs   answers               // by name, in the dotted spelling
	names   map[netip.Addr]string // the other way
	serial  uint32                // the greatest that was seen
	heard   int                   // answers with an address or a name
	negated int                   // answers without

	news chan struct{} // gets something when a name is told of for the first time
}

func newMemory(t testing.TB) *memory {
	return &memory{t: t, addrs: make(answers), names: make(map[netip.Addr]string), news: make(chan struct{}, 1)}
}

// told notes that somebody said of a name that it has addr.
func (m *memory) told(name string, addr netip.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard++
	name = dotted(name)
	was, ok := m.addrs[name]
	switch {
	case !ok:
		select {
		case m.news <- struct{}{}:
		default:
		}
	case was != addr:
		m.t.Errorf("%s has moved from %v to %v", name, was, addr)
	}
	if was, ok := m.names[addr]; ok && was != name {
		m.t.Errorf("%v was given to %s and then to %s", addr, was, name)
	}
	m.addrs[name], m.names[addr] = addr, name
}

// knows reports whether somebody told of an address of the service.
func (m *memory) knows(service string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.addrs[dotted(service)]
	return known
}

// latest returns the greatest serial that was seen.
func (m *memory) latest() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.serial
}

// said notes a serial, of which before was the latest when it was asked for:
// answers may come in another order than they were given.
func (m *memory) said(before, serial uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if serial < before {
		m.t.Errorf("the serial went from %d back to %d", before, serial)
	}
	m.serial = max(m.serial, serial)
}

func (m *memory) denied() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.negated++
}

// heardNews waits until a name is told of for the first time: if that can be
// before it is durable, a kill shows it now.
func (m *memory) heardNews() {
	select {
	case <-m.news: // old ones
	default:
	}
	select {
	case <-m.news:
	case <-time.After(patience):
		m.t.Error("no new name was answered")
	}
}

// sum returns how many names are known, and how many answers there were.
func (m *memory) sum() (names, heard, negated int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.addrs), m.heard, m.negated
}

// dotted returns the name of a service, in the spelling of PTRs.
func dotted(service string) string { return strings.ReplaceAll(service, "_", ".") }

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
	m.told(service, addr)
	rev, _ := dns.ReverseAddr(addr.String())
	if r, err = s.queryWithin(giveUp, rev, dns.TypePTR); err == nil && len(r.Answer) == 1 {
		m.told(strings.TrimSuffix(r.Answer[0].(*dns.PTR).Ptr, ".mesh."), addr)
	}
}

// durable checks that a store which a killed server left has everything that
// was ever told.
func (m *memory) durable(state allocator.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if state.Meta.Serial < m.serial {
		m.t.Errorf("the store has the serial %d, and %d was told", state.Meta.Serial, m.serial)
	}
	owners := make(map[netip.Addr]string, len(state.Addrs))
	for _, h := range state.Addrs {
		owners[h.Addr] = dotted(h.Owner.Name)
	}
	for name, addr := range m.addrs {
		if owners[addr] != name {
			m.t.Errorf("%s was told to have %v, which in the store is %q's", name, addr, owners[addr])
		}
	}
}

// published checks that what the proxies were told agrees.
func (m *memory) published(p *site) {
	dir, err := publish.Open(p.published)
	if err != nil {
		m.t.Error(err)
		return
	}
	tables, bad, err := dir.Read()
	if err != nil || len(bad) > 0 {
		m.t.Errorf("the published tables: %v, %v", err, bad)
	}
	for _, rows := range tables {
		for _, r := range rows {
			if r.V4.IsValid() {
				m.told(r.Entry.Name, r.V4)
			}
		}
	}
}

// restarted checks that a server which has just been started answers the table
// that its predecessor left, and then everything that is listed, each name with
// the address that it always had. Nothing changes meanwhile. Names that never had
// one get one if the pool is roomy.
func (m *memory) restarted(s *server, left allocator.State, listed []string, roomy bool) {
	s.servesOther()
	for _, r := range left.Rows {
		name := r.Entry.Name
		if addr := s.addr4(name + ".mesh"); addr.IsValid() {
			m.told(name, addr)
		} else if len(r.Addrs()) > 0 && slices.Contains(listed, name) {
			m.t.Errorf("%s is in the table and listed, and is not answered after a restart", name)
		}
	}
	for _, name := range listed {
		if roomy || m.knows(name) {
			m.told(name, s.resolves(name+".mesh"))
		}
	}
	for _, name := range m.some() {
		if addr := s.addr4(name + ".mesh"); addr.IsValid() {
			m.told(name, addr)
		}
	}
}
