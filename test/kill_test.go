package test

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/publish"
	"github.com/miekg/dns"
)

// kills is how often the server is killed: MESHVIP_KILLS, or else 100, or 20
// in short mode.
func kills(t testing.TB) int {
	if v := os.Getenv("MESHVIP_KILLS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			t.Fatalf("MESHVIP_KILLS=%s is not a number of kills", v)
		}
		return n
	}
	if testing.Short() {
		return 20
	}
	return 100
}

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
}

func newMemory(t testing.TB) *memory {
	return &memory{t: t, addrs: make(answers), names: make(map[netip.Addr]string)}
}

// told notes that somebody said of a name that it has addr.
func (m *memory) told(name string, addr netip.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard++
	name = dotted(name)
	if was, ok := m.addrs[name]; ok && was != addr {
		m.t.Errorf("%s has moved from %v to %v", name, was, addr)
	}
	if was, ok := m.names[addr]; ok && was != name {
		m.t.Errorf("%v was given to %s and then to %s", addr, was, name)
	}
	m.addrs[name], m.names[addr] = addr, name
}

func (m *memory) said(serial uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if serial < m.serial {
		m.t.Errorf("the serial went from %d back to %d", m.serial, serial)
	}
	m.serial = serial
}

func (m *memory) denied() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.negated++
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
// that may not be there.
func (m *memory) ask(ctx context.Context, s *server, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n%16 == 0 {
			if r, err := s.query("mesh", dns.TypeSOA); err == nil && len(r.Answer) == 1 {
				m.said(r.Answer[0].(*dns.SOA).Serial)
			}
			continue
		}
		service := churnService(rnd.IntN(churnNames))
		if n%5 == 0 {
			service = fixedServices[rnd.IntN(len(fixedServices))]
		}
		if n%2 == 0 {
			service = dotted(service)
		}
		m.askBoth(s, service, n%5 == 0)
	}
}

// askBoth asks for the address of a service and for the name of that address.
// fixed says that there always is one, once it was told.
func (m *memory) askBoth(s *server, service string, fixed bool) {
	r, err := s.query(service+".mesh", dns.TypeA)
	if err != nil {
		return // killed, or not there yet
	}
	if len(r.Answer) == 0 {
		m.denied()
		m.mu.Lock()
		_, known := m.addrs[dotted(service)]
		m.mu.Unlock()
		if fixed && known {
			m.t.Errorf("%s, listed throughout, was answered with %s", service, dns.RcodeToString[r.Rcode])
		}
		return
	}
	addr, _ := netip.AddrFromSlice(r.Answer[0].(*dns.A).A.To4())
	m.told(service, addr)
	rev, _ := dns.ReverseAddr(addr.String())
	if r, err = s.query(rev, dns.TypePTR); err == nil && len(r.Answer) == 1 {
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

func TestNoAddressMovesOverAHundredKills(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 3))
	c := newChurn(t, p, seed)
	m := newMemory(t)
	stop := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var background sync.WaitGroup
	background.Go(func() { c.run(stop) })
	// One that knows only where the servers are to be.
	client := &server{t: t, addr: "127.0.0.1:" + p.port}
	for i := range 2 {
		background.Go(func() { m.ask(ctx, client, seed+uint64(i)) })
	}
	defer background.Wait()
	defer close(stop)
	defer cancel()

	var last allocator.State
	total := kills(t)
	for n := 0; n < total && !t.Failed(); n++ {
		var s *server
		if n%4 == 3 {
			// Somewhere in its start.
			s = p.launch("max_release 100%")
			<-time.After(time.Duration(rnd.IntN(120)) * time.Millisecond)
		} else {
			// Changes rest until it is seen that everything is as it was.
			c.mu.Lock()
			s = p.launch("max_release 100%")
			m.restarted(s, last, c.listed())
			c.mu.Unlock()
			<-time.After(time.Duration(rnd.IntN(600)) * time.Millisecond)
		}
		s.kill()
		last = verify(t, p.store)
		m.durable(last)
		m.published(p)
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
	names, heard, negated := m.sum()
	t.Logf("%d kills; %d names, %d answers told, %d denied; revision %d, %d entries, %d addresses",
		total, names, heard, negated, last.Meta.Revision, len(last.Rows), len(last.Addrs))
	if names < churnNames/2 || last.Meta.Revision < uint64(total) {
		t.Errorf("only %d names and %d commits: this has tested little", names, last.Meta.Revision)
	}
}

// restarted checks that a server which has just been started answers the table
// that its predecessor left, and then everything that is listed, each name with
// the address that it always had. Nothing changes meanwhile.
func (m *memory) restarted(s *server, left allocator.State, listed []string) {
	s.servesOther()
	for _, r := range left.Rows {
		name := r.Entry.Name
		if addr := s.addr4(name + ".mesh"); addr.IsValid() {
			m.told(name, addr)
		} else if slices.Contains(listed, name) {
			m.t.Errorf("%s is in the table and listed, and is not answered after a restart", name)
		}
	}
	for _, name := range listed {
		m.told(name, s.resolves(name+".mesh"))
	}
	m.mu.Lock()
	known := maps.Clone(m.addrs)
	m.mu.Unlock()
	for name := range known {
		if addr := s.addr4(name + ".mesh"); addr.IsValid() {
			m.told(name, addr)
		}
	}
}

func TestAKillDuringTheFirstStartLeavesNoStoreOrAWholeOne(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 4))
	left := 0
	for range max(4, kills(t)/10) {
		p := newSite(t)
		write(t, p.resources, "fixed.yaml", dataplane("default", "fixed", fixedServices...))
		store := p.store
		p.store = "" // there may be none
		s := p.launch("store bolt " + store)
		<-time.After(time.Duration(rnd.IntN(150)) * time.Millisecond)
		s.kill()
		if _, err := os.Stat(store); err == nil {
			left++
			verify(t, store)
		}
		p.store = store
		s = p.start()
		s.resolveAll("fixed-1.mesh", "fixed-2.ns.svc.80.mesh", "fixed-3.mesh")
		s.kill()
	}
	t.Logf("%d left a store", left)
}
