package meshvip

import (
	"context"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/failpoint"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
)

// fill brings the whole table into the index, which is empty, and shows it.
func (r *runtime) fill() {
	r.tell(r.index.Fill(r.alloc.Snapshot()))
	r.showPools()
	s := r.alloc.Stats()
	r.showSerial(s.Meta)
	r.m.identify(s.Meta.ID)
	r.synced.Store(s.Meta.Synced)
	r.loaded.Store(true)
	r.show(s)
	r.log.Info("table loaded", "store", r.store, "id", s.Meta.ID, "entries", s.Entries, "meshes", s.Meshes,
		"serial", r.serial.Load())
}

// showPools lets queries see the pools of the table. A commit may show other
// ones meanwhile: the table is asked until it says what is shown.
func (r *runtime) showPools() {
	for shown := false; !shown; {
		pools := r.alloc.Pools()
		r.storePools(pools)
		shown = slices.Equal(pools, r.alloc.Pools())
	}
}

// storePools shows pools to queries, sorted.
func (r *runtime) storePools(pools []allocator.Pool) {
	prefixes := make([]netip.Prefix, len(pools))
	for i, p := range pools {
		prefixes[i] = p.Prefix
	}
	slices.SortFunc(prefixes, netip.Prefix.Compare)
	// A retired pool may lie in a new one, or around it.
	prefixes = slices.Compact(prefixes)
	if !slices.Equal(prefixes, r.Pools()) { // handlers derive much from them
		r.pools.Store(&prefixes)
	}
}

// showSerial shows the serial of the table. It never falls: not even if the table
// is an older one.
func (r *runtime) showSerial(m allocator.Meta) {
	// The serial of an empty new table: a secondary must not take it for none.
	r.serial.Store(max(m.Serial, r.serial.Load(), 1))
}

// committed publishes what has become durable. The allocator is locked.
func (r *runtime) committed(c allocator.Commit) {
	changes := make([]names.Change, len(c.Rows))
	for i, row := range c.Rows {
		changes[i] = names.Change{Old: row.Old, New: row.New}
	}
	events := r.index.Apply(changes)
	r.tell(events)
	failpoint.Hit("index")
	r.storePools(c.Meta.Pools) // a retired one goes with its last address
	r.showSerial(c.Meta)
	if c.Meta.Synced {
		r.synced.Store(true) // whoever has read the sources
	}
	failpoint.Hit("serial")
	r.notify.committed(c, events)
	r.m.commit(c, r.Leads())
	if changes := r.changes.Load(); changes != nil {
		changes.Record(c)
	}
	r.tally.add(c)
	r.publish.changed(c.Meshes, c.MeshesGone)
	select {
	case r.wake <- struct{}{}: // what falls due may be something else
	default:
	}
}

// show brings the state of the table into the metrics.
func (r *runtime) show(s allocator.Stats) {
	r.m.stats(s)
	if r.named.Swap(false) { // counting them scans the hosts and fqdns
		r.m.conflicts.Set(float64(len(r.index.Conflicts())))
	}
}

// tell logs what became of names.
func (r *runtime) tell(events []names.Event) {
	if len(events) > 0 {
		r.named.Store(true)
	}
	for _, e := range events {
		switch e.Kind {
		case names.NameFree:
			r.log.Info(e.String())
		default:
			r.log.Warn(e.String())
		}
	}
}

// apply makes the table what a batch of the source asks for. ctx is the
// source's.
func (r *runtime) apply(ctx context.Context, b vip.Batch) error {
	report, err := r.alloc.Apply(ctx, b)
	if !r.wroteFor(ctx, err) {
		return err
	}
	r.changed()
	if b.Full && !b.Unread {
		r.synced.Store(true)
		r.notify.look()
	}
	if b.Full && b.Incomplete == "" {
		r.publish.sweep()
	}
	r.waiting(report.Exhausted)
	return nil
}

// changed tells, in the log and in the metrics, what the commits since the last
// time have changed, whatever they were made for.
func (r *runtime) changed() {
	r.show(r.alloc.Stats())
	if s := r.tally.take(); s.allocated+s.returned+s.released > 0 {
		r.log.Info("table changed", "allocated", s.allocated, "returned", s.returned, "released", s.released,
			"transactions", s.transactions, "rows", s.rows, "meshes", s.meshes, "serial", r.Serial())
	}
}

// waiting tells of entries that got no address.
func (r *runtime) waiting(keys []vip.Key) {
	if len(keys) == 0 {
		return
	}
	r.log.Error("the pools are exhausted: entries wait for an address; add a pool, or release entries and wait for the cooldown",
		"waiting", len(keys), "first", keys[0].String())
}
