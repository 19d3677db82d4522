package meshvip

import (
	"context"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/file"
)

// statusInterval is how often the state of sources is shown in metrics.
const statusInterval = time.Second

// follower runs the sources until it is ended.
type follower struct {
	union   *watcher.Union
	configs []SourceConfig
	sources []watcher.Source // of configs
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// follow starts to follow the sources that r is to follow now, until it is ended
// or r is.
func follow(r *runtime) *follower {
	cfg := r.settings.cfg
	ctx, stop := context.WithCancel(r.ctx)
	names := make([]string, len(cfg.Sources))
	for i, s := range cfg.Sources {
		names[i] = s.String()
	}
	f := &follower{union: watcher.NewUnion(names...), configs: cfg.Sources, stop: stop}
	for i, s := range cfg.Sources {
		source := r.newSource(s)
		f.sources = append(f.sources, source)
		f.done.Go(func() {
			if err := source.Run(ctx, f.union.Feed(i)); err != nil && ctx.Err() == nil {
				r.log.Error("the source is no longer followed", "source", s, "error", err)
			}
		})
	}
	f.done.Go(func() { f.union.Run(ctx, r.log, func(b vip.Batch) error { return r.apply(ctx, b) }) })
	f.done.Go(func() { f.measure(ctx, r.m) })
	return f
}

// newSource returns the source that s states.
func (r *runtime) newSource(s SourceConfig) watcher.Source {
	cfg := r.settings.cfg
	return file.New(s.Dir, file.Options{Zone: cfg.KumaZone.Value, Domain: cfg.KumaDomain.Value, Logger: r.log})
}

// measure shows how the sources fare, until ctx is done.
func (f *follower) measure(ctx context.Context, m *runtimeMetrics) {
	t := time.NewTicker(statusInterval)
	defer t.Stop()
	var last watcher.Status
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		s := f.status()
		m.source(last, s)
		last = s
	}
}

// status is how all sources fare together: LastSync is that of the one that was
// read longest ago.
func (f *follower) status() watcher.Status {
	all := f.union.Status()
	for i, source := range f.sources {
		s := source.Status()
		all.Errors += s.Errors
		if i == 0 || s.LastSync.Before(all.LastSync) {
			all.LastSync = s.LastSync
		}
	}
	return all
}

// end stops following and waits until nothing runs any more.
func (f *follower) end() {
	f.stop()
	f.done.Wait()
}
