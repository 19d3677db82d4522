package test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
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

func TestNoAddressMovesOverAHundredKills(t *testing.T) {
	t.Parallel()
	total := kills(t)
	m, last := killing(t, total, "pool 240.0.0.0/8", true)
	if len(m.addrs) < total || last.Meta.Revision < uint64(total) {
		t.Errorf("only %d names and %d commits: this has tested little", len(m.addrs), last.Meta.Revision)
	}
}

func TestAFullPoolGivesNothingTwiceOverKills(t *testing.T) {
	t.Parallel()
	total := max(10, kills(t)/4)
	_, last := killing(t, total, "pool 240.0.0.0/26", false)
	waiting := slices.ContainsFunc(last.Rows, func(r *vip.Row) bool { return len(r.Addrs()) == 0 })
	if len(last.Addrs) != 62 || !waiting {
		t.Errorf("%d of 62 addresses were given, and somebody waits: %t", len(last.Addrs), waiting)
	}
}

// killing kills a server again and again while files change and clients ask,
// and checks each time what it left. There is always an address left for a new
// name if the pool is roomy. It returns what the clients were told, and what the
// last server left.
func killing(t *testing.T, total int, pool string, roomy bool) (*memory, allocator.State) {
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
		background.Go(func() { m.ask(ctx, client, c, seed+uint64(i)) })
	}
	defer background.Wait()
	defer close(stop)
	defer cancel()

	launch := func() *server { return p.launch(pool, "max_release 100%") }
	var last allocator.State
	for n := 0; n < total && !t.Failed(); n++ {
		var s *server
		if n%4 == 3 {
			// Somewhere in its start.
			s = launch()
			<-time.After(time.Duration(rnd.IntN(120)) * time.Millisecond)
		} else {
			// Changes rest until it is seen that everything is as it was.
			c.mu.Lock()
			s = launch()
			m.restarted(s, last, c.listed(), roomy)
			c.mu.Unlock()
			<-time.After(time.Duration(rnd.IntN(400)) * time.Millisecond)
			if n%2 == 0 && roomy {
				m.heardNews()
			}
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
	return m, last
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
