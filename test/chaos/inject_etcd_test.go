package chaos

import (
	"strings"
	"sync"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// revoke ends the leader's lease behind its back: its key is gone at once, and
// another leads before it has noticed.
func (i *injector) revoke() {
	ctx, cancel := i.within()
	defer cancel()
	r, err := i.client.Get(ctx, prefix+"leader/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		i.t.Fatal(err)
	}
	healed := i.h.harm("revoke", i.leader().n, false)
	defer healed()
	for _, kv := range r.Kvs {
		if strings.HasPrefix(string(kv.Key), prefix+"leader/claims/") {
			continue
		}
		// Whoever held it may have let it go meanwhile.
		if _, err := i.client.Revoke(ctx, clientv3.LeaseID(kv.Lease)); err != nil {
			i.t.Logf("revoking the lease of %s: %v", kv.Value, err)
		}
		return
	}
}

// compact forgets all that the witness has seen.
func (i *injector) compact() {
	ctx, cancel := i.within()
	defer cancel()
	if _, err := i.client.Compact(ctx, i.w.caughtUp(), clientv3.WithCompactPhysical()); err != nil {
		i.t.Logf("compacting: %v", err) // up to the same revision twice
	}
}

func (i *injector) defragment() {
	healed := i.h.harm("defragment", everybody, false)
	defer healed()
	i.etcd[i.rnd.IntN(len(i.etcd))].Defrag(i.t)
}

// some returns one member of etcd, or now and then all of them.
func (i *injector) members() []*etcdtest.Server {
	if len(i.etcd) == 1 || i.rnd.IntN(3) == 0 {
		return i.etcd
	}
	n := i.rnd.IntN(len(i.etcd))
	return i.etcd[n : n+1]
}

func (i *injector) killEtcd() {
	members := i.members()
	healed := i.h.harm("kill etcd", everybody, false)
	defer healed()
	for _, e := range members {
		e.Kill()
	}
	i.sleep(0, 2*lease)
	each(members, (*etcdtest.Server).Restart)
}

func (i *injector) freezeEtcd() {
	members := i.members()
	healed := i.h.harm("stop etcd", everybody, false)
	defer healed()
	for _, e := range members {
		e.Pause()
	}
	i.sleep(lease/2, 3*lease)
	for _, e := range members {
		e.Resume()
	}
}

// restore takes etcd back to where it was some moments ago: no longer than a
// replica may answer what it knew then, for one that starts knows no better.
// Nobody is in contact while the witness looks what there is to be lost.
func (i *injector) restore() {
	i.restoreAfter(func() { i.sleep(i.h.stale()/8, i.h.stale()/3) })
}

// restoreUnheard is restore, where the leader has not heard of the last of what it
// has written, and others have.
func (i *injector) restoreUnheard() {
	i.restoreAfter(func() {
		leader := i.leader()
		healed := i.h.harm("lose replies", leader.n, false)
		defer healed()
		leader.network((*etcdtest.Proxy).DropReplies)
		i.sleep(lease/4, lease)
	})
}

func (i *injector) restoreAfter(what func()) {
	// A snapshot is of one member, and some revisions older or newer than others.
	snapshot := i.etcd[0].Snapshot(i.t)
	what()
	healed := i.h.harm("restore", everybody, false)
	defer healed()
	for _, r := range i.replicas {
		r.network((*etcdtest.Proxy).Cut)
	}
	lost := i.w.caughtUp()
	i.w.rest()
	for _, e := range i.etcd {
		e.Stop()
	}
	each(i.etcd, func(e *etcdtest.Server) { e.Restore(i.t, snapshot) })
	ctx, cancel := i.within()
	defer cancel()
	at, err := i.client.Get(ctx, prefix+"meta")
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Logf("etcd goes from revision %d back to %d", lost, at.Header.Revision)
	i.w.restored(at.Header.Revision)
	for _, r := range i.replicas {
		r.network((*etcdtest.Proxy).Heal)
	}
}

// each does something with members of etcd at the same time: one of several waits
// for the others.
func each(members []*etcdtest.Server, do func(*etcdtest.Server)) {
	var all sync.WaitGroup
	for _, e := range members {
		all.Go(func() { do(e) })
	}
	all.Wait()
}
