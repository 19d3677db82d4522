package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

// reloadMeasurements is how many measurements' time a server is asked while it
// reloads once a second.
const reloadMeasurements = 5

// reloads measures what ours, and plugin hosts beside it, loses at a rate while it
// reloads each second.
func (b *bench) reloads(ctx context.Context, n, rate int) (map[string]sample, error) {
	dir := filepath.Join(b.dir, "reloads")
	s, err := newSite(dir, n)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	all := make(map[string]sample)
	for _, name := range []string{ours, hosts} {
		if !b.has(name) {
			continue
		}
		b.say("%s services: %s reloads each second, for %d s", figures.Thousands(n), name, reloadMeasurements*b.Seconds)
		if all[name], err = b.reloading(ctx, b.kind(name), s, rate); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// reloading measures one server.
func (b *bench) reloading(ctx context.Context, k kind, s site, rate int) (sample, error) {
	p, err := start(ctx, k, s, s.lastName())
	if err != nil {
		return sample{}, err
	}
	defer p.stop()
	if _, err := b.measureFor(ctx, p, s, rate, 1); err != nil {
		return sample{}, err
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	var n int
	wg.Go(func() {
		pace := time.NewTicker(time.Second)
		defer pace.Stop()
		for {
			select {
			case <-quit:
				return
			case <-pace.C:
				_ = p.cmd.Process.Signal(syscall.SIGUSR1) // where it has ended, measuring fails
				n++
			}
		}
	})
	one, err := b.measureFor(ctx, p, s, rate, reloadMeasurements*b.Seconds)
	close(quit)
	wg.Wait()
	one.Reloads = n
	if err != nil {
		return one, fmt.Errorf("%s, reloading: %w", k.name, err)
	}
	return one, nil
}
