// Command simulate lets weeks pass over an address table, in minutes: a fleet of
// meshes whose services come, go and come back changes the real allocator, over the
// real store, on a clock that the simulation moves. It prints for each day what a
// change cost, what it wrote, and where the addresses of the pool are.
//
//	simulate -entries 100000 -days 14 -churn 0.1 -cooldown 24h -pool 240.0.0.0/8
//
// At the end it holds the store to [allocator.Check], and the table to a ledger of
// what the fleet asked for; what differs fails the run. With -server it also starts
// a real server over the store and resource files of the fleet, and says how much
// memory and time that takes.
//
// Commits are not synced to disk unless -sync is given: what is written is counted,
// and how long a disk takes for a sync is the disk's own figure. Times are noisy
// where other work runs beside; counts are the same in every run of a seed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(2)
	}
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		stop()
		os.Exit(1)
	}
}
