package chaos

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

const (
	prefix   = "/meshvip/"
	poolCIDR = "240.0.0.0/26"
	lease    = 2 * time.Second
)

// cluster is several replicas on one table in etcd, with what watches them.
type cluster struct {
	t         testing.TB
	h         *history
	etcd      []*etcdtest.Server
	client    *clientv3.Client // of the test: not by way of a proxy
	replicas  []*replica
	resources string
	w         *witness
}

// newCluster returns replicas that are not started yet, on an etcd of so many
// members. block is what stands in the block of meshvip beside source and store.
func newCluster(t testing.TB, h *history, replicas, members int, block ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, h: h, etcd: etcdtest.StartCluster(t, members), resources: filepath.Join(t.TempDir(), "resources")}
	if err := os.Mkdir(c.resources, 0o755); err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: c.etcd[0].Endpoints(), DialTimeout: patience, Logger: zap.NewNop(),
		DialKeepAliveTime: time.Second, DialKeepAliveTimeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // it says that its context ended
	c.client = client
	c.w = newWitness(t, h, client, prefix)
	c.w.watch(1)
	for n := range replicas {
		r := newReplica(t, n, c.etcd)
		r.block = strings.Join(append(block,
			"source file "+c.resources,
			r.store(prefix, fmt.Sprintf("timeout 1s\n\t\t\tlease %v", lease)),
			fmt.Sprintf("cooldown %v", h.cooldown),
			fmt.Sprintf("ttl %d", h.ttl/time.Second),
			"max_release 100%",
		), "\n\t\t")
		c.replicas = append(c.replicas, r)
	}
	return c
}

// start starts all replicas, and waits until they answer stable names.
func (c *cluster) start() {
	c.t.Helper()
	for _, r := range c.replicas {
		r.start()
	}
	for _, r := range c.replicas {
		c.answers(r)
	}
}

// answers waits until a replica answers every stable name.
func (c *cluster) answers(r *replica) {
	c.t.Helper()
	for _, name := range c.h.stable {
		eventually(c.t, fmt.Sprintf("%s at replica %d", name, r.n), func() bool {
			r.alive()
			addr, _ := r.addr4(name)
			return addr.IsValid()
		})
	}
}

// usable returns the addresses of a pool that can be given out.
func usable(cidr string) (all []netip.Addr) {
	p := netip.MustParsePrefix(cidr)
	for a := p.Addr().Next(); p.Contains(a.Next()); a = a.Next() {
		all = append(all, a)
	}
	return all
}

// leading reports whether a replica says that it allocates.
func (r *replica) leading() bool {
	return r.metric("coredns_meshvip_leader") == "1"
}

var metricClient = http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// metric returns the first value of a metric of that name, "" if there is none.
func (r *replica) metric(name string) string {
	if r.frozen.Load() {
		return ""
	}
	reply, err := metricClient.Get("http://" + r.metrics + "/metrics")
	if err != nil {
		return ""
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return ""
	}
	m := regexp.MustCompile(`(?m)^` + name + `(?:\{[^}]*\})? (\S+)$`).FindSubmatch(body)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// leader waits until exactly one replica says that it allocates, and returns it.
func (c *cluster) leader() *replica {
	c.t.Helper()
	var leader *replica
	eventually(c.t, "one replica to allocate", func() bool {
		n := 0
		for _, r := range c.replicas {
			if r.leading() {
				leader = r
				n++
			}
		}
		return n == 1
	})
	return leader
}

// healthy waits until the table is written again, and every replica shows what was
// written.
func (c *cluster) healthy() {
	c.t.Helper()
	begun := c.h.now()
	serial := c.w.written(begun)
	for _, r := range c.replicas {
		eventually(c.t, fmt.Sprintf("replica %d to show serial %d", r.n, serial), func() bool {
			r.alive()
			return r.serial() >= serial
		})
	}
	c.h.well(begun)
}

// clients lets n clients ask each replica, until stop is called.
func (c *cluster) clients(n int, seed uint64, some func(*rand.Rand) string) (stop func()) {
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	for _, r := range c.replicas {
		for i := range n {
			cl := &client{
				h: c.h, r: r, rnd: rand.New(rand.NewPCG(seed, uint64(10*r.n+i))),
				pool: usable(poolCIDR), some: some, timeout: time.Second,
			}
			running.Go(func() { cl.run(ctx) })
		}
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			running.Wait()
		})
	}
	c.t.Cleanup(stop)
	return stop
}
