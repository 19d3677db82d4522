package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/rogpeppe/go-internal/testscript"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func init() {
	tableCmds["etcd"] = etcdCmd
	tableCmds["follower"] = followerCmd
}

// TestScriptsWithEtcd runs scripts with a real etcd at $ETCD. Each has prefixes of
// its own.
func TestScriptsWithEtcd(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.WithUnsafeNoFsync())
	client := etcd.Client(t)
	runScripts(t, "testdata/etcd", func(env *testscript.Env) {
		env.Setenv("ETCD", etcd.Endpoint())
		env.Values[etcdKey{}] = client
	})
}

// etcdKey is where a script keeps its client of etcd.
type etcdKey struct{}

// etcdCmd is "etcd put KEY VALUE", "etcd delete PREFIX", or "etcd keys PREFIX N":
// there are N keys below the prefix.
func etcdCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: etcd put KEY VALUE | etcd delete PREFIX | etcd keys PREFIX N")
	}
	client := ts.Value(etcdKey{}).(*clientv3.Client)
	ctx, cancel := context.WithTimeout(context.Background(), awaited)
	defer cancel()
	switch args[0] {
	case "put":
		_, err := client.Put(ctx, args[1], args[2])
		ts.Check(err)
	case "delete":
		_, err := client.Delete(ctx, args[1], clientv3.WithPrefix())
		ts.Check(err)
	case "keys":
		r, err := client.Get(ctx, args[1], clientv3.WithPrefix(), clientv3.WithKeysOnly())
		ts.Check(err)
		if got := fmt.Sprint(r.Count); got != args[2] {
			var keys []string
			for _, kv := range r.Kvs {
				keys = append(keys, string(kv.Key))
			}
			ts.Fatalf("there are %s keys, want %s:\n%s", got, args[2], strings.Join(keys, "\n"))
		}
	default:
		ts.Fatalf("etcd does not know %s", args[0])
	}
}

// followerCmd is "follower LEADER": a server that follows another, "none" is none,
// at $ADDRESS.
func followerCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: follower LEADER")
	}
	leader := strings.TrimPrefix(args[0], "none")
	alloc, err := allocator.Open(context.Background(), memstore.New(), allocator.Config{Follows: true, Cooldown: time.Hour})
	ts.Check(err)
	l := &live{alloc: alloc, changes: admin.NewRecorder()}
	l.changes.Begin(alloc.Stats().Meta)
	ts.Defer(func() { l.close() })
	at, err := l.listen("127.0.0.1:0", admin.Handler(&admin.Table{
		Alloc: alloc, Changes: l.changes, Started: specTime, Version: "v1.2.3", Store: "etcd http://etcd:2379",
		Sources:     func() []admin.Source { return nil },
		Replication: func() *admin.Replication { return &admin.Replication{Leader: leader, Lag: 2, Age: time.Second} },
	}))
	ts.Check(err)
	ts.Setenv("ADDRESS", at)
}
