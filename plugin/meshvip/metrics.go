package meshvip

import (
	"sync/atomic"

	"github.com/coredns/coredns/plugin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// No label grows with the table or comes from a query: server, zone, view, store
// and pool are the configuration's. The label store is the path of a bolt file,
// or "memory"; view is what plugin view calls the server block, or empty.

// requestsTotal counts the questions for our zones, by their result: success,
// nodata, nxdomain, fallthrough, servfail, refused.
var requestsTotal = promauto.NewCounterVec(prometheus.CounterOpts{
	Namespace: plugin.Namespace,
	Subsystem: pluginName,
	Name:      "requests_total",
	Help:      "Counter of questions for the zones of meshvip, by result.",
}, []string{"server", "zone", "result", "view"})

// The runtime's metrics.
var (
	// entriesGauge is the number of entries in the table.
	entriesGauge = gauge("entries", "The number of entries in the address table.", "store")
	// poolSize is the number of addresses that a pool can give out.
	poolSize = gauge("pool_addresses", "The number of addresses that a pool can give out.", "store", "pool")
	// poolUsed is the number of a pool's addresses that entries have.
	poolUsed = gauge("pool_used_addresses", "The number of addresses of a pool that entries have.", "store", "pool")
	// poolCooling is the number of a pool's addresses that were released and may
	// not be given to another entry yet.
	poolCooling = gauge("pool_cooling_addresses", "The number of addresses of a pool that wait for the end of their cooldown.", "store", "pool")
	// exhausted is the number of entries that wait for an address: because the
	// pools of a family are full, or for a static one that cools down.
	exhausted = gauge("exhausted_entries", "The number of entries that wait for an address.", "store")
	// pendingMoves is the number of moves that wait to be confirmed.
	pendingMoves = gauge("pending_moves", "The number of moves that wait until they are confirmed.", "store")
	// refusedStatics is the number of static addresses that the entry which is
	// to have it has not: another has it, or it cools down.
	refusedStatics = gauge("refused_statics", "The number of static addresses that their entries cannot have at present.", "store")
	// conflicts is the number of names that more than one entry claims.
	conflicts = gauge("conflicts", "The number of names that more than one entry claims.", "store")
	// heldReleases is the number of releases that wait to be confirmed.
	heldReleases = gauge("held_releases", "The number of releases that are held until they are confirmed.", "store")
	// serialGauge is the table's serial, which the SOA shows.
	serialGauge = gauge("serial", "The serial of the address table, as in the SOA.", "store")
	// lastSync is the Unix time in seconds of the last complete reading of the
	// source.
	lastSync = gauge("last_sync_timestamp_seconds", "The Unix time of the last complete reading of the source.", "store")
	// storeLost is 1 while the store cannot be written, else 0.
	storeLost = gauge("store_lost", "Whether the store cannot be written: 1 if so, else 0.", "store")

	// allocations counts addresses given to entries.
	allocations = counter("allocations_total", "Counter of addresses that were given to entries.", "store")
	// releases counts addresses that entries gave back.
	releases = counter("releases_total", "Counter of addresses that entries gave back.", "store")
	// moves counts entries that got another address.
	moves = counter("moves_total", "Counter of entries that were moved to another address.", "store")
	// repairs counts what was changed in tables that broke their rules.
	repairs = counter("repairs_total", "Counter of the steps in which the table was repaired.", "store")
	// sourceErrors counts what could not be read or was set aside.
	sourceErrors = counter("source_errors_total", "Counter of resources and files that could not be read or were set aside.", "store")

	// leaderGauge is 1 where this process allocates for the replicas of a table.
	leaderGauge = gauge("leader", "Whether this replica allocates addresses: 1 if so, else 0.", "store")
	// replicaLag is by how many revisions a replica was behind when etcd was asked
	// last, replicaContact how long ago it was known to be behind nothing.
	replicaLag     = gauge("replica_lag_revisions", "By how many revisions this replica was behind the table in etcd when it was asked last.", "store")
	replicaContact = gauge("replica_lag_seconds", "How long ago this replica was known to have all that the table in etcd has.", "store")
	// storeInfo tells stores apart: replicas of one table show one ID.
	storeInfo = gauge("store_info", "The ID of the store, which no two tables share; always 1.", "store", "id")
	// elections counts how often a replica began or ceased to allocate.
	elections = counter("election_changes_total", "Counter of times that this replica began or ceased to allocate.", "store")
	// watchRestarts counts how often the watch on etcd was begun anew.
	watchRestarts = counter("watch_restarts_total", "Counter of times that the watch on etcd was begun anew, or the table read again.", "store")
	// commitConflicts counts commits that etcd refused.
	commitConflicts = counter("commit_conflicts_total", "Counter of commits that the store refused, because it was not as planned on.", "store")

	// commitDuration is the time that transactions of the store took.
	commitDuration = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Namespace:                   plugin.Namespace,
		Subsystem:                   pluginName,
		Name:                        "commit_duration_seconds",
		Buckets:                     plugin.TimeBuckets,
		NativeHistogramBucketFactor: plugin.NativeHistogramBucketFactor,
		Help:                        "Histogram of the time that the commits of the store took.",
	}, []string{"store"})
)

// gauge returns a registered gauge of this plugin.
func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return promauto.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: name, Help: help,
	}, labels)
}

// counter returns a registered counter of this plugin.
func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: name, Help: help,
	}, labels)
}

// counters holds one zone's counters of each server and view that asks it, so
// that a query does not look them up by their labels. The servers of a process
// and their views are few, and stay.
type counters struct {
	sets atomic.Pointer[[]counterSet]
}

// counterSet is the counters of one zone for one server and view.
type counterSet struct {
	server, view string
	by           [nResults]prometheus.Counter
}

// of returns the counters of a server and a view for the zone whose label is
// zone.
func (c *counters) of(server, view, zone string) *[nResults]prometheus.Counter {
	known := c.sets.Load()
	if known != nil {
		for i := range *known {
			if s := &(*known)[i]; s.server == server && s.view == view {
				return &s.by
			}
		}
	}
	// Two queries may both come here: whichever stores last wins, and what it
	// lacks is found again, for the vector has one counter a label set.
	s := counterSet{server: server, view: view}
	for r := range s.by {
		s.by[r] = requestsTotal.WithLabelValues(server, zone, result(r).String(), view)
	}
	var grown []counterSet
	if known != nil {
		grown = append(grown, *known...)
	}
	grown = append(grown, s)
	c.sets.Store(&grown)
	return &s.by
}
