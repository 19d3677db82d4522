package meshvip

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/file"
	"github.com/meshvip/coredns-meshvip/watcher/kumaapi"
)

// statusInterval is how often the state of sources is shown in metrics.
const statusInterval = time.Second

// follower runs the sources until it is ended.
type follower struct {
	union   *watcher.Union
	configs []SourceConfig
	sources []watcher.Source
	names   []string      // of sources
	tables  []*kumaTables // that are followed
	telling sync.Mutex    // of followPolicies
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// follow starts to follow the sources that r is to follow now, until it is ended
// or r is.
func follow(r *runtime) *follower {
	configs := r.settings.cfg.Sources
	ctx, stop := context.WithCancel(r.term)
	names := make([]string, len(configs))
	for i, s := range configs {
		names[i] = s.String()
	}
	f := &follower{union: watcher.NewUnion(names...), configs: configs, stop: stop}
	var run []func()
	for i, s := range configs {
		source, err := f.source(r, s)
		if err != nil {
			// The Corefile was checked when it was read: no such source is there.
			r.log.Error("the source is not followed", "source", s, "error", err)
			f.union.Feed(i).Commit(watcher.State{})
			continue
		}
		f.sources, f.names = append(f.sources, source), append(f.names, names[i])
		run = append(run, func() {
			if err := source.Run(ctx, f.union.Feed(i)); err != nil && ctx.Err() == nil {
				r.log.Error("the source is no longer followed", "source", s, "error", err)
			}
		})
	}
	f.followPolicies()
	for _, t := range f.tables {
		f.done.Go(func() { t.run(ctx) })
	}
	for _, source := range run {
		f.done.Go(source)
	}
	f.done.Go(func() { f.union.Run(ctx, r.log, func(b vip.Batch) error { return r.apply(ctx, b) }) })
	f.done.Go(func() { f.measure(ctx, r) })
	return f
}

// source returns the source that s states, with the tables that it follows.
func (f *follower) source(r *runtime, s SourceConfig) (watcher.Source, error) {
	cfg := r.settings.cfg
	if s.Kind == sourceFile {
		return file.New(s.Dir, file.Options{Zone: cfg.KumaZone.Value, Domain: cfg.KumaDomain.Value, Logger: r.log}), nil
	}
	opts := kumaapi.Options{
		TokenFile: s.TokenFile, CA: s.CA, Cert: s.Cert, Key: s.Key, Interval: s.Interval, Follow: s.Follow,
		Zone: cfg.KumaZone.Value, Domain: cfg.KumaDomain.Value, Logger: r.log,
	}
	if s.Tables != "" {
		t := newKumaTables(s.Tables, s.Interval, r.log)
		t.read() // before the source asks for them
		t.tell = f.followPolicies
		f.tables = append(f.tables, t)
		opts.Tables = t
	}
	return kumaapi.New(s.URL, opts)
}

// followPolicies lets the names that policies give have the addresses of Kuma's
// tables, where it is followed: no source lists them.
func (f *follower) followPolicies() {
	if !slices.ContainsFunc(f.configs, func(s SourceConfig) bool { return s.Follow }) {
		return
	}
	f.telling.Lock() // or what was known before might be told last
	defer f.telling.Unlock()
	known := make([]givenAddrs, len(f.tables))
	for i, t := range f.tables {
		known[i] = *t.given.Load()
	}
	f.union.Follow(func(mesh string, key vip.Key) []netip.Addr {
		for _, g := range known {
			if addrs := g.of(mesh, key); len(addrs) > 0 {
				return addrs
			}
		}
		return nil
	})
}

// measure shows how the sources fare, until ctx is done.
func (f *follower) measure(ctx context.Context, r *runtime) {
	t := time.NewTicker(statusInterval)
	defer t.Stop()
	var last watcher.Status
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		s := f.status()
		r.m.source(last, s)
		if p := r.replica.Load(); p != nil {
			p.show() // as attend does, which waits while this replica allocates
		}
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
	for _, t := range f.tables {
		all.Errors += t.status.Load().Errors
	}
	return all
}

// end stops following and waits until nothing runs any more.
func (f *follower) end() {
	f.stop()
	f.done.Wait()
}
