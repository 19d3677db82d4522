package chaos

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
)

// regiven sets up two replicas on a pool of two addresses, breaks one of them, and
// waits until the other has given the address of "former" to "next". broken says
// which, by whether it leads, and how.
func regiven(t *testing.T, leads, process bool, broken func(*replica)) (c *cluster, r *replica, addr netip.Addr, healed func()) {
	t.Helper()
	h := newHistory(3*time.Second, time.Second, []string{"stable"})
	c = newCluster(t, h, 2, 1, "pool 240.0.0.0/30")
	c.list("stable", "former")
	c.start()
	c.quiet([]string{"former"})
	r = c.leader()
	if !leads {
		r = c.replicas[1-r.n]
	}
	other := c.replicas[1-r.n]
	addr, _ = r.addr4("former")
	healed = h.harm("broken", r.n, process)
	broken(r)
	c.unlist("former")
	c.list("next")
	eventually(t, fmt.Sprintf("%v to be given to another", addr), func() bool {
		now, _ := other.addr4("next")
		return now == addr
	})
	return c, r, addr, healed
}

// hammer asks a replica for the name of an address without a pause, until what is
// done and then the replica knows the new name.
func (c *cluster) hammer(r *replica, addr netip.Addr, do func()) {
	var asking sync.WaitGroup
	stop := make(chan struct{})
	for i := range 16 {
		cl := &client{h: c.h, r: r, timeout: time.Second}
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if a := cl.reverse(addr); a.rcode != 0 || i > 1 { // a few ask without a pause
					<-time.After(time.Millisecond)
				}
			}
		})
	}
	do()
	eventually(c.t, "the replica to know who has the address", func() bool {
		now, _ := r.addr4("next")
		return now == addr
	})
	close(stop)
	asking.Wait()
	c.w.caughtUp()
	c.w.rest()
	if err := c.h.judge(0, time.Minute); err != nil {
		c.t.Error(err)
	}
	claims := len(c.h.claims()[addr])
	if c.t.Logf("%d questions, %d claims", len(c.h.answers), claims); len(c.h.answers) < 20 {
		c.t.Error("this has tested little")
	}
}

// Each wakes up to a table that went on without it: no moment may pass in which it
// takes what it remembers for what is so.
func TestWhoWakesUpAnswersNothingThatIsOld(t *testing.T) {
	t.Parallel()
	for _, leads := range []bool{true, false} {
		t.Run(fmt.Sprintf("leads=%v", leads), func(t *testing.T) {
			t.Parallel()
			c, r, addr, healed := regiven(t, leads, true, (*replica).freeze)
			c.hammer(r, addr, func() {
				r.thaw()
				healed()
			})
		})
	}
}

func TestWhoIsConnectedAgainAnswersNothingThatIsOld(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(*etcdtest.Proxy){
		"cut": (*etcdtest.Proxy).Cut, "stalled": (*etcdtest.Proxy).Blackhole, "without replies": (*etcdtest.Proxy).DropReplies,
	} {
		for _, leads := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s leads=%v", name, leads), func(t *testing.T) {
				t.Parallel()
				c, r, addr, healed := regiven(t, leads, false, func(r *replica) { r.network(by) })
				c.hammer(r, addr, func() {
					r.network((*etcdtest.Proxy).Heal)
					healed()
				})
			})
		}
	}
}
