package chaos

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
)

// client asks one replica all kinds of questions.
type client struct {
	h       *history
	r       *replica
	rnd     *rand.Rand
	pool    []netip.Addr
	some    func(*rand.Rand) string // a service to ask for
	timeout time.Duration
}

// every is the pause between the questions of one client.
const every = 15 * time.Millisecond

// run asks until ctx is done.
func (c *client) run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	next := 0
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n%2 == 0 {
			c.reverse(c.pool[next%len(c.pool)])
			next++
			continue
		}
		c.forward(c.some(c.rnd))
	}
}

// ask sends one question, and fills in when, and what came back.
func (c *client) ask(a *answer, name string, qtype uint16) *dns.Msg {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	a.replica, a.rcode, a.start = c.r.n, noAnswer, c.h.now()
	m, _, err := new(dns.Client).ExchangeContext(ctx, new(dns.Msg).SetQuestion(name, qtype), c.r.addr)
	a.end = c.h.now()
	if err != nil {
		return new(dns.Msg)
	}
	a.rcode = m.Rcode
	return m
}

// forward asks for the address of a service.
func (c *client) forward(service string) {
	if c.rnd.IntN(2) == 0 {
		service = dotted(service)
	}
	a := answer{name: dotted(service)}
	for _, rr := range c.ask(&a, service+".mesh.", dns.TypeA).Answer {
		if rec, ok := rr.(*dns.A); ok {
			a.addr, _ = netip.AddrFromSlice(rec.A.To4())
		}
	}
	c.h.answered(a)
}

// reverse asks for the name of an address.
func (c *client) reverse(addr netip.Addr) answer {
	a := answer{reverse: true, addr: addr}
	for _, rr := range c.ask(&a, reverseName(addr), dns.TypePTR).Answer {
		if rec, ok := rr.(*dns.PTR); ok {
			a.name = strings.TrimSuffix(rec.Ptr, ".mesh.")
		}
	}
	c.h.answered(a)
	return a
}

// reverseName returns the name at which an address has its PTR.
func reverseName(addr netip.Addr) string {
	name, err := dns.ReverseAddr(addr.String())
	if err != nil {
		panic(err) // addr is none
	}
	return name
}

// serial asks a replica for the serial of its zone, 0 if there is no answer.
func (r *replica) serial() uint32 {
	if r.frozen.Load() {
		return 0
	}
	m, err := r.exchange("mesh.", dns.TypeSOA)
	if err != nil || len(m.Answer) != 1 {
		return 0
	}
	soa, ok := m.Answer[0].(*dns.SOA)
	if !ok {
		return 0
	}
	return soa.Serial
}

func (r *replica) exchange(name string, qtype uint16) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	m, _, err := new(dns.Client).ExchangeContext(ctx, new(dns.Msg).SetQuestion(name, qtype), r.addr)
	return m, err
}

// addr4 returns the address of a service, the zero Addr if there is none, and how
// that was said.
func (r *replica) addr4(service string) (addr netip.Addr, rcode int) {
	m, err := r.exchange(service+".mesh.", dns.TypeA)
	if err != nil {
		return netip.Addr{}, noAnswer
	}
	for _, rr := range m.Answer {
		if a, ok := rr.(*dns.A); ok {
			addr, _ = netip.AddrFromSlice(a.A.To4())
		}
	}
	return addr, m.Rcode
}

// transfer fetches a zone: all its records in their order, as text.
func (r *replica) transfer(zone string) ([]string, error) {
	records, err := new(dns.Transfer).In(new(dns.Msg).SetAxfr(zone), r.addr)
	if err != nil {
		return nil, err
	}
	var lines []string
	for e := range records {
		if e.Error != nil {
			return nil, e.Error
		}
		for _, rr := range e.RR {
			lines = append(lines, rr.String())
		}
	}
	return lines, nil
}

// many asks many questions, over a few sockets. It returns the data of the first
// record of each answer, "" where there is none.
func (r *replica) many(names []string, qtype uint16) (map[string]string, error) {
	var asking errgroup.Group
	var mu sync.Mutex
	got := make(map[string]string, len(names))
	for part := range slices.Chunk(names, max(1, (len(names)+3)/4)) {
		asking.Go(func() error {
			conn, err := dns.Dial("udp", r.addr)
			if err != nil {
				return err
			}
			defer conn.Close()
			client := &dns.Client{Timeout: 5 * time.Second}
			for _, name := range part {
				m, _, err := client.ExchangeWithConn(new(dns.Msg).SetQuestion(name, qtype), conn)
				if err != nil {
					return err
				}
				data := ""
				if len(m.Answer) > 0 {
					data = strings.TrimPrefix(m.Answer[0].String(), m.Answer[0].Header().String())
				}
				mu.Lock()
				got[name] = data
				mu.Unlock()
			}
			return nil
		})
	}
	return got, asking.Wait()
}
