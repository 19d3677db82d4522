package kumaapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/meshvip/coredns-meshvip/watcher"
)

// maxSlow is how many kinds in a row may have no answer in time before the
// others are not asked.
const maxSlow = 2

// follower is one run of a source: the shell around [mirror] that asks and
// waits. All of it runs in one goroutine.
type follower struct {
	*Source
	feed   watcher.Feed
	mirror *mirror
	pagers []*pager
	pace   *pace
	index  sum // of what "/" answered when the configuration was read
	told   bool
	state  watcher.State // as it was told last
	last   outcome
}

func newFollower(s *Source, feed watcher.Feed) *follower {
	tables := s.opts.Tables
	if !s.opts.Follow {
		tables = nil
	}
	f := &follower{
		Source: s, feed: feed,
		mirror: newMirror(s.base, s.home(), s.opts.Follow, tables),
		pace:   newPace(s.opts.Interval),
	}
	f.mirror.clear = s.clear
	for _, k := range kinds {
		f.pagers = append(f.pagers, newPager(k, reader{s.base, s.home()}, s.client))
	}
	return f
}

// pass reads all kinds once, and reports whether it could do so before ctx was
// done.
func (f *follower) pass(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	f.last = outcome{nothing: true}
	if err := f.client.begin(); err != nil {
		f.failAll(failed(err))
		return ctx.Err() == nil
	}
	if down := f.identify(ctx); down != nil {
		f.failAll(down)
		return ctx.Err() == nil
	}
	if f.mirror.refused() {
		f.last = outcome{refused: true}
		return ctx.Err() == nil
	}
	slow := 0
	for i, l := range f.mirror.kinds {
		got, err := f.pagers[i].list(ctx)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			f.last.nothing = f.last.nothing && got.absent
			f.mirror.list(l, got)
			slow = 0
			continue
		}
		why := failed(err)
		f.last.leave = max(f.last.leave, why.retryAfter)
		f.mirror.fail(l, why)
		if why.slow {
			slow++
		}
		if why.unreachable || slow == maxSlow {
			for _, rest := range f.mirror.kinds[i+1:] {
				f.mirror.fail(rest, why)
			}
			break
		}
	}
	f.mirror.read(time.Now())
	return true
}

// failAll says that nothing could be read.
func (f *follower) failAll(why *failure) {
	f.last.leave = max(f.last.leave, why.retryAfter)
	for _, l := range f.mirror.kinds {
		f.mirror.fail(l, why)
	}
}

// identify asks what control plane this is, where that is not known or may have
// changed. It returns why there is no sense in asking for more.
func (f *follower) identify(ctx context.Context) *failure {
	plane := f.mirror.plane
	a, err := f.client.get(ctx, "", "")
	if err == nil {
		err = plane.index(a.body)
	}
	index := sha256.Sum256(a.body)
	if err == nil && index == f.index {
		f.mirror.unknown = ""
		return nil
	}
	var why *failure
	if errors.As(err, &why) && (why.unreachable || why.slow) {
		return why
	}
	// The mode matters more than the version, so it is asked for in any case.
	a, configErr := f.client.get(ctx, "config", "")
	if configErr == nil {
		configErr = plane.config(a.body)
	}
	if configErr == nil && plane != f.mirror.plane {
		f.opts.Logger.Info("found a control plane", "url", f.base, "product", plane.product,
			"version", plane.version, "mode", plane.mode, "zone", plane.zone)
	}
	f.mirror.plane, f.mirror.unknown, f.index = plane, "", index
	if configErr != nil {
		err = fmt.Errorf("/config: %w", configErr)
	}
	if err != nil {
		f.mirror.unknown, f.index = err.Error(), sum{}
		f.last.leave = max(f.last.leave, failed(err).retryAfter)
	}
	return nil
}

// tell tells the feed what changed, and publishes the status.
func (f *follower) tell() {
	changed := f.mirror.flush(f.feed)
	if state := f.mirror.state(); changed || !f.told || state != f.state {
		f.feed.Commit(state)
		f.told, f.state = true, state
	}
	s, came, went := f.mirror.status()
	f.status.Store(&s)
	for _, p := range came {
		f.opts.Logger.Warn(p.What, "place", p.Place)
	}
	for _, p := range went {
		f.opts.Logger.Info("no longer a problem: "+p.What, "place", p.Place)
	}
}

// wait waits for the next pass. Kuma's tables may change meanwhile.
func (f *follower) wait(ctx context.Context) {
	timer := time.NewTimer(f.pace.pause(f.last))
	defer timer.Stop()
	var tables <-chan struct{}
	if f.mirror.tables != nil {
		tables = f.mirror.tables.Changed()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case _, ok := <-tables:
			if !ok {
				tables = nil
				continue
			}
			f.mirror.retold()
			f.tell()
		}
	}
}
