package etcdstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/meshvip/coredns-meshvip/vip"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// BenchmarkFollow is the time from a new entry at the leader until a follower has
// it, beside that from a bare transaction of keys of that size until a watch has
// told of them: ratio is the quotient. Both are done in turns, on one etcd.
func BenchmarkFollow(b *testing.B) {
	etcd := etcdtest.Start(b)
	want := newDesire(numbered("svc", 500)...)
	leader := join(b, "leader", etcd.Endpoint(), "/meshvip/", want)
	follower := join(b, "follower", etcd.Endpoint(), "/meshvip/", nil)
	agree(b, want, leader, follower)

	puts := writes(b, etcd, leader)
	client, watcher := etcd.Client(b), etcd.Client(b)
	events := watcher.Watch(b.Context(), "/bare/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-events

	var ours, bare time.Duration
	n := 0
	for b.Loop() {
		n++
		begin := time.Now()
		batch := vip.Batch{Meshes: []vip.MeshUpdate{{Mesh: vip.DefaultMesh, Set: []vip.Request{
			{Entry: vip.Entry{Name: fmt.Sprintf("bench-%06d", n)}},
		}}}}
		if _, err := leader.alloc.Apply(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		for rev := leader.alloc.Stats().Meta.Revision; follower.alloc.Stats().Meta.Revision < rev; {
			<-follower.told
		}
		ours += time.Since(begin)

		begin = time.Now()
		resp, err := client.Txn(b.Context()).Then(puts...).Commit()
		if err != nil {
			b.Fatal(err)
		}
		for told := int64(0); told < resp.Header.Revision; {
			told = (<-events).Events[0].Kv.ModRevision
		}
		bare += time.Since(begin)
	}
	b.ReportMetric(float64(ours.Nanoseconds())/float64(n), "ours-ns/op")
	b.ReportMetric(float64(bare.Nanoseconds())/float64(n), "bare-ns/op")
	b.ReportMetric(ours.Seconds()/bare.Seconds(), "ratio")
}

// writes returns puts of as many keys as a new entry of the table writes, each of
// the size that it has there.
func writes(b *testing.B, etcd *etcdtest.Server, n *node) []clientv3.Op {
	b.Helper()
	var puts []clientv3.Op
	for _, key := range []string{keyMeta, keySerial, keyAddresses + "240.0.0.7", keyEntries + "0/svc-007", keyMeshes + "default/0/svc-007"} {
		resp, err := etcd.Client(b).Get(b.Context(), n.store.prefix+key)
		if err != nil || len(resp.Kvs) != 1 {
			b.Fatalf("key %s: %v, %v", key, resp, err)
		}
		puts = append(puts, clientv3.OpPut("/bare/"+key, strings.Repeat("x", len(resp.Kvs[0].Value))))
	}
	return puts
}
