package allocator

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// report says what the plan does.
func (p *plan) report() Report {
	r := Report{Exhausted: p.exhausted, Held: holds(p.held, p.reasons)}
	for _, c := range p.addrs {
		c.count(&r.Allocated, &r.Returned, &r.Released)
	}
	return r
}

// count adds one to what the change is: an address that its owner has for the
// first time, has again, or gives up.
func (c AddrChange) count(allocated, returned, released *int) {
	switch {
	case c.New == nil:
	case c.New.Released:
		*released++
	case c.Old != nil && c.Old.Owner == c.New.Owner:
		*returned++
	default:
		*allocated++
	}
}

// holds returns what is held, by mesh.
func holds(held heldBack, reasons map[string]string) []Hold {
	var list []Hold
	for _, mesh := range sortedNames(held) {
		h := held[mesh]
		keys := sortedKeys(h.keys)
		list = append(list, Hold{Name: h.name(mesh, keys), Mesh: mesh, Gone: h.gone, Entries: keys, Reason: reasons[mesh]})
	}
	return list
}

// logHolds tells of holds that are new, have another reason, or have ended.
func (a *Allocator) logHolds(p *plan) {
	for _, mesh := range sortedNames(p.held) {
		if p.reasons[mesh] != a.reasons[mesh] {
			a.cfg.Logger.Warn("releases are held: the entries keep their addresses until the source lists them again"+
				" or max_release in the Corefile allows as many, or \"meshvipctl release\" lets them go",
				"mesh", mesh, "entries", len(p.held[mesh].keys), "reason", p.reasons[mesh])
		}
	}
	for _, mesh := range sortedNames(a.held) {
		if p.held[mesh] == nil {
			a.cfg.Logger.Info("releases are no longer held", "mesh", mesh)
		}
	}
}

// meshes returns the meshes whose tables the delta changes, sorted.
func (d Delta) meshes() []string {
	set := make(map[string]struct{}, len(d.MeshesNew))
	for _, m := range d.MeshesNew {
		set[m] = struct{}{}
	}
	for _, c := range d.Rows {
		for _, r := range []*vip.Row{c.Old, c.New} {
			if r != nil {
				for _, l := range r.Listings {
					set[l.Mesh] = struct{}{}
				}
			}
		}
	}
	for _, m := range d.MeshesGone {
		delete(set, m)
	}
	return sortedNames(set)
}

// Stats counts what is in a table now.
type Stats struct {
	Entries, Meshes, Waiting, Damaged int
	Held                              int // entries whose release is held
	Pending                           int // moves that wait for their confirmation
	Refused                           int // static addresses that entries do not have
	Repaired                          int // steps of repair since the start
	Meta                              Meta
	Pools                             []PoolUse
}

// PoolUse is how far a pool is used, in addresses.
type PoolUse struct {
	Prefix  netip.Prefix
	Retired bool
	// Size is what the pool can give out, static addresses included and excluded
	// ones not, at most 2^63-1.
	Size uint64
	// Live addresses have an entry, Released ones had one.
	Live, Released int
}

// Stats returns counts of the table. Its cost follows the number of pools.
func (a *Allocator) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Stats{
		Entries: len(a.t.rows), Meshes: len(a.t.meshes),
		Waiting: max(a.t.waiting4.len(), a.t.waiting6.len()), Damaged: len(a.damaged), Meta: a.t.meta,
		Pending: len(a.moves.List), Refused: len(a.notes), Repaired: a.repaired,
	}
	for _, h := range a.held {
		s.Held += len(h.keys)
	}
	for i, p := range a.t.meta.Pools {
		s.Pools = append(s.Pools, PoolUse{
			Prefix: p.Prefix, Retired: p.Retired, Size: a.t.spaces[i].size,
			Live: a.t.used[p.Prefix], Released: a.t.released.size(p.Prefix),
		})
	}
	return s
}

// Held returns the releases that are held, by mesh.
func (a *Allocator) Held() []Hold {
	a.mu.Lock()
	defer a.mu.Unlock()
	return holds(a.held, a.reasons)
}

// Rows returns all rows, sorted by key. The table stands still while they are
// collected, not while they are sorted.
func (a *Allocator) Rows() []*vip.Row {
	a.mu.Lock()
	rows := rowsOf(a.t, a.t.rows)
	a.mu.Unlock()
	return sortRows(rows)
}

// Snapshot returns all rows in no order, for those who need none: sorting a
// million takes seconds.
func (a *Allocator) Snapshot() []*vip.Row {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.t.ordered != nil {
		return slices.Clone(a.t.ordered)
	}
	return rowsOf(a.t, a.t.rows)
}

// MeshRows returns the rows that mesh lists, sorted by key, and whether the
// mesh has a table.
func (a *Allocator) MeshRows(mesh string) ([]*vip.Row, bool) {
	a.mu.Lock()
	keys, ok := a.t.meshes[mesh]
	rows := rowsOf(a.t, keys)
	a.mu.Unlock()
	return sortRows(rows), ok
}

// Meshes returns the names of all meshes that have a table, sorted.
func (a *Allocator) Meshes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.t.meshNames()
}

// Pools returns the ranges that addresses are, or may be, answered from.
func (a *Allocator) Pools() []Pool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.t.meta.Pools)
}

// progress logs how far a long change has come.
type progress struct {
	log         *slog.Logger
	done, total int
	begin, last time.Time
}

// newProgress returns a progress that is silent unless the change is large.
func newProgress(log *slog.Logger, total int) *progress {
	now := time.Now()
	return &progress{log: log, total: total, begin: now, last: now}
}

// add notes n more rows, and logs at most once in two seconds and at the end.
func (p *progress) add(n int) {
	p.done += n
	now := time.Now()
	if p.total <= chunkRows || p.done < p.total && now.Sub(p.last) < 2*time.Second {
		return
	}
	p.last = now
	rate := float64(p.done) / max(now.Sub(p.begin).Seconds(), 1e-9)
	p.log.Info("writing the table", "rows", p.done, "of", p.total, "per second", int(rate),
		"remaining", time.Duration(float64(p.total-p.done)/rate*float64(time.Second)).Round(time.Second))
}
