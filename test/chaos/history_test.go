package chaos

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// history is what was seen of a cluster. All moments are counted from its
// beginning.
type history struct {
	cooldown, ttl time.Duration
	tolerance     time.Duration // for what takes time without any fault
	stable        []string      // names that are listed throughout

	begun time.Time

	mu      sync.Mutex
	txns    []txn
	answers []answer
	faults  []fault
	intents map[string][]intent // by name
	moved   map[string]bool     // names of which a replica has logged that they moved
}

func newHistory(cooldown, ttl time.Duration, stable []string) *history {
	return &history{
		cooldown: cooldown, ttl: ttl, tolerance: time.Second, stable: stable, begun: time.Now(),
		intents: make(map[string][]intent), moved: make(map[string]bool),
	}
}

func (h *history) now() time.Duration { return time.Since(h.begun) }

// stale is how old an answer may be at most.
func (h *history) stale() time.Duration { return h.cooldown - h.ttl }

// txn is one transaction that changed the table.
type txn struct {
	epoch int   // how often etcd had been restored
	rev   int64 // etcd's revision
	// It took place between lo and hi.
	lo, hi   time.Duration
	revision uint64        // of the table
	serial   uint32        // of the table
	clock    time.Duration // of the table
	changes  []change
	keys     int // that it wrote, deleted ones too
}

func (t txn) String() string {
	return fmt.Sprintf("revision %d (etcd's %d in epoch %d, between %v and %v)", t.revision, t.rev, t.epoch, t.lo, t.hi)
}

// change is what a transaction wrote of one address.
type change struct {
	addr netip.Addr
	holding
}

// holding is what etcd says of an address. The zero holding is no key.
type holding struct {
	owner    string // a name, in the dotted spelling
	released bool
	at       time.Duration // of the release, by the table's clock
}

// answer is one question and what came back.
type answer struct {
	replica    int
	start, end time.Duration // sent and received
	reverse    bool          // asked was the address
	name       string        // in the dotted spelling
	addr       netip.Addr
	rcode      int // noAnswer: none came in time
}

const noAnswer = -1

// claim reports whether the answer joins a name and an address.
func (a answer) claim() bool { return a.rcode == 0 && a.name != "" && a.addr.IsValid() }

func (a answer) String() string {
	how := "of"
	if a.reverse {
		how = "in reverse of"
	}
	return fmt.Sprintf("replica %d: %q %s %v (rcode %d, between %v and %v)", a.replica, a.name, how, a.addr, a.rcode, a.start, a.end)
}

// fault is harm that was done.
type fault struct {
	kind string
	// replica is who was harmed; everybody if etcd was.
	replica int
	// process: the replica did not run, or did not go on, and so could not answer.
	process  bool
	from, to time.Duration // to is when it was healed, and forever until then
	over     time.Duration // when all replicas were seen to have got over it
}

const (
	everybody = -1
	forever   = time.Duration(1<<63 - 1)
)

func (f fault) touches(replica int) bool {
	return f.replica == everybody || f.replica == replica
}

// intent says that a name was listed for certain from some moment to another.
type intent struct{ from, to time.Duration }

// dotted returns the name of a service in the spelling of PTRs.
func dotted(service string) string { return strings.ReplaceAll(service, "_", ".") }

func (h *history) answered(a answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers = append(h.answers, a)
}

func (h *history) committed(t txn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.txns = append(h.txns, t)
}

// listed notes that a name is listed from now on.
func (h *history) listed(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name = dotted(name)
	if n := len(h.intents[name]); n == 0 || h.intents[name][n-1].to != forever {
		h.intents[name] = append(h.intents[name], intent{h.now(), forever})
	}
}

// unlisted notes that a name may not be listed from now on. It is to be called
// before that is so.
func (h *history) unlisted(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name = dotted(name)
	if n := len(h.intents[name]); n > 0 && h.intents[name][n-1].to == forever {
		h.intents[name][n-1].to = h.now()
	}
}

// harm notes that a fault begins, and returns what ends it.
func (h *history) harm(kind string, replica int, process bool) (healed func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := len(h.faults)
	h.faults = append(h.faults, fault{kind: kind, replica: replica, process: process, from: h.now(), to: forever, over: forever})
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.faults[i].to = h.now()
	}
}

// well notes that all replicas have got over all faults that were healed before some
// moment.
func (h *history) well(before time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.faults {
		if f := &h.faults[i]; f.to < before && f.over == forever {
			f.over = h.now()
		}
	}
}

// claims returns the claims by address, in the order in which they were asked for.
func (h *history) claims() map[netip.Addr][]answer {
	byAddr := make(map[netip.Addr][]answer)
	for _, a := range h.answers {
		if a.claim() {
			byAddr[a.addr] = append(byAddr[a.addr], a)
		}
	}
	for _, list := range byAddr {
		slices.SortStableFunc(list, func(a, b answer) int { return int(a.start - b.start) })
	}
	return byAddr
}

// writes returns what transactions wrote, by address, in their order.
func (h *history) writes() map[netip.Addr][]write {
	byAddr := make(map[netip.Addr][]write)
	for i := range h.txns {
		for _, c := range h.txns[i].changes {
			byAddr[c.addr] = append(byAddr[c.addr], write{&h.txns[i], c.holding})
		}
	}
	return byAddr
}

// write is what a transaction wrote of some address.
type write struct {
	*txn
	holding
}

// calm reports whether no replica suffered from a fault between two moments.
func (h *history) calm(from, to time.Duration) bool {
	return !slices.ContainsFunc(h.faults, func(f fault) bool { return f.from <= to && f.over >= from })
}
