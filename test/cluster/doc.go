// Command cluster runs what a table with several replicas needs, on this machine:
// one etcd, and three CoreDNS processes by examples/replicas/Corefile. "make
// cluster" builds and starts it.
//
// It says what to try, and then what happens: who leads, and who has ended. A
// process that somebody else ends is left dead. An interrupt (Ctrl-C) ends all. What
// they know stays in data/cluster, and the next run goes on with it.
package main
