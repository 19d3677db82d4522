package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// paths are where things are.
type paths struct {
	coredns, etcd string // the programs
	corefile      string // what the replicas' Corefiles are made from
	resources     string // what the first run begins with
	data          string // what is kept
}

func main() {
	var p paths
	flag.StringVar(&p.coredns, "coredns", "bin/coredns", "the program `coredns`")
	flag.StringVar(&p.etcd, "etcd", "bin/etcd", "the program `etcd`")
	flag.StringVar(&p.corefile, "corefile", "examples/replicas/Corefile", "the `file` that the Corefiles are made from")
	flag.StringVar(&p.resources, "resources", "examples/resources", "the `directory` whose resources the first run copies")
	flag.StringVar(&p.data, "data", "data/cluster", "the `directory` for everything that is kept")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, p); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// run starts everything, tells what happens, and ends everything when ctx ends.
func run(ctx context.Context, p paths) error {
	unlock, err := p.prepare()
	if err != nil {
		return err
	}
	defer unlock()
	c := &cluster{paths: p}
	defer c.stop()
	if err := c.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // somebody changed their mind
		}
		return err
	}
	c.explain(os.Stdout)
	c.watch(ctx)
	return nil
}
