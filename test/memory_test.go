package test

import (
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/publish"
	"github.com/meshvip/coredns-meshvip/vip"
)

// memory is what clients were ever told. A name has one address and an address
// one name, whatever happens in between, until a cooldown is over; and a name
// that is listed throughout has its address for ever.
type memory struct {
	t        testing.TB
	clock    *uptime
	cooldown time.Duration
	lists    *listings

	mu      sync.Mutex
	addrs   map[string]told     // what was told last, by name in the dotted spelling
	names   map[netip.Addr]told // the other way
	serial  uint32              // the greatest that was seen
	heard   int                 // answers with an address or a name
	negated int                 // answers without
	reused  int                 // addresses that were seen to go to another name

	news chan struct{} // gets something when a name is told of for the first time
}

// told is one answer. It was true at some moment between from, when the
// question was asked, and to, when the answer was there.
type told struct {
	name     string
	addr     netip.Addr
	from, to time.Duration // by the clock of servers
}

func newMemory(t testing.TB, cooldown time.Duration, clock *uptime, lists *listings) *memory {
	return &memory{
		t: t, clock: clock, cooldown: cooldown, lists: lists,
		addrs: make(map[string]told), names: make(map[netip.Addr]told), news: make(chan struct{}, 1),
	}
}

// told notes that somebody said of a name that it has addr, who was asked at
// from.
func (m *memory) told(name string, addr netip.Addr, from time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard++
	now := told{dotted(name), addr, from, m.clock.now()}
	was, known := m.addrs[now.name]
	if !known {
		select {
		case m.news <- struct{}{}:
		default:
		}
	}
	if known && was.addr != addr {
		m.apart(was, now, "one name, two addresses")
		if m.lists.throughout(now.name, min(was.from, from)) {
			m.t.Errorf("%s, listed throughout, has moved: %+v, %+v", name, was, now)
		}
	}
	if owned, ok := m.names[addr]; ok && owned.name != now.name {
		m.apart(owned, now, "one address, two names")
		m.reused++
	}
	// Answers may come in another order than they were given.
	if was.from <= from {
		m.addrs[now.name] = now
	}
	if m.names[addr].from <= from {
		m.names[addr] = now
	}
}

// apart checks that a cooldown may have passed between two answers.
func (m *memory) apart(a, b told, what string) {
	if max(a.to-b.from, b.to-a.from) < m.cooldown {
		m.t.Errorf("%s within the cooldown of %v: %+v, %+v", what, m.cooldown, a, b)
	}
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

// dotted returns the name of a service, in the spelling of PTRs.
func dotted(service string) string { return strings.ReplaceAll(service, "_", ".") }

// durable checks that a store which a killed server left has what was told last
// of every name, unless a cooldown has passed since.
func (m *memory) durable(left allocator.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// The serial 0 of a new table is shown as 1.
	if max(left.Meta.Serial, 1) < m.serial {
		m.t.Errorf("the store has the serial %d, and %d was told", left.Meta.Serial, m.serial)
	}
	owners := make(map[netip.Addr]string, len(left.Addrs))
	for _, h := range left.Addrs {
		owners[h.Addr] = dotted(h.Owner.Name)
	}
	rows := make(map[string]netip.Addr, len(left.Rows))
	for _, r := range left.Rows {
		rows[dotted(r.Entry.Name)] = r.V4
	}
	for name, last := range m.addrs {
		has, owner := rows[name], owners[last.addr]
		switch {
		case owner == name && (!has.IsValid() || has == last.addr):
		case owner == name:
			m.t.Errorf("the store gives %s the address %v, and keeps for it what was told: %+v", name, has, last)
		case m.clock.now()-last.from < m.cooldown || m.lists.throughout(name, last.from):
			m.t.Errorf("the store has given to %q what was told of %s: %+v", owner, name, last)
		}
	}
}

// published checks that what the proxies were told agrees. It is for when no
// cooldown is ever over: files may be as old as they like.
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
				m.told(r.Entry.Name, r.V4, 0)
			}
		}
	}
}

// passed checks what became of the table between two kills, on its own clock:
// an address that somebody had then may be another's only after the cooldown. It
// returns how many have changed hands.
func (m *memory) passed(was, now allocator.State) (reused int) {
	if now.Meta.Clock < was.Meta.Clock || now.Meta.Revision < was.Meta.Revision || now.Meta.Serial < was.Meta.Serial {
		m.t.Errorf("the table went back from %+v to %+v", was.Meta, now.Meta)
	}
	owners := make(map[netip.Addr]vip.Key, len(now.Addrs))
	for _, h := range now.Addrs {
		owners[h.Addr] = h.Owner
	}
	for _, h := range was.Addrs {
		owner, ok := owners[h.Addr]
		if ok && owner == h.Owner {
			continue
		}
		reused++
		released := was.Meta.Clock // at the earliest
		if h.Released {
			released = h.At
		}
		if passed := now.Meta.Clock - released; !ok || passed < m.cooldown {
			m.t.Errorf("%v of %v has gone to %v after at most %v", h.Addr, h.Owner, owner, passed)
		}
	}
	return reused
}
