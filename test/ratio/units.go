package main

// unit is what is run at a time: benchmarks of one package.
type unit struct {
	dir   string // of the package, from the top of the repository
	bench string // as -test.bench takes it
	// most is how many rounds it is run at most, because it takes long; 0: as many
	// as the others.
	most int
	time string // in place of -benchtime, where an iteration is long or many are needed for a median
}

// units are in the order in which a round runs them. Those that a row compares
// with each other stand side by side.
var units = []unit{
	{dir: "plugin/meshvip", bench: "^BenchmarkServeDNS$", most: 3, time: "60x"},
	{dir: "test", bench: "^BenchmarkChange$", time: "200x"},
	{dir: "allocator", bench: "^BenchmarkAgainstRebuilding$/^(rebuild|apply)$"},
	{dir: "allocator", bench: "^BenchmarkPool$", time: "100x"},
	{dir: "test/peers", bench: "^BenchmarkPoolBesideDocker$", time: "100x"},
	{dir: "names", bench: "^BenchmarkApply$/^(1k|1M)$"},
	{dir: "watcher", bench: "^BenchmarkPolicies$/a_Dataplane_more"},
	{dir: "allocator", bench: "^BenchmarkOneEntry$/store=memory", most: 3, time: "100x"},
	{dir: "allocator", bench: "^BenchmarkOneEntry$/store=bolt", most: 3, time: "100x"},
	{dir: "allocator", bench: "^BenchmarkFirstSync$/store=bolt/entries=1000000", most: 3, time: "1x"},
	{dir: "allocator", bench: "^BenchmarkRestart$/entries=1000000", most: 3, time: "3x"},
	{dir: "plugin/meshvip", bench: "^BenchmarkStart$/names=1000000", most: 3, time: "1x"},
	{dir: "allocator/etcdstore", bench: "^BenchmarkCommit$", most: 3},
	{dir: "allocator/etcdstore", bench: "^BenchmarkLoad$", most: 3, time: "3x"},
	{dir: "allocator/etcdstore", bench: "^BenchmarkFollow$", most: 3},
}

// turns is how many of so many rounds a unit is run in.
func (u unit) turns(rounds int) int {
	if u.most > 0 {
		return min(u.most, rounds)
	}
	return rounds
}
