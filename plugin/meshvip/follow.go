package meshvip

import (
	"context"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/file"
)

// statusInterval is how often a source's state is shown in metrics.
const statusInterval = time.Second

// follower runs one source until it is ended.
type follower struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

// follow starts to follow the source that r is to follow now, until it is ended
// or r is.
func follow(r *runtime) *follower {
	cfg := r.settings.cfg
	ctx, stop := context.WithCancel(r.ctx)
	f := &follower{stop: stop}
	var source watcher.Source = file.New(cfg.Source.Value.Dir, file.Options{Zone: cfg.KumaZone.Value, Logger: r.log})
	f.done.Go(func() {
		err := source.Run(ctx, func(b vip.Batch) error { return r.apply(ctx, b) })
		if err != nil && ctx.Err() == nil {
			r.log.Error("the source is no longer followed", "source", cfg.Source.Value, "error", err)
		}
	})
	f.done.Go(func() {
		t := time.NewTicker(statusInterval)
		defer t.Stop()
		var last watcher.Status
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-t.C:
			}
			s := source.Status()
			r.m.source(last, s)
			last = s
		}
	})
	return f
}

// end stops following and waits until nothing runs any more.
func (f *follower) end() {
	f.stop()
	f.done.Wait()
}
