package meshvip

import (
	"strings"
	"sync"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/prometheus/client_golang/prometheus"
)

// runtimeMetrics sets one runtime's metrics. It is used by several goroutines.
type runtimeMetrics struct {
	store                                             string // the label
	entries, exhausted, conflicts, held, serial, sync prometheus.Gauge
	lost, pending, refused                            prometheus.Gauge
	allocations, releases, sourceErrors               prometheus.Counter
	moves, repairs                                    prometheus.Counter
	leader, lag, contact                              prometheus.Gauge   // nil where nobody else has the store
	elections, watches, refusals                      prometheus.Counter // as well
	commits                                           prometheus.Observer

	mu       sync.Mutex
	pools    map[string]struct{} // those that are shown
	repaired int                 // steps that are counted
}

// newRuntimeMetrics returns the metrics of the runtime with that identity.
func newRuntimeMetrics(id string) *runtimeMetrics {
	label := strings.TrimPrefix(id, "bolt ")
	m := &runtimeMetrics{
		store:        label,
		entries:      entriesGauge.WithLabelValues(label),
		exhausted:    exhausted.WithLabelValues(label),
		conflicts:    conflicts.WithLabelValues(label),
		held:         heldReleases.WithLabelValues(label),
		serial:       serialGauge.WithLabelValues(label),
		sync:         lastSync.WithLabelValues(label),
		lost:         storeLost.WithLabelValues(label),
		pending:      pendingMoves.WithLabelValues(label),
		refused:      refusedStatics.WithLabelValues(label),
		moves:        moves.WithLabelValues(label),
		repairs:      repairs.WithLabelValues(label),
		allocations:  allocations.WithLabelValues(label),
		releases:     releases.WithLabelValues(label),
		sourceErrors: sourceErrors.WithLabelValues(label),
		commits:      commitDuration.WithLabelValues(label),
		pools:        make(map[string]struct{}),
	}
	if strings.HasPrefix(id, storeEtcd+" ") {
		m.leader, m.lag, m.contact = leaderGauge.WithLabelValues(label), replicaLag.WithLabelValues(label), replicaContact.WithLabelValues(label)
		m.elections, m.watches = elections.WithLabelValues(label), watchRestarts.WithLabelValues(label)
		m.refusals = commitConflicts.WithLabelValues(label)
	}
	return m
}

// identify shows the ID of the store, in the place of another.
func (m *runtimeMetrics) identify(id string) {
	storeInfo.DeletePartialMatch(prometheus.Labels{"store": m.store})
	storeInfo.WithLabelValues(m.store, id).Set(1)
}

// close takes the runtime's metrics away: what is no longer served must not be
// shown as if it stood still.
func (m *runtimeMetrics) close() {
	for _, v := range []interface{ DeletePartialMatch(prometheus.Labels) int }{
		entriesGauge, exhausted, conflicts, heldReleases, serialGauge, lastSync, storeLost,
		pendingMoves, refusedStatics, moves, repairs, allocations, releases, sourceErrors, commitDuration,
		poolSize, poolUsed, poolCooling, leaderGauge, replicaLag, replicaContact, storeInfo,
		elections, watchRestarts, commitConflicts,
	} {
		v.DeletePartialMatch(prometheus.Labels{"store": m.store})
	}
}

// commit counts one commit, ours or that of another replica.
func (m *runtimeMetrics) commit(c allocator.Commit, ours bool) {
	m.serial.Set(float64(c.Meta.Serial))
	if !ours {
		return // so that the sum over all replicas is that of the table
	}
	m.commits.Observe(c.Took.Seconds())
	m.allocations.Add(float64(c.Allocated + c.Returned))
	m.releases.Add(float64(c.Released))
	m.moves.Add(float64(len(c.Moves)))
}

// stats shows the state of the table.
func (m *runtimeMetrics) stats(s allocator.Stats) {
	m.entries.Set(float64(s.Entries))
	m.exhausted.Set(float64(s.Waiting))
	m.held.Set(float64(s.Held))
	m.pending.Set(float64(s.Pending))
	m.refused.Set(float64(s.Refused))
	m.serial.Set(float64(s.Meta.Serial))
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Repaired > m.repaired {
		m.repairs.Add(float64(s.Repaired - m.repaired))
		m.repaired = s.Repaired
	}
	gone := m.pools
	m.pools = make(map[string]struct{}, len(s.Pools))
	for _, p := range s.Pools {
		pool := p.Prefix.String()
		m.pools[pool] = struct{}{}
		delete(gone, pool)
		poolSize.WithLabelValues(m.store, pool).Set(float64(p.Size))
		poolUsed.WithLabelValues(m.store, pool).Set(float64(p.Live))
		poolCooling.WithLabelValues(m.store, pool).Set(float64(p.Released))
	}
	for pool := range gone {
		for _, v := range []*prometheus.GaugeVec{poolSize, poolUsed, poolCooling} {
			v.DeleteLabelValues(m.store, pool)
		}
	}
}

// source shows how a source fares, and what has gone wrong since last.
func (m *runtimeMetrics) source(last, now watcher.Status) {
	m.sourceErrors.Add(float64(now.Errors - last.Errors))
	if !now.LastSync.IsZero() {
		m.sync.Set(float64(now.LastSync.Unix()))
	}
}
