package etcdstore

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestOneReplicaAllocatesAndAllHaveWhatItGives(t *testing.T) {
	t.Parallel()
	etcd, prefix := table(t)
	want := newDesire(numbered("svc", 200)...)
	a := join(t, "a", etcd.Endpoint(), prefix, want)
	b := join(t, "b", etcd.Endpoint(), prefix, want)
	only := join(t, "only", etcd.Endpoint(), prefix, nil)
	agree(t, want, a, b, only)
	want.remove(numbered("svc", 50)...)
	want.add(numbered("new", 50)...)
	agree(t, want, a, b, only)
	if !only.alloc.Follows() {
		t.Error("a replica without a source allocates")
	}
	leads := 0
	for _, n := range []*node{a, b} {
		if !n.alloc.Follows() {
			leads++
		}
	}
	if leads != 1 {
		t.Errorf("%d replicas allocate", leads)
	}
}

func TestALeaderThatEndsIsSucceededAtOnce(t *testing.T) {
	t.Parallel()
	etcd, prefix := table(t)
	want := newDesire(numbered("svc", 20)...)
	a := join(t, "a", etcd.Endpoint(), prefix, want)
	agree(t, want, a)
	b := join(t, "b", etcd.Endpoint(), prefix, want)
	before := a.addrs()
	a.stop()
	leaderOf(t, b)
	want.add("late")
	agree(t, want, b)
	kept(t, before, b)
}

func TestALeaderThatLosesItsLeaseStopsAndFollows(t *testing.T) {
	t.Parallel()
	etcd, prefix := table(t)
	want := newDesire(numbered("svc", 20)...)
	a := join(t, "a", etcd.Endpoint(), prefix, want)
	agree(t, want, a)
	b := join(t, "b", etcd.Endpoint(), prefix, want)
	agree(t, want, a, b)
	before := a.addrs()
	client := etcd.Client(t)
	for i := range 3 {
		leader := leaderOf(t, a, b)
		key, err := client.Get(t.Context(), leader.store.fence.Load().key)
		if err != nil || len(key.Kvs) == 0 {
			continue // it has lost it already
		}
		if _, err := client.Revoke(t.Context(), clientv3.LeaseID(key.Kvs[0].Lease)); err != nil {
			t.Fatal(err)
		}
		want.add(numbered("late", 10*(i+1))...)
		agree(t, want, a, b)
	}
	kept(t, before, a)
	kept(t, before, b)
}

// kept fails the test if n's table has another address for one of before.
func kept(t testing.TB, before map[string]netip.Addr, n *node) {
	t.Helper()
	now := n.addrs()
	for name, addr := range before {
		if now[name] != addr {
			t.Errorf("%s: %s had %v and has %v", n.name, name, addr, now[name])
		}
	}
}

func TestAFollowerThatWasCutOffReadsWhatWasCompacted(t *testing.T) {
	t.Parallel()
	etcd, prefix := table(t)
	want := newDesire(numbered("svc", 20)...)
	a := join(t, "a", etcd.Endpoint(), prefix, want)
	proxy := etcdtest.NewProxy(t, etcd.Addr())
	b := join(t, "b", "http://"+proxy.Addr(), prefix, nil)
	agree(t, want, a, b)
	proxy.Cut()
	want.remove(numbered("svc", 10)...)
	want.add(numbered("new", 10)...)
	agree(t, want, a)
	etcd.Compact(t)
	if b.has(want) {
		t.Fatal("the follower is not cut off")
	}
	if age := b.Age(); age > patience {
		t.Errorf("contact was confirmed %v ago", age)
	}
	proxy.Heal()
	agree(t, want, a, b)
}

func TestContactIsOldWhileEtcdIsOutOfReach(t *testing.T) {
	t.Parallel()
	etcd, prefix := table(t)
	want := newDesire("svc")
	proxy := etcdtest.NewProxy(t, etcd.Addr())
	a := join(t, "a", etcd.Endpoint(), prefix, want)
	b := join(t, "b", "http://"+proxy.Addr(), prefix, nil)
	agree(t, want, a, b)
	proxy.Blackhole()
	cut := time.Now()
	eventually(t, "the age to grow", func() bool { return b.Age() > 4*time.Second })
	if age, most := b.Age(), time.Since(cut)+2*askEvery+b.store.cfg.Timeout; age > most {
		t.Errorf("contact was confirmed %v ago, at most %v is possible", age, most)
	}
	proxy.Heal()
	eventually(t, "contact", func() bool { return b.Age() < 2*time.Second })
}

