package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// fileName is the name of the bolt store in its directory.
const fileName = "meshvip.db"

// epoch is when the simulation begins, by the wall clock of serials.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// simulation is a fleet, and the table that follows it.
type simulation struct {
	settings
	fleet *fleet
	meter *meter
	alloc *allocator.Allocator
	now   time.Duration
	// owed are changes, and meshes that go, which whole numbers of a day have left
	// over.
	owedChanges, owedMeshes float64
	base                    int // the heap before anything was there
	returned                int // by what Apply reports
	waited                  bool
	total                   counts
	written                 int // bytes, by batches and ticks
	sum                     tally
}

// newSimulation opens an empty table.
func newSimulation(ctx context.Context, s settings) (*simulation, error) {
	sim := &simulation{settings: s, fleet: newFleet(s), base: heap()}
	return sim, sim.open(ctx)
}

// open opens the store, and the table over it.
func (s *simulation) open(ctx context.Context) error {
	var store allocator.Store = memstore.New()
	if s.Store == "bolt" {
		b, _, err := boltstore.Open(s.file(), boltstore.Options{NoSync: !s.Sync})
		if err != nil {
			return err
		}
		store = b
	}
	s.meter = newMeter(store, s.Cooldown)
	var err error
	s.alloc, err = allocator.Open(ctx, s.meter, allocator.Config{
		Layout:     allocator.Ranges(s.Pool),
		Cooldown:   s.Cooldown,
		MaxRelease: allocator.Limit{Stated: true, N: 100, Percent: true}, // what goes was meant to
		Forget:     s.Forget,
		Now:        func() time.Time { return epoch.Add(s.now) },
		Running:    func() time.Duration { return s.now },
	})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	return nil
}

func (s *simulation) file() string { return filepath.Join(s.Dir, fileName) }

// fileSize returns the size of the store's file, 0 for one in memory.
func (s *simulation) fileSize() int64 {
	if i, err := os.Stat(s.file()); err == nil && s.Store == "bolt" {
		return i.Size()
	}
	return 0
}

// begin brings the fleet into the empty table.
func (s *simulation) begin(ctx context.Context) (time.Duration, error) {
	b := s.fleet.begin(s.Entries, s.Meshes)
	s.now += time.Second
	begun := time.Now()
	err := s.apply(ctx, b)
	return time.Since(begun), err
}

// apply brings a batch into the table.
func (s *simulation) apply(ctx context.Context, b vip.Batch) error {
	r, err := s.alloc.Apply(ctx, b)
	if err != nil {
		return err
	}
	s.returned += r.Returned
	s.waited = s.waited || len(r.Exhausted) > 0
	if len(r.Held)+len(r.Refused) > 0 {
		return fmt.Errorf("%d releases are held and %d entries refused, of a batch that is in order", len(r.Held), len(r.Refused))
	}
	return nil
}

// event is something that happens to the fleet.
type event struct {
	at   time.Duration
	mesh bool // a whole one goes, and another comes
}

// events are those of the day that begins now, in their order.
func (s *simulation) events() []event {
	mean := 0.0 // services that go by one change: see fleet.change
	for n, p := 1, 1.0; n <= mostChange; n++ {
		mean += p
		p *= float64(meanChange-1) / meanChange
	}
	s.owedChanges += (s.Churn - s.Turnover) * float64(s.Entries) / mean
	s.owedMeshes += s.Turnover * float64(s.Meshes)
	var list []event
	add := func(owed *float64, mesh bool) {
		for ; *owed >= 1; *owed-- {
			list = append(list, event{s.now + time.Duration(s.fleet.r.Int64N(int64(day))), mesh})
		}
	}
	add(&s.owedChanges, false)
	add(&s.owedMeshes, true)
	slices.SortStableFunc(list, func(a, b event) int { return int(a.at - b.at) })
	return list
}

// spend lets a day pass.
func (s *simulation) spend(ctx context.Context, n int) (today, error) {
	d := today{day: n, written: -written(), processor: -processor("self")}
	s.fleet.tally, s.meter.counts = tally{}, counts{}
	end := s.now + day
	tick := s.now + s.Tick
	for _, e := range append(s.events(), event{at: end}) {
		for ; tick <= e.at; tick += s.Tick {
			s.now = tick
			before, begun := written(), time.Now()
			if err := s.alloc.Tick(ctx); err != nil {
				return d, err
			}
			d.ticks = append(d.ticks, time.Since(begun))
			d.tickWritten += written() - before
			d.waiting = append(d.waiting, s.alloc.Stats().Waiting)
		}
		s.now = e.at
		if e.at == end {
			break
		}
		took, err := s.happen(ctx, e)
		if err != nil {
			return d, err
		}
		d.applies = append(d.applies, took...)
	}
	d.written += written() - d.tickWritten
	d.processor += processor("self")
	s.look(&d)
	s.total.add(d.counts)
	s.written += d.written + d.tickWritten
	s.sum.add(d.tally)
	return d, s.audit()
}

// happen lets an event happen, and tells how long each batch took.
func (s *simulation) happen(ctx context.Context, e event) (took []time.Duration, err error) {
	timed := func(b vip.Batch) {
		begun := time.Now()
		err = errors.Join(err, s.apply(ctx, b))
		took = append(took, time.Since(begun))
	}
	if !e.mesh {
		timed(s.fleet.change(s.now))
		return took, err
	}
	b, n := s.fleet.end(s.now)
	timed(b)
	timed(s.fleet.start(s.now, n))
	return took, err
}

// look measures the table as it is.
func (s *simulation) look(d *today) {
	d.tally, d.counts = s.fleet.tally, s.meter.counts
	stats := s.alloc.Stats()
	d.entries = stats.Entries
	pool := stats.Pools[0]
	d.size, d.live = int(pool.Size), pool.Live
	d.cooling = s.meter.cooling.after(s.now - s.Cooldown)
	d.past = pool.Released - d.cooling
	d.heap = s.heap()
	d.file = s.fileSize()
}

// heap is what the table takes of the heap, and a store in memory with it.
func (s *simulation) heap() int {
	return heap() - s.base - s.fleet.bytes() - s.meter.cooling.bytes()
}
