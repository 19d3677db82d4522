package meshvip

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/meshvip/coredns-meshvip/allocator"
)

const (
	// tickInterval is how often the table's clock is made durable while
	// addresses cool, and entries that wait are looked after.
	tickInterval = time.Minute
	// openRetry bounds the pause between attempts to open a store.
	openRetry = 30 * time.Second
)

// run works until the runtime is to end: it opens the store if need be, and
// allocates, or follows the replica that does.
func (r *runtime) run() {
	if !r.openLater() {
		return
	}
	// It ends after the sources, whose last commit is to be published too.
	publishing, unpublish := context.WithCancel(context.WithoutCancel(r.ctx))
	defer unpublish()
	r.done.Go(func() { r.publish.run(publishing) })
	defer r.desk.close()
	if r.replica.Load() != nil {
		r.attend()
		return
	}
	r.lead(r.ctx)
}

// lead allocates until term is done: it follows the sources, publishes, and does
// what comes with time and with reloads.
func (r *runtime) lead(term context.Context) {
	r.term = term
	r.tally.take() // what was followed is not what is allocated from now on
	r.showPools()
	r.leads.Store(true)
	defer r.leads.Store(false)
	if !r.takeUp() {
		return
	}
	r.setOptions()
	r.publish.all()
	r.notify.look()
	r.followSources()
	r.desk.serve()
	t := time.NewTicker(tickInterval)
	defer t.Stop()
	due := newAlarm()
	defer due.Stop()
	for {
		due.set(r.alloc.Due())
		select {
		case <-term.Done():
			r.sources.end()
			r.following.Store(nil)
			return
		case s := <-r.next:
			r.reconfigure(s)
		case <-r.wake:
			due.changed()
		case <-due.C:
			due.rings()
			r.tick()
		case <-t.C:
			r.setOptions()
			r.tick()
			r.desk.serve()
		}
	}
}

// followSources starts to follow the sources of the Corefile.
func (r *runtime) followSources() {
	r.sources = follow(r)
	r.following.Store(r.sources)
}

// openLater tries to open the store until it is open, and reports whether it
// is: else the runtime is to end.
func (r *runtime) openLater() bool {
	pause := newPause(openRetry)
	for r.alloc == nil {
		select {
		case <-r.ctx.Done():
			return false
		case r.settings = <-r.next:
			configured := r.settings.cfg.Prefixes()
			r.pools.Store(&configured)
		case <-time.After(pause.NextBackOff()):
		}
		if err := r.open(); err != nil && r.ctx.Err() == nil {
			r.unopened(err)
		}
	}
	return true
}

// newPause returns the pauses between attempts: a second, then longer ones up
// to limit.
func newPause(limit time.Duration) *backoff.ExponentialBackOff {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = time.Second, limit
	return pause
}

// takeUp gives a table that nobody has written to the addresses that were
// published, so that a lost store does not renumber a mesh. It tries until that
// is durable, for the source would give the entries other addresses, and
// reports whether the runtime is to go on.
func (r *runtime) takeUp() bool {
	dir := r.settings.cfg.Publish.Value.Dir
	if dir == "" || r.alloc.Stats().Meta.Revision > 0 {
		r.publish.sweepLater()
		return true
	}
	rows, bad := r.publish.published()
	pause := newPause(openRetry)
	for {
		n, refused, err := r.alloc.Adopt(r.term, rows)
		if err == nil {
			bad = slices.Concat(bad, refused)
			for _, e := range bad {
				r.log.Warn("an address that was published is not taken up", "publish", dir, "error", e)
			}
			if n > 0 {
				r.log.Info("took up the published addresses", "publish", dir, "entries", n)
			}
			if len(bad) == 0 {
				r.publish.sweepLater()
			}
			return true
		}
		if r.term.Err() == nil {
			r.m.lost.Set(1)
			r.log.Error("the published addresses cannot be taken up; trying again", "publish", dir, "error", err)
		}
		select {
		case <-r.term.Done():
			return false
		case <-time.After(pause.NextBackOff()):
		}
	}
}

// reconfigure puts s in force: what differs is changed, and what does not
// differ goes on undisturbed. A repair that is asked for is made each time.
func (r *runtime) reconfigure(s settings) {
	was := r.settings
	r.settings = s
	if !reflect.DeepEqual(was, s) {
		r.change(was.cfg, s.cfg)
		r.desk.serve()
	}
	if s.cfg.Repair.Stated() {
		r.repair()
	}
}

// change puts the configuration now in force, in the place of was.
func (r *runtime) change(was, now RuntimeConfig) {
	follows := !equalSources(was.Sources, now.Sources) || was.KumaZone.Value != now.KumaZone.Value ||
		was.KumaDomain.Value != now.KumaDomain.Value
	if follows {
		r.sources.end()
	}
	if err := r.alloc.Configure(r.configuration()); err != nil {
		// The layout was checked when the Corefile was read.
		r.log.Error("the new configuration of the table is not used", "error", err)
	}
	r.showPools()
	r.publish.move(now.Publish.Value)
	r.heed(now)
	r.setOptions()
	r.tick()
	if follows {
		r.followSources()
	}
}

// repair has the store read back, verified and repaired, or reported on.
func (r *runtime) repair() {
	steps, err := r.alloc.Repair(r.term)
	if !r.wrote(err) {
		return
	}
	if len(steps) == 0 {
		r.log.Info("the store was read back and verified: there is nothing to repair", "store", r.store)
	}
	r.changed()
}

// setOptions lets the table's serial follow the blocks' options.
func (r *runtime) setOptions() {
	r.wrote(r.alloc.SetOptions(r.term, r.settings.options))
}

// tick lets time and a new configuration do their work on the table.
func (r *runtime) tick() {
	r.wrote(r.alloc.Tick(r.term))
	r.changed()
}

// wrote tells how an attempt to write the table ended. It reports whether it
// went well.
func (r *runtime) wrote(err error) bool { return r.wroteFor(r.term, err) }

// wroteFor is wrote for what ends with ctx: that is no failure.
func (r *runtime) wroteFor(ctx context.Context, err error) bool {
	switch {
	case err == nil:
		r.m.lost.Set(0)
	case errors.Is(err, allocator.ErrFollows): // whoever leads next does it
	case errors.Is(err, allocator.ErrConflict) && r.replica.Load() != nil:
		r.replica.Load().conflicted(err)
	case ctx.Err() == nil:
		r.m.lost.Set(1)
		r.log.Error("the table cannot be written: addresses that were given stay, no new one is given",
			"store", r.store, "error", err)
	}
	return err == nil
}
