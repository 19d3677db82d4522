package chaos

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// simulation makes up a history as a sound cluster would give it: one table, and
// replicas that follow it, now closely, and now cut off.
type simulation struct {
	*history
	rnd   *rand.Rand
	now   time.Duration // on every clock
	addrs []netip.Addr
	table []map[netip.Addr]holding // after each transaction
	seen  [3]int                   // how many transactions a replica has seen
	cut   [3]time.Duration         // since when a replica is cut off, 0 if it is not
	heal  [3]func()
	names int
	epoch int    // how often etcd was put back
	back  uint64 // by how many revisions of the table in all
}

const (
	simCooldown = 10 * time.Second
	simTTL      = time.Second
)

// simulate returns a history of so many steps. Each address changes hands several
// times in a few hundred.
func simulate(seed uint64, steps int) *simulation {
	s := &simulation{
		history: newHistory(simCooldown, simTTL, []string{"stable"}),
		rnd:     rand.New(rand.NewPCG(seed, 1)),
		table:   []map[netip.Addr]holding{{}},
		now:     time.Minute,
	}
	for i := range 6 {
		s.addrs = append(s.addrs, netip.AddrFrom4([4]byte{240, 0, 0, byte(i + 1)}))
	}
	s.intents["stable"] = []intent{{0, forever}}
	s.commit(change{s.addrs[0], holding{owner: "stable"}})
	for range steps {
		s.now += time.Duration(1+s.rnd.IntN(400)) * time.Millisecond
		s.step()
	}
	return s
}

func (s *simulation) step() {
	replica := s.rnd.IntN(len(s.seen))
	switch n := s.rnd.IntN(20); {
	case n < 3:
		s.take()
	case n < 5:
		s.release()
	case n < 6 && s.cut[replica] == 0:
		s.cut[replica] = s.now
		s.faults = append(s.faults, fault{kind: "cut", replica: replica, from: s.now, to: forever, over: forever})
		i := len(s.faults) - 1
		s.heal[replica] = func() { s.faults[i].to, s.faults[i].over = s.now, s.now }
	case n < 8 && s.cut[replica] > 0:
		s.heal[replica]()
		s.cut[replica], s.seen[replica] = 0, len(s.table)-1
	default:
		s.ask(replica)
	}
}

// take gives somebody an address that is free.
func (s *simulation) take() {
	addr := s.addrs[s.rnd.IntN(len(s.addrs))]
	was := s.table[len(s.table)-1][addr]
	owner := was.owner
	if owner == "" || was.released && s.rnd.IntN(3) > 0 {
		s.names++
		owner = fmt.Sprintf("svc-%d", s.names)
	}
	if is := (holding{owner: owner}); was != is && is.mayFollow(was, s.now, s.cooldown) {
		s.commit(change{addr, is})
	}
}

func (s *simulation) release() {
	addr := s.addrs[s.rnd.IntN(len(s.addrs))]
	if was := s.table[len(s.table)-1][addr]; was.owner != "" && !was.released && was.owner != "stable" {
		s.commit(change{addr, holding{was.owner, true, s.now}})
	}
}

func (s *simulation) commit(c change) {
	next := make(map[netip.Addr]holding)
	for a, h := range s.table[len(s.table)-1] {
		next[a] = h
	}
	next[c.addr] = c.holding
	s.table = append(s.table, next)
	n := len(s.table)
	s.committed(txn{
		epoch: s.epoch, rev: int64(n), revision: uint64(n) - s.back, serial: uint32(n), clock: s.now,
		lo: s.now - 20*time.Millisecond, hi: s.now + 20*time.Millisecond, changes: []change{c},
	})
	for r := range s.seen {
		if s.cut[r] == 0 {
			s.seen[r] = n - 1
		}
	}
}

// restore puts etcd back, so that the replicas go on n revisions before its last.
func (s *simulation) restore(n uint64) {
	s.epoch++
	s.back += n
}

// ask asks a replica for the name of an address.
func (s *simulation) ask(replica int) {
	a := answer{
		replica: replica, reverse: s.rnd.IntN(2) == 0, addr: s.addrs[s.rnd.IntN(len(s.addrs))],
		start: s.now - time.Duration(s.rnd.IntN(10))*time.Millisecond,
		end:   s.now + time.Duration(s.rnd.IntN(10))*time.Millisecond,
	}
	h := s.table[s.seen[replica]][a.addr]
	switch {
	case s.cut[replica] > 0 && s.now-s.cut[replica] > s.stale():
		a.rcode = dns.RcodeServerFailure
	case h.owner == "" || h.released:
		a.rcode, a.reverse = dns.RcodeNameError, true
	default:
		a.name = h.owner
	}
	s.answered(a)
}
