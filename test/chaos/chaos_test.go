package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// chaos is one run.
type chaos struct {
	*cluster
	seed  uint64
	churn *churn
	inj   *injector
}

// newChaos starts everything, on an etcd of so many members.
func newChaos(t *testing.T, members int, cooldown time.Duration) *chaos {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("MESHVIP_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("MESHVIP_SEED=%s: %v", v, err)
		}
	}
	t.Logf("MESHVIP_SEED=%d", seed)
	if _, err := coredns(); err != nil {
		t.Fatal(err)
	}
	var stable []string
	for n := range 32 {
		stable = append(stable, fmt.Sprintf("stable-%d", n))
	}
	h := newHistory(cooldown, time.Second, stable)
	c := &chaos{cluster: newCluster(t, h, 3, members, "pool "+poolCIDR), seed: seed}
	// More names come than addresses cool down, so that somebody is always waiting
	// for the next one.
	const listed, pressure = 16, 2
	fresh := cooldown / time.Duration(pressure*(len(usable(poolCIDR))-len(stable)-listed))
	c.churn = newChurn(t, h, c.resources, seed, listed, fresh)
	c.inj = newInjector(c.cluster, seed)
	c.start()
	return c
}

// run lets services come and go and clients ask while do does harm, and then judges
// what was seen.
func (c *chaos) run(do func()) {
	stopClients := c.clients(2, c.seed, c.churn.some)
	stop := make(chan struct{})
	var churning sync.WaitGroup
	churning.Go(func() { c.churn.run(stop) })
	quiet := sync.OnceFunc(func() {
		close(stop)
		churning.Wait()
	})
	c.t.Cleanup(quiet)
	c.healthy()
	do()
	c.healthy()
	quiet()
	c.t.Logf("%8.3fs no more changes", c.h.now().Seconds())

	has := c.quiet(c.churn.all())
	c.t.Logf("%8.3fs all replicas show what is listed", c.h.now().Seconds())
	stopClients()
	state := c.holds(has)
	c.w.rest()
	for _, r := range c.replicas {
		c.h.logged(r.log())
	}
	thin, limit := c.search()
	if err := c.h.judge(thin, limit); err != nil {
		c.t.Error(err)
	}
	c.t.Logf("%8.3fs judged", c.h.now().Seconds())
	report := c.h.report(c.seed, c.inj, len(state.Rows))
	c.t.Log("\n" + report)
	c.write(report)
}

// search is how closely claims are looked at by porcupine, and for how long at
// each address.
func (c *chaos) search() (thin, limit time.Duration) {
	return max(50*time.Millisecond, c.h.now()/5000), time.Minute
}

// write keeps the report of the long form.
func (c *chaos) write(report string) {
	if os.Getenv("MESHVIP_CHAOS") == "" {
		return
	}
	if err := os.MkdirAll(filepath.Join(top, "bin"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	result := "passed"
	if c.t.Failed() {
		result = "FAILED"
	}
	if err := os.WriteFile(filepath.Join(top, "bin", "chaos-report.txt"), []byte(result+"\n"+report), 0o644); err != nil {
		c.t.Error(err)
	}
}

// moveLogged is how a replica logs that a service has moved.
var moveLogged = regexp.MustCompile(`moved.*entry="?0:([^\s",]+)`)

// logged notes the names of which a replica has logged that they moved.
func (h *history) logged(log string) {
	for _, m := range moveLogged.FindAllStringSubmatch(log, -1) {
		h.moved[dotted(m[1])] = true
	}
}

// Each kind of fault once, in any order; after each the replicas get over it.
func TestNoAddressIsGivenTwiceInChaos(t *testing.T) {
	if os.Getenv("MESHVIP_CHAOS") != "" {
		t.Skip("the long form is run")
	}
	c := newChaos(t, 1, 10*time.Second)
	c.run(func() {
		for _, n := range c.inj.rnd.Perm(len(injections)) {
			c.inj.inject(injections[n])
		}
	})
	if n, reused := c.h.passed(), len(c.h.reused()); n < 20 || reused < 10 {
		t.Errorf("%d addresses went to another, %d before clients' eyes: this has tested little", n, reused)
	}
}

// Faults at random, one after the other and several at once, on a cluster of etcd.
func TestNoAddressIsGivenTwiceInLongChaos(t *testing.T) {
	v := os.Getenv("MESHVIP_CHAOS")
	if v == "" {
		t.Skip("MESHVIP_CHAOS=10m runs the long form")
	}
	long, err := time.ParseDuration(v)
	if err != nil {
		t.Fatalf("MESHVIP_CHAOS=%s: %v", v, err)
	}
	c := newChaos(t, 3, 20*time.Second)
	all := slices.Concat(injections, forLong)
	c.run(func() {
		for c.h.now() < long && !t.Failed() {
			c.inj.settled = c.inj.rnd.IntN(3) > 0
			c.inj.inject(all[c.inj.rnd.IntN(len(all))])
		}
		c.inj.settled = true
	})
}
