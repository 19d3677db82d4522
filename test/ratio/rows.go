package main

import (
	"fmt"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

// figure is what a benchmark reports in a unit.
type figure struct{ bench, unit string }

// row is one line of the table: a figure by itself, or beside another.
type row struct {
	group, what string
	ours, peer  figure // peer is the zero figure where ours stands by itself
	// goal is what is not to be exceeded: by ours in its unit, or by ours divided
	// by peer. 0: there is none.
	goal float64
	// times: peer is divided by ours, and the goal is to be reached.
	times bool
}

// Groups of rows. They are headings, and stand in this order.
const (
	question = "A question, from ServeDNS to the reply handed over"
	one      = "One new entry, from Apply to the commit (memory, or bolt before the disk's sync)"
	full     = "An address taken and given back, from a pool that is full but for 0.1 %"
	million  = "A table of 1,000,000 entries in 10,000 meshes, and its server"
	change   = "A change, at the server itself"
	inEtcd   = "A table in etcd, beside bare requests of the same keys"
)

// Figures that stand in several rows.
var (
	firstSync = figure{"FirstSync/store=bolt/entries=1000000/meshes=10000", "ns/op"}
	loaded    = figure{"Restart/entries=1000000/meshes=10000", "ns/op"}
	started   = figure{"Start/names=1000000/meshes=10000", "meshvip-s"}
	hostsRead = figure{"Start/names=1000000/meshes=10000", "hosts-s"}
)

var rows = []row{
	asked("A", 10_000, "hosts", 0.5), asked("A", 10_000, "file", 0.5), asked("A", 10_000, "whoami", 0),
	asked("A", 1_000_000, "hosts", 0.5), asked("A", 1_000_000, "file", 0.5), asked("A", 1_000_000, "whoami", 0),
	asked("AAAA", 10_000, "hosts", 0.5), asked("AAAA", 10_000, "file", 0.5),
	asked("AAAA", 1_000_000, "hosts", 0.5), asked("AAAA", 1_000_000, "file", 0.5),
	asked("PTR", 10_000, "hosts", 0.25), asked("PTR", 10_000, "file", 0.5), asked("PTR", 10_000, "whoami", 0),
	asked("PTR", 1_000_000, "hosts", 0.25), asked("PTR", 1_000_000, "file", 0.5), asked("PTR", 1_000_000, "whoami", 0),
	asked("NXDOMAIN", 10_000, "file", 0.5), asked("NXDOMAIN", 10_000, "whoami", 0),
	asked("NXDOMAIN", 1_000_000, "file", 0.5), asked("NXDOMAIN", 1_000_000, "whoami", 0),
	asked("NODATA", 1_000_000, "file", 0.5), asked("ancestor", 1_000_000, "file", 0.5),
	larger("A", 1.5), larger("AAAA", 1.5), larger("PTR", 1.5), larger("NXDOMAIN", 1.5),
	allocated("A"), allocated("AAAA"), allocated("PTR"), allocated("NXDOMAIN"), allocated("NODATA"),

	added("memory", "1M-in-100", "1M-in-10", 1.2), added("memory", "1M-in-1000", "1M-in-10", 1.2),
	added("memory", "1M-in-10000", "1M-in-10", 1.2), added("memory", "1M-in-10", "1k-in-10", 3),
	added("bolt", "1M-in-10000", "1M-in-10", 1.2), added("bolt", "1M-in-10", "1k-in-10", 3),
	rebuilt(10, 0), rebuilt(100, 0), rebuilt(500, 1000),
	{group: one, what: "500 meshes x 100, beside 10 meshes x 100", ours: figure{"AgainstRebuilding/apply/meshes=500", "ns/op"}, peer: figure{"AgainstRebuilding/apply/meshes=10", "ns/op"}, goal: 2},
	{group: one, what: "name published, 1,000,000 beside 1,000", ours: figure{"Apply/1M", "ns/op"}, peer: figure{"Apply/1k", "ns/op"}, goal: 3},
	{group: one, what: "Dataplane read, 1,000 meshes beside 10", ours: figure{"Policies/a_Dataplane_more/meshes=1000", "ns/op"}, peer: figure{"Policies/a_Dataplane_more/meshes=10", "ns/op"}, goal: 2},

	{group: full, what: "a /16, beside an empty one", ours: figure{"Pool/v4-16-full", "µs/full"}, peer: figure{"Pool/v4-16-full", "µs/empty"}, goal: 2},
	{group: full, what: "a /64, all but 65,536 excluded, beside empty", ours: figure{"Pool/v6-64-all-but-65536-excluded", "µs/full"}, peer: figure{"Pool/v6-64-all-but-65536-excluded", "µs/empty"}, goal: 2},
	{group: full, what: "the first 65,534 of a /64, beside empty", ours: figure{"Pool/v6-64-first-65534-full", "µs/full"}, peer: figure{"Pool/v6-64-first-65534-full", "µs/empty"}, goal: 2},
	{group: full, what: "a /16, with owners, beside Docker's bits", ours: figure{"PoolBesideDocker/v4-16-full", "meshvip-ns"}, peer: figure{"PoolBesideDocker/v4-16-full", "docker-ns"}, goal: 10},
	{group: full, what: "a /64, with owners, beside Docker's bits", ours: figure{"PoolBesideDocker/v6-64-first-65534-full", "meshvip-ns"}, peer: figure{"PoolBesideDocker/v6-64-first-65534-full", "docker-ns"}, goal: 10},

	{group: million, what: "first sync into bolt", ours: firstSync, goal: 30e9},
	{group: million, what: "load and verify from bolt", ours: loaded, goal: 5e9},
	{group: million, what: "server started again, until it can answer", ours: started, goal: 5},
	{group: million, what: "the same, beside a server with plugin hosts", ours: started, peer: hostsRead, goal: 2},
	{group: million, what: "live heap of an entry, after the first sync", ours: figure{firstSync.bench, "B/entry"}, goal: 1024},
	{group: million, what: "live heap of an entry, after loading", ours: figure{loaded.bench, "B/entry"}, goal: 1024},
	{group: million, what: "live heap of an entry, whole server", ours: figure{started.bench, "meshvip-B/name"}, goal: 1024},

	{group: change, what: "file written to answer over UDP, p50", ours: figure{"Change/file", "p50-ms"}},
	{group: change, what: "file written to answer over UDP, p99", ours: figure{"Change/file", "p99-ms"}, goal: 50},
	{group: change, what: "the same, at a follower, p50", ours: figure{"Change/follower", "p50-ms"}},
	{group: change, what: "the same, at a follower, p99", ours: figure{"Change/follower", "p99-ms"}, goal: 50},

	{group: inEtcd, what: "one new entry committed", ours: figure{"Commit/one", "ns/op"}, peer: figure{"Commit/one-bare", "ns/op"}, goal: 1.5},
	{group: inEtcd, what: "40 new entries committed", ours: figure{"Commit/forty", "ns/op"}, peer: figure{"Commit/forty-bare", "ns/op"}, goal: 1.5},
	{group: inEtcd, what: "100,000 entries loaded", ours: figure{"Load/entries=100000", "ns/op"}, peer: figure{"Load/entries=100000-bare", "ns/op"}, goal: 2},
	{group: inEtcd, what: "new entry, from the leader to a follower", ours: figure{"Follow", "ours-ns/op"}, peer: figure{"Follow", "bare-ns/op"}, goal: 1.5},
}

// asked is the row of a question beside a plugin's time for the same.
func asked(what string, names int, peer string, goal float64) row {
	bench := fmt.Sprintf("ServeDNS/names=%d/%s", names, what)
	return row{
		group: question, what: fmt.Sprintf("%s, %s names, beside %s", what, figures.Thousands(names), peer),
		ours: figure{bench, "meshvip-ns"}, peer: figure{bench, peer + "-ns"}, goal: goal,
	}
}

// larger is the row of a question among a million names beside ten thousand.
func larger(what string, goal float64) row {
	return row{
		group: question, what: what + ", 1,000,000 names, beside 10,000",
		ours: figure{"ServeDNS/names=1000000/" + what, "meshvip-ns"}, peer: figure{"ServeDNS/names=10000/" + what, "meshvip-ns"}, goal: goal,
	}
}

// allocated is the row of what a question allocates.
func allocated(what string) row {
	return row{group: question, what: what + ", allocations", ours: figure{"ServeDNS/names=1000000/" + what, "meshvip-allocs"}, goal: 4}
}

// added is the row of one new entry in a table beside one in another.
func added(store, table, other string, goal float64) row {
	bench := "OneEntry/store=" + store
	return row{group: one, what: fmt.Sprintf("%s, %s meshes, beside %s", store, table, other), ours: figure{bench, table + "-ns"}, peer: figure{bench, other + "-ns"}, goal: goal}
}

// rebuilt is the row of one new entry beside the rebuilding of all tables, as
// control planes do that keep a table for each mesh.
func rebuilt(meshes int, goal float64) row {
	name := func(how string) string { return fmt.Sprintf("AgainstRebuilding/%s/meshes=%d", how, meshes) }
	return row{
		group: one, what: fmt.Sprintf("%d meshes x 100, beside a rebuild", meshes),
		ours: figure{name("apply"), "ns/op"}, peer: figure{name("rebuild"), "ns/op"}, goal: goal, times: true,
	}
}
