package etcdstore

import (
	"net/netip"
	"testing"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
)

// TestWhoKnowsMoreThanTheLeaderIsHeard lets a replica lead that missed what
// another has answered, after etcd was put back to before that.
func TestWhoKnowsMoreThanTheLeaderIsHeard(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	prefix := "/meshvip/"
	want := newDesire(numbered("old", 10)...)
	a := join(t, "a", etcd.Endpoint(), prefix, want)
	agree(t, want, a)
	proxy := etcdtest.NewProxy(t, etcd.Addr())
	b := join(t, "b", "http://"+proxy.Addr(), prefix, want)
	agree(t, want, a, b)
	proxy.Cut()
	snapshot := etcd.Snapshot(t)
	want.add(numbered("since", 10)...)
	agree(t, want, a)
	before := a.addrs()
	a.Stand(false) // it follows from now on, and is the only one that knows
	eventually(t, "a to follow", a.alloc.Follows)
	etcd.Restore(t, snapshot)
	proxy.Heal()
	want.add(numbered("after", 10)...)
	agree(t, want, a, b)
	kept(t, before, a)
	kept(t, before, b)
	others(t, before, b)
}

// TestANewReplicaDoesNotLeadPastWhatOthersKnow lets a replica come that has seen
// nothing but an etcd that was put back.
func TestANewReplicaDoesNotLeadPastWhatOthersKnow(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	prefix := "/meshvip/"
	want := newDesire(numbered("old", 10)...)
	a := join(t, "a", etcd.Endpoint(), prefix, want)
	only := join(t, "only", etcd.Endpoint(), prefix, nil)
	agree(t, want, a, only)
	snapshot := etcd.Snapshot(t)
	want.add(numbered("since", 10)...)
	agree(t, want, a, only)
	before := only.addrs()
	a.leave()
	etcd.Restore(t, snapshot)
	want.add(numbered("after", 10)...)
	fresh := join(t, "fresh", etcd.Endpoint(), prefix, want)
	agree(t, want, only, fresh)
	kept(t, before, only)
	others(t, before, fresh)
	if !only.alloc.Follows() {
		t.Error("a replica without a source goes on allocating")
	}
}

// others fails the test if an entry that was not in before has an address of it.
func others(t testing.TB, before map[string]netip.Addr, n *node) {
	t.Helper()
	taken := make(map[netip.Addr]string)
	for name, addr := range before {
		taken[addr] = name
	}
	for name, addr := range n.addrs() {
		if had, ok := taken[addr]; ok && had != name {
			t.Errorf("%s has %v, which %s was answered with", name, addr, had)
		}
	}
}
