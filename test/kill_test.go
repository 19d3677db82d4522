package test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
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

// killing kills a server again and again while files change and clients ask,
// and checks each time what it left.
type killing struct {
	t        testing.TB
	p        *site
	lines    []string // of the Corefile
	cooldown time.Duration
	// roomy: there is always an address left for a new name, and no cooldown is
	// ever over.
	roomy bool

	seed   uint64
	rnd    *rand.Rand
	clock  *uptime
	c      *churn
	m      *memory
	left   allocator.State // by the server that was killed last
	reused int
	points []string       // in the order in which servers are to die at them
	died   map[string]int // how often they did
	killed int            // how often a server was to, and was killed instead
}

func newKilling(t testing.TB, pool string, cooldown time.Duration, roomy bool) *killing {
	k := &killing{
		t: t, p: newSite(t), cooldown: cooldown, roomy: roomy,
		lines: []string{"pool " + pool, "cooldown " + cooldown.String(), "ttl 1", "max_release 100%"},
		seed:  uint64(time.Now().UnixNano()), clock: new(uptime),
		points: failpoints(t), died: make(map[string]int),
	}
	if v := os.Getenv("MESHVIP_SEED"); v != "" {
		var err error
		if k.seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("MESHVIP_SEED=%s: %v", v, err)
		}
	}
	k.rnd = rand.New(rand.NewPCG(k.seed, 3))
	k.c = newChurn(t, k.p, k.seed, k.clock)
	k.m = newMemory(t, cooldown, k.clock, &k.c.lists)
	k.rnd.Shuffle(len(k.points), func(i, j int) { k.points[i], k.points[j] = k.points[j], k.points[i] })
	return k
}

// run kills so many times, and then sees that the last server has got over it.
func (k *killing) run(total int) {
	stop := make(chan struct{})
	ctx, cancel := context.WithCancel(k.t.Context())
	var changes, clients sync.WaitGroup
	changes.Go(func() { k.c.run(stop) })
	// One that knows only where the servers are to be.
	client := &server{t: k.t, addr: "127.0.0.1:" + k.p.port}
	for i := range 2 {
		clients.Go(func() { k.m.ask(ctx, client, k.c, k.seed+uint64(i)) })
	}
	defer clients.Wait()
	defer cancel()

	for n := 0; n < total && !k.t.Failed(); n++ {
		k.clock.up()
		var s *server
		switch n % 4 {
		case 0, 2:
			s = k.atPoint(n / 2)
		case 1:
			s = k.atRandom(n%8 == 1 && k.roomy)
		case 3:
			s = k.inItsStart()
		}
		k.clock.down()
		k.check()
		s.fine = !k.t.Failed()
	}
	close(stop)
	changes.Wait()
	if !k.t.Failed() {
		k.settled()
	}
	k.report(total)
}

// atPoint lets a server die at a point: at each the first time that it comes
// there, and then at some time, at once or after clients had time to hear what is
// not true yet.
func (k *killing) atPoint(n int) *server {
	point, hit := k.points[n%len(k.points)], 1
	if n >= len(k.points) {
		hit += k.rnd.IntN(6)
	}
	pause := time.Duration(k.rnd.IntN(2)*k.rnd.IntN(50)) * time.Millisecond
	s := k.p.launchMortal(point, hit, pause, k.lines...)
	switch died := s.dies(3 * time.Second); died {
	case point:
		k.died[point]++
	case "":
		k.killed++
	default:
		k.t.Errorf("the server died at %q, want %q", died, point)
	}
	return s
}

// atRandom sees that everything is as it was, while changes rest, and kills the
// server some time after, or as soon as it tells something new: if that can be
// before it is durable, this shows it.
func (k *killing) atRandom(news bool) *server {
	k.c.mu.Lock()
	s := k.p.launch(k.lines...)
	listed := k.c.listed()
	k.m.restarted(s, k.left, listed)
	if k.roomy {
		for _, name := range listed {
			k.m.resolves(s, name)
		}
	}
	k.c.mu.Unlock()
	<-time.After(time.Duration(k.rnd.IntN(400)) * time.Millisecond)
	if news {
		k.m.heardNews()
	}
	s.kill()
	return s
}

// inItsStart kills a server before it does much.
func (k *killing) inItsStart() *server {
	s := k.p.launch(k.lines...)
	<-time.After(time.Duration(k.rnd.IntN(120)) * time.Millisecond)
	s.kill()
	return s
}

// check looks at what the last server left.
func (k *killing) check() {
	left := verify(k.t, k.p.store)
	k.m.durable(left)
	k.reused += k.m.passed(k.left, left)
	k.left = left
	if k.roomy {
		k.m.published(k.p)
	}
}

// settled sees that a server which is left alone serves what is listed, as far
// as the pool goes.
func (k *killing) settled() {
	k.clock.up()
	s := k.p.start(k.lines...)
	listed := k.c.listed()
	k.m.restarted(s, k.left, listed)
	want := len(listed)
	if !k.roomy {
		want = min(want, smallPool)
	}
	s.wait("what is listed to be served", func() bool {
		n := 0
		for _, name := range listed {
			if k.m.address(s, name).IsValid() {
				n++
			}
		}
		return n >= want
	})
	s.kill()
	k.clock.down()
	k.check()
}

// report says what was tested.
func (k *killing) report(total int) {
	if k.t.Failed() {
		k.t.Logf("MESHVIP_SEED=%d", k.seed)
		return
	}
	k.m.mu.Lock()
	defer k.m.mu.Unlock()
	k.t.Logf("%d kills, %d missed their point; %d names, %d answers told, %d denied; revision %d, %d entries, %d addresses; %d changed hands, %d seen by clients",
		total, k.killed, len(k.m.addrs), k.m.heard, k.m.negated,
		k.left.Meta.Revision, len(k.left.Rows), len(k.left.Addrs), k.reused, k.m.reused)
	for _, point := range k.points {
		if k.died[point] == 0 && total/2 >= len(k.points) {
			k.t.Errorf("no server died at the point %q", point)
		}
	}
}

// smallPool is how many addresses a /26 can give out.
const smallPool = 62

func TestNoAddressIsGivenTwiceOverKills(t *testing.T) {
	t.Parallel()
	total := kills(t)
	k := newKilling(t, "240.0.0.0/26", 2*time.Second, false)
	k.run(total)
	if k.reused < total/10 || len(k.m.addrs) < total/2 || k.left.Meta.Revision < uint64(total/2) {
		t.Errorf("%d addresses reused, %d names, %d commits: this has tested little", k.reused, len(k.m.addrs), k.left.Meta.Revision)
	}
}

func TestNoAddressMovesOverKills(t *testing.T) {
	t.Parallel()
	total := max(10, kills(t)/2)
	k := newKilling(t, "240.0.0.0/8", 24*time.Hour, true)
	k.run(total)
	if len(k.m.addrs) < total/2 || k.left.Meta.Revision < uint64(total/2) {
		t.Errorf("%d names, %d commits: this has tested little", len(k.m.addrs), k.left.Meta.Revision)
	}
	if k.reused > 0 {
		t.Errorf("%d addresses have changed hands", k.reused)
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
