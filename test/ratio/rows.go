package main

import (
	"fmt"
	"strconv"
)

// row is one line of the table: a value, or the quotient of two.
type row struct {
	what           string
	bench, unit    string  // "ServeDNS/names=10000/A", "ratio"
	per            float64 // the value's unit is divided by this; 0: it is not
	peer, peerUnit string  // empty: the value stands by itself
	goal           float64
}

const (
	ns      = "ns/op"
	second  = 1e9 // of nanoseconds
	million = "entries=1000000/meshes=10000"
	sync    = "FirstSync/store=bolt/" + million
	restart = "Restart/" + million
	start   = "Start/names=1000000/meshes=10000"
)

var rows = []row{
	ratio("A, 10,000 names, of plugin hosts' time", "ServeDNS/names=10000/A", 0.5),
	ratio("A, 1,000,000 names, of plugin hosts' time", "ServeDNS/names=1000000/A", 0.5),
	ratio("AAAA, 1,000,000 names, of plugin hosts' time", "ServeDNS/names=1000000/AAAA", 0.5),
	ratio("PTR, 10,000 names, of plugin hosts' time", "ServeDNS/names=10000/PTR4", 0.25),
	ratio("PTR, 1,000,000 names, of plugin hosts' time", "ServeDNS/names=1000000/PTR4", 0.25),
	ofFile("A, 10,000 names, of plugin file's time", "ServeDNS/names=10000/A", 0.5),
	ofFile("A, 1,000,000 names, of plugin file's time", "ServeDNS/names=1000000/A", 0.5),
	ofFile("a name that does not exist, 1,000,000 names, of plugin file's time", "ServeDNS/names=1000000/NXDOMAIN", 0.5),
	ofFile("a type that a name lacks, 1,000,000 names, of plugin file's time", "ServeDNS/names=1000000/NODATA", 0.5),
	ofFile("an ancestor of names, 1,000,000 names, of plugin file's time", "ServeDNS/names=1000000/ancestor", 0.5),
	{what: "A, allocations", bench: "ServeDNS/names=1000000/A", unit: "meshvip-allocs", goal: 4},
	{what: "PTR, allocations", bench: "ServeDNS/names=1000000/PTR4", unit: "meshvip-allocs", goal: 4},
	applied("memory", 1_000_000, 10_000, 1_000_000, 10, 1.2),
	applied("memory", 1_000_000, 10, 1000, 10, 3),
	applied("bolt", 1_000_000, 10_000, 1_000_000, 10, 1.2),
	applied("bolt", 1_000_000, 10, 1000, 10, 3),
	{what: "publish one entry: 1,000,000 names to 1,000", bench: "Apply/1M", unit: ns, peer: "Apply/1k", peerUnit: ns, goal: 3},
	rebuilt(10), rebuilt(100), rebuilt(500),
	{
		what:  "one new entry, 100 services a mesh: 500 meshes to 10",
		bench: "AgainstRebuilding/apply/meshes=500", unit: ns, peer: "AgainstRebuilding/apply/meshes=10", peerUnit: ns, goal: 2,
	},
	ratio("an address of a /16 that is 99.9 % full, to an empty one", "Pool/v4-16-full", 2),
	ratio("an address of a /64 with all but 65,536 excluded, 99.9 % of them taken, to an empty one", "Pool/v6-64-all-but-65536-excluded", 2),
	ratio("an address of a /64 whose first 65,534 are 99.9 % taken, to an empty one", "Pool/v6-64-first-65534-full", 2),
	ratio("take an address of a full /16 and give it back, by Apply with owners, of Docker's time for the bits", "PoolBesideDocker/v4-16-full", 10),
	ratio("take an address of a /64 whose first 65,534 are full and give it back, of Docker's time for the bits", "PoolBesideDocker/v6-64-first-65534-full", 10),
	{what: "first sync of 1,000,000 entries in 10,000 meshes into bolt, seconds", bench: sync, unit: ns, per: second, goal: 30},
	{what: "first sync of 1,000,000 entries, to the time in which plugin hosts loads as many names", bench: sync, unit: ns, per: second, peer: start, peerUnit: "hosts-s", goal: 20},
	{what: "load and verify 1,000,000 entries in 10,000 meshes, seconds", bench: restart, unit: ns, per: second, goal: 5},
	{what: "start a server over a table of 1,000,000 entries, seconds", bench: start, unit: "meshvip-s", goal: 5},
	ratio("start a server over 1,000,000 entries, of the time of one with plugin hosts", start, 2),
	{what: "commit one new entry to etcd, of the time of a bare transaction of as many keys", bench: "Commit/one", unit: ns, peer: "Commit/one-bare", peerUnit: ns, goal: 1.5},
	{what: "commit 40 new entries to etcd, of the time of a bare transaction of as many keys", bench: "Commit/forty", unit: ns, peer: "Commit/forty-bare", peerUnit: ns, goal: 1.5},
	{what: "load 100,000 entries from etcd, of the time in which their keys are read", bench: "Load/entries=100000", unit: ns, peer: "Load/entries=100000-bare", peerUnit: ns, goal: 2},
	{what: "live heap of a table after its first sync, bytes an entry", bench: sync, unit: "B/entry", goal: 1024},
	{what: "live heap of a table after a restart, bytes an entry", bench: restart, unit: "B/entry", goal: 1024},
	{what: "live heap of a server with table and index, bytes an entry", bench: start, unit: "meshvip-B/name", goal: 1024},
}

// ratio is the row of a benchmark that compares by itself.
func ratio(what, bench string, goal float64) row {
	return row{what: what, bench: bench, unit: "ratio", goal: goal}
}

// ofFile is ratio for one that compares with plugin file too.
func ofFile(what, bench string, goal float64) row {
	return row{what: what, bench: bench, unit: "file-ratio", goal: goal}
}

// applied is the row of one new entry in a table of n entries in meshes,
// against another.
func applied(store string, n, meshes, peerN, peerMeshes int, goal float64) row {
	name := func(n, m int) string { return fmt.Sprintf("ApplyOne/store=%s/entries=%d/meshes=%d", store, n, m) }
	what := fmt.Sprintf("one new entry, %s: %s entries in %s meshes to %s in %s",
		store, thousands(n), thousands(meshes), thousands(peerN), thousands(peerMeshes))
	return row{what: what, bench: name(n, meshes), unit: ns, peer: name(peerN, peerMeshes), peerUnit: ns, goal: goal}
}

// rebuilt is the row of one new entry against the rebuilding of all tables.
func rebuilt(meshes int) row {
	name := func(how string) string { return fmt.Sprintf("AgainstRebuilding/%s/meshes=%d", how, meshes) }
	return row{
		what:  fmt.Sprintf("one new entry in %d meshes of 100 services, of the time of a rebuild", meshes),
		bench: name("apply"), unit: ns, peer: name("rebuild"), peerUnit: ns, goal: 0.1,
	}
}

// thousands prints n with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
