package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// patience is how long the start of a process may take.
const patience = time.Minute

// Where things listen, if nobody else does; else the next free port.
const (
	dnsPort     = 1053
	readyPort   = 8181
	metricsPort = 9153
	clientPort  = 2379
	peerPort    = 2380
)

// size is the number of replicas.
const size = 3

// cluster is one etcd, and the replicas on it.
type cluster struct {
	paths
	endpoint string // of etcd
	etcd     *child
	replicas []*replica
}

// replica is one CoreDNS.
type replica struct {
	*child
	place
}

// start starts all processes, and waits until all are ready and one leads.
func (c *cluster) start(ctx context.Context) error {
	taken := make(ports)
	if err := c.startEtcd(ctx, taken); err != nil {
		return err
	}
	for i := range size {
		if err := c.startReplica(i+1, taken); err != nil {
			return err
		}
	}
	for _, r := range c.replicas {
		if err := await(ctx, r.child, "ready", func() bool { return answers(ctx, "http://127.0.0.1:"+r.ready+"/ready") }); err != nil {
			return err
		}
	}
	return await(ctx, c.etcd, "of use: no replica leads", func() bool { return len(c.leaders(ctx)) > 0 })
}

func (c *cluster) startEtcd(ctx context.Context, taken ports) error {
	client, err := taken.from(clientPort)
	if err != nil {
		return err
	}
	peer, err := taken.from(peerPort)
	if err != nil {
		return err
	}
	c.endpoint = "http://127.0.0.1:" + client
	peerURL := "http://127.0.0.1:" + peer
	c.etcd, err = spawn("etcd", filepath.Join(c.data, "etcd.log"), c.paths.etcd,
		"--name=etcd", "--data-dir="+filepath.Join(c.data, "etcd"), "--log-format=console",
		"--listen-client-urls="+c.endpoint, "--advertise-client-urls="+c.endpoint,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=etcd="+peerURL)
	if err != nil {
		return err
	}
	return await(ctx, c.etcd, "ready", func() bool { return answers(ctx, c.endpoint+"/health") })
}

func (c *cluster) startReplica(n int, taken ports) error {
	r := &replica{place: place{etcd: c.endpoint}}
	var err error
	if r.resources, err = filepath.Abs(c.kept()); err != nil {
		return err
	}
	for port, first := range map[*string]int{&r.dns: dnsPort, &r.ready: readyPort, &r.metrics: metricsPort} {
		if *port, err = taken.from(first); err != nil {
			return err
		}
	}
	template, err := os.ReadFile(c.corefile)
	if err != nil {
		return err
	}
	corefile, err := localize(string(template), r.place)
	if err != nil {
		return fmt.Errorf("%s: %w", c.corefile, err)
	}
	path := filepath.Join(c.data, fmt.Sprintf("replica%d.Corefile", n))
	if err := os.WriteFile(path, []byte(corefile), 0o644); err != nil {
		return err
	}
	r.child, err = spawn(fmt.Sprintf("replica %d", n), filepath.Join(c.data, fmt.Sprintf("replica%d.log", n)), c.coredns, "-conf", path)
	if err != nil {
		return err
	}
	c.replicas = append(c.replicas, r)
	return nil
}

// stop ends all processes, etcd last, so that the replica which leads can say that
// it no longer does.
func (c *cluster) stop() {
	var replicas sync.WaitGroup
	for _, r := range c.replicas {
		replicas.Go(r.stop)
	}
	replicas.Wait()
	if c.etcd != nil {
		c.etcd.stop()
	}
	fmt.Printf("all have ended; the table stays in %s\n", c.data)
}

// await waits until cond holds, or says with what a process failed.
func await(ctx context.Context, p *child, what string, cond func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%v is not %s; the end of %s:\n%s", p, what, p.log, p.tail())
		case <-p.done:
			return fmt.Errorf("%v has ended; the end of %s:\n%s", p, p.log, p.tail())
		case <-tick.C:
		}
	}
	return nil
}
