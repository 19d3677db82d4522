package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/miekg/dns"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// services returns n names.
func services(kind string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", kind, i))
	}
	return names
}

// list writes a file for each name, and notes that it is listed.
func (c *cluster) list(names ...string) {
	for _, name := range names {
		path := filepath.Join(c.resources, name+".yaml")
		err := os.WriteFile(path+".tmp", []byte(dataplane("default", name, name)), 0o644)
		if err == nil {
			err = os.Rename(path+".tmp", path)
		}
		if err != nil {
			c.t.Error(err)
		}
		c.h.listed(name)
	}
}

func (c *cluster) unlist(names ...string) {
	for _, name := range names {
		c.h.unlisted(name)
		if err := os.Remove(filepath.Join(c.resources, name+".yaml")); err != nil {
			c.t.Error(err)
		}
	}
}

// Two replicas, many services that come and go at once, and the lead goes from one
// to the other all the while (metallb#725).
func TestNothingIsLostWhereTwoReplicasTakeTurns(t *testing.T) {
	t.Parallel()
	h := newHistory(30*time.Second, time.Second, []string{"stable"})
	c := newCluster(t, h, 2, 1, "pool 240.0.0.0/23")
	gone, stay, come := services("gone", 100), services("stay", 20), services("come", 100)
	c.list("stable")
	c.list(gone...)
	c.list(stay...)
	c.start()
	c.quiet(append(gone, stay...))

	var changing sync.WaitGroup
	for i := range 4 {
		changing.Go(func() {
			for n := i; n < 100; n += 4 {
				c.unlist(gone[n])
				c.list(come[n])
			}
		})
	}
	inj := newInjector(c, 1)
	for range 4 {
		inj.revoke()
		c.leader()
	}
	changing.Wait()
	has := c.quiet(append(come, stay...))
	c.holds(has)
	c.w.rest()
	if err := h.judge(0, time.Minute); err != nil {
		t.Error(err)
	}
	if n := len(c.w.leaders); n < 3 {
		t.Errorf("%d terms: this has tested little", n)
	}
}

// A follower is stopped, keys change and go, and compaction passes what it has seen
// (etcd#8668): it reads all again, the deletions too, and then goes on to watch.
func TestAFollowerThatCompactionHasPassedReadsAllAgain(t *testing.T) {
	t.Parallel()
	h := newHistory(time.Minute, time.Second, []string{"stable"})
	c := newCluster(t, h, 2, 1, "pool 240.0.0.0/23")
	gone, stay := services("gone", 50), services("stay", 20)
	c.list("stable")
	c.list(gone...)
	c.list(stay...)
	c.start()
	c.quiet(append(gone, stay...))
	leader := c.leader()
	follower := c.replicas[1-leader.n]
	restarts := follower.number("coredns_meshvip_watch_restarts_total")

	follower.freeze()
	// What etcd has sent lies in the sockets of a stopped process; these go.
	follower.network((*etcdtest.Proxy).Cut)
	c.unlist(gone...)
	come := services("come", 50)
	c.list(come...)
	for _, name := range []string{gone[49], come[49]} {
		eventually(t, name+" to change", func() bool {
			addr, rcode := leader.addr4(name)
			return addr.IsValid() == (name == come[49]) && rcode != noAnswer
		})
	}
	if _, err := c.client.Compact(t.Context(), c.w.caughtUp(), clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	follower.thaw()
	follower.network((*etcdtest.Proxy).Heal)
	c.quiet(append(come, stay...))
	if _, rcode := follower.addr4(gone[0]); rcode != dns.RcodeNameError {
		t.Errorf("a name that has gone is answered with %s", dns.RcodeToString[rcode])
	}
	if n := follower.number("coredns_meshvip_watch_restarts_total"); n <= restarts {
		t.Errorf("the follower has begun its watch anew %v times, and before that %v times", n, restarts)
	}

	again := follower.number("coredns_meshvip_watch_restarts_total")
	c.list("afterwards")
	has := c.quiet(append(come, append(stay, "afterwards")...))
	if n := follower.number("coredns_meshvip_watch_restarts_total"); n != again {
		t.Errorf("the follower does not watch: it has read all again")
	}
	c.holds(has)
	c.w.rest()
	if err := h.judge(0, time.Minute); err != nil {
		t.Error(err)
	}
}

// number is metric as a number.
func (r *replica) number(name string) float64 {
	r.t.Helper()
	n, err := strconv.ParseFloat(r.metric(name), 64)
	if err != nil {
		r.t.Fatalf("metric %s of replica %d: %v", name, r.n, err)
	}
	return n
}
