package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// run simulates what s says and prints it to w.
func run(ctx context.Context, s settings, w io.Writer) error {
	if s.Dir == "" {
		dir, err := os.MkdirTemp("", "simulate")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		s.Dir = dir
	} else if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	sim, err := newSimulation(ctx, s)
	if err != nil {
		return err
	}
	return errors.Join(sim.run(ctx, w), sim.alloc.Close())
}

// run lets the days pass.
func (s *simulation) run(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, "%d entries in %d meshes, store %s, synced %v, pool %v, cooldown %v, seed %d;\n"+
		"each day %.4g %% of the entries go, and as many come, of whom %.4g %% were there before; %.4g %% of the meshes go whole\n",
		s.Entries, s.Meshes, s.Store, s.Sync, s.Pool, s.Cooldown, s.Seed, 100*s.Churn, 100*s.Returns, 100*s.Turnover)
	before, used := written(), processor("self")
	took, err := s.begin(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "first sync: %.2f s (%.2f s of processor time), %d B written for an entry; %d B of heap for an entry, %.1f MiB of file\n\n",
		took.Seconds(), (processor("self") - used).Seconds(), (written()-before)/s.Entries, s.heap()/s.Entries, float64(s.fileSize())/(1<<20))
	fmt.Fprint(w, columns)
	var last today
	for n := range s.Days {
		if last, err = s.spend(ctx, n+1); err != nil {
			return fmt.Errorf("day %d: %w", n+1, err)
		}
		last.print(w)
	}
	s.conclude(w, last)
	return s.end(ctx, w)
}

// conclude prints what the days say together.
func (s *simulation) conclude(w io.Writer, last today) {
	days := float64(s.Days)
	fmt.Fprintf(w, "\na day: %.0f go, %.0f come for the first time, %.0f come back within the cooldown and %.0f later; "+
		"%.0f addresses go from one owner to another\n",
		float64(s.sum.went)/days, float64(s.sum.fresh)/days, float64(s.sum.soon)/days, float64(s.sum.late)/days,
		float64(s.total.reused)/days)
	fmt.Fprintf(w, "written in all: %d keys in %d commits, some %d KiB by the estimate that stores are bounded by; %d KiB to the file\n",
		s.total.keys, s.total.commits, s.total.bytes>>10, s.written>>10)
	need := float64(s.Entries) * (1 + s.Churn*s.Cooldown.Hours()/24)
	fmt.Fprintf(w, "needed: entries * (1 + churn a day * days of cooldown) = %.0f of %d addresses, %.1f %%; had or cooling at the end: %d\n",
		need, last.size, 100*need/float64(last.size), last.live+last.cooling)
	came := float64(last.tally.came())
	switch rate := came - float64(last.tally.soon); {
	case last.meanWaiting() > 0:
		fmt.Fprintf(w, "entries wait for an address: %.0f on the last day on average, each of the %.0f that came for %.1f h\n",
			last.meanWaiting(), came, 24*last.meanWaiting()/max(came, 1))
	case last.unused() > 0:
		fmt.Fprintf(w, "addresses that nobody is known to have had are left for %.0f days; then those past their cooldown are given again\n",
			float64(last.unused())/max(rate, 1))
	default:
		fmt.Fprintf(w, "each address has been had; those past their cooldown are given again\n")
	}
}

// restarts is how often opening the store is timed: the median is told.
const restarts = 3

// end holds the store to the invariants, times its opening, and measures a server
// over it.
func (s *simulation) end(ctx context.Context, w io.Writer) error {
	if s.Store != "bolt" {
		if err := s.auditStore(ctx, s.meter); err != nil {
			return err
		}
		fmt.Fprintln(w, "the store is sound, and says what the fleet does")
		return nil
	}
	cooling := s.meter.cooling
	var times, cpus []time.Duration
	for range restarts {
		if err := s.alloc.Close(); err != nil {
			return err
		}
		s.alloc, s.meter = nil, nil
		runtime.GC()
		begun, used := time.Now(), processor("self")
		if err := s.open(ctx); err != nil {
			return err
		}
		times, cpus = append(times, time.Since(begun)), append(cpus, processor("self")-used)
		s.meter.cooling = cooling
	}
	fmt.Fprintf(w, "restart: %.2f s (%.2f s of processor time); %d B of heap for an entry then\n", median(times).Seconds(), median(cpus).Seconds(), s.heap()/s.Entries)
	if err := s.auditStore(ctx, s.meter); err != nil {
		return err
	}
	fmt.Fprintln(w, "the store is sound, and says what the fleet does")
	if err := s.alloc.Close(); err != nil || s.Server == "" {
		return err
	}
	return s.serve(ctx, w)
}
