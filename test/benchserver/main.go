// Command benchserver asks real servers the same questions and prints how ours
// compares with its peers: CoreDNS's plugins hosts, file and whoami in a stock
// build, NSD with one worker and Knot with one worker. dnsperf asks, all of it on
// loopback, without privileges.
//
//	benchserver -ours bin/coredns -stock bin/coredns-stock -json bin/bench-server.json
//
// All servers of a size run at once and are asked in turn, over several rounds, so
// that whatever else the machine does meets all of them. What is compared is the
// median over the rounds of the ratio within a round, shown with the quartiles. The
// processor time of a query, from /proc, is the figure that noise and the client
// disturb least.
//
// A goal that is not met is printed, and is no error: machines are noisy. What is
// not installed is left out, with a word on how to have it.
//
// It needs Linux. Only processes that it started are ended, on Ctrl-C too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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
		fmt.Fprintln(os.Stderr, "benchserver:", err)
		os.Exit(2)
	}
	if err := run(ctx, s, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "benchserver:", err)
		stop()
		os.Exit(1)
	}
}

// run measures as s says, prints the table to w, and what it is doing to progress.
func run(ctx context.Context, s settings, w, progress io.Writer) error {
	dir, err := os.MkdirTemp("", "benchserver")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	say := func(format string, args ...any) { fmt.Fprintf(progress, format+"\n", args...) }
	perf, err := findDNSPerf()
	if err != nil {
		return err
	}
	kinds, err := s.kinds(say)
	if err != nil {
		return err
	}
	b := &bench{settings: s, dir: dir, perf: perf, kinds: kinds, say: say}
	r := report{Machine: thisMachine(ctx, perf, kinds), Settings: s}
	for _, n := range s.Sizes {
		size, err := b.size(ctx, n)
		if err != nil {
			return fmt.Errorf("with %d services: %w", n, err)
		}
		r.Sizes = append(r.Sizes, size)
	}
	if b.has(ours) && !s.FullOnly {
		if r.Changes, err = b.changes(ctx, s.Sizes[0]); err != nil {
			return fmt.Errorf("while files change: %w", err)
		}
		if r.Reloads, err = b.reloads(ctx, s.Sizes[0], r.Sizes[0].Rate); err != nil {
			return fmt.Errorf("over reloads: %w", err)
		}
	}
	r.Goals = r.goals()
	r.print(w)
	if s.JSON == "" {
		return nil
	}
	return r.write(s.JSON)
}