func TestARestoredEtcdIsBroughtToWhatWasAnswered(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	prefix := "/meshvip/"
	want := newDesire(numbered("old", 20)...)
	a := join(t, "a", etcd.Endpoint(), prefix, want)
	b := join(t, "b", etcd.Endpoint(), prefix, want)
	agree(t, want, a, b)
	snapshot := etcd.Snapshot(t)
	want.add(numbered("since", 20)...)
	want.remove(numbered("old", 5)...)
	agree(t, want, a, b)
	before := a.addrs()
	etcd.Restore(t, snapshot)
	want.add(numbered("after", 20)...)
	agree(t, want, a, b)
	kept(t, before, a)
	kept(t, before, b)
	others(t, before, a)
}

func TestATableThatIsDeletedComesBackAsItWas(t *testing.T) {
	t.Parallel()
	etcd, prefix := table(t)
	want := newDesire(numbered("svc", 20)...)
	a := join(t, "a", etcd.Endpoint(), prefix, want)
	b := join(t, "b", etcd.Endpoint(), prefix, nil)
	agree(t, want, a, b)
	before := a.addrs()
	if _, err := etcd.Client(t).Delete(t.Context(), prefix, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	want.add("late")
	agree(t, want, a, b)
	kept(t, before, a)
	kept(t, before, b)
}

func TestKeysThatSomebodyEditsAreRepaired(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(c *clientv3.Client, prefix string) error{
		"an address goes": func(c *clientv3.Client, prefix string) error {
			_, err := c.Delete(context.Background(), prefix+"addresses/240.0.0.3")
			return err
		},
		"an entry goes": func(c *clientv3.Client, prefix string) error {
			_, err := c.Delete(context.Background(), prefix+"entries/0/svc-003")
			return err
		},
		"a mesh goes": func(c *clientv3.Client, prefix string) error {
			_, err := c.Delete(context.Background(), prefix+"meshes/", clientv3.WithPrefix())
			return err
		},
		"an address is another's": func(c *clientv3.Client, prefix string) error {
			v, err := c.Get(context.Background(), prefix+"addresses/240.0.0.4")
			if err != nil {
				return err
			}
			_, err = c.Put(context.Background(), prefix+"addresses/240.0.0.5", string(v.Kvs[0].Value))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			etcd, prefix := table(t)
			want := newDesire(numbered("svc", 20)...)
			a := join(t, "a", etcd.Endpoint(), prefix, want)
			b := join(t, "b", etcd.Endpoint(), prefix, nil)
			agree(t, want, a, b)
			if err := edit(etcd.Client(t), prefix); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the leader to see it", func() bool { return len(a.watch) > 0 })
			agree(t, want, a, b)
		})
	}
}

func TestReplicasEndWithoutEtcd(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	want := newDesire("svc")
	a := join(t, "a", etcd.Endpoint(), "/meshvip/", want)
	b := join(t, "b", etcd.Endpoint(), "/meshvip/", want)
	agree(t, want, a, b)
	eventually(t, "both to stand for election", func() bool {
		keys, err := etcd.Client(t).Get(t.Context(), "/meshvip/"+leaderPrefix, clientv3.WithPrefix())
		return err == nil && len(keys.Kvs) == 2
	})
	etcd.Kill()
	for _, n := range []*node{a, b} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			n.stop()
			n.done.Wait()
		}()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatalf("%s does not end", n.name)
		}
	}
}

func TestEtcdThatIsKilledIsGoneOnWith(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	prefix := "/meshvip/"
	want := newDesire(numbered("svc", 20)...)
	a := join(t, "a", etcd.Endpoint(), prefix, want)
	b := join(t, "b", etcd.Endpoint(), prefix, want)
	agree(t, want, a, b)
	before := a.addrs()
	for i := range 2 {
		etcd.Kill()
		want.add(numbered("while-away", 5*(i+1))...)
		etcd.Restart()
		agree(t, want, a, b)
	}
	kept(t, before, a)
	kept(t, before, b)
}
