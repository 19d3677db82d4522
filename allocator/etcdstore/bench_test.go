package etcdstore

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/meshvip/coredns-meshvip/vip"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// benchStore opens a store that may write, on an etcd of its own, which syncs each
// transaction to disk as others do.
func benchStore(b *testing.B, state allocator.State) (*etcdtest.Server, *Store) {
	b.Helper()
	server := etcdtest.Start(b)
	cfg := Config{Endpoints: server.Endpoints(), Prefix: "/meshvip/", Timeout: time.Minute, Cooldown: time.Hour, Name: "bench"}
	if len(state.Rows) > 0 {
		if err := Create(b.Context(), cfg, state); err != nil {
			b.Fatal(err)
		}
	}
	s := opened(b, cfg)
	leadAt(b, server, s)
	return server, s
}

// newcomers returns a delta that gives addresses to n new services of a mesh.
func newcomers(base uint64, from, n int) allocator.Delta {
	d := allocator.Delta{Base: base, Meta: allocator.Meta{
		Revision: base + 1, Serial: uint32(base + 1), Clock: time.Hour, Synced: true, Options: "0123456789abcdef", Pools: pools,
	}}
	for i := from; i < from+n; i++ {
		addr, name := netip.AddrFrom4([4]byte{240, byte(i >> 16), byte(i >> 8), byte(i)}), fmt.Sprintf("service-%07d", i)
		r := &vip.Row{Entry: vip.Entry{Name: name}, V4: addr, Listings: []vip.Listing{{Mesh: "default", Name: name, Outbounds: []vip.Outbound{
			{Port: 80, Tags: []vip.Tag{{Key: vip.ServiceTag, Value: name}}, Origin: vip.OriginService},
		}}}}
		d.Rows = append(d.Rows, allocator.RowChange{Key: r.Key(), New: r})
		d.Addrs = append(d.Addrs, allocator.AddrChange{Addr: addr, New: &allocator.Holding{Owner: r.Key(), Since: 1_764_633_600}, Fresh: true})
	}
	return d
}

// BenchmarkCommit commits new entries, and, as bare, puts as many keys of the same
// sizes in a transaction that compares nothing.
func BenchmarkCommit(b *testing.B) {
	server, s := benchStore(b, allocator.State{})
	first := newcomers(0, 0, 1)
	first.MeshesNew = []string{"default"}
	committed(b, s, first)
	entries, keys := 1, 0
	for _, size := range []struct {
		name string
		n    int
	}{{"one", 1}, {"forty", 40}} {
		b.Run(size.name, func(b *testing.B) {
			for b.Loop() {
				committed(b, s, newcomers(s.position().rev, entries, size.n))
				entries += size.n
			}
		})
		b.Run(size.name+"-bare", func(b *testing.B) {
			t, err := s.transaction(newcomers(s.position().rev, entries, size.n), s.fence.Load(), s.position(), nil)
			if err != nil {
				b.Fatal(err)
			}
			client := server.Client(b)
			for b.Loop() {
				ops := make([]clientv3.Op, len(t.ops))
				for i, op := range t.ops {
					key := fmt.Sprintf("/bare/%0*d", len(op.KeyBytes())-len("/bare/"), keys)
					if i < 2 { // meta and serial are always the same
						key = strings.Repeat("x", len(op.KeyBytes())-1) + string(rune('0'+i))
					}
					ops[i], keys = clientv3.OpPut(key, string(op.ValueBytes())), keys+1
				}
				if _, err := client.Txn(b.Context()).Then(ops...).Commit(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoad loads a table, and, as bare, reads its keys in one request.
func BenchmarkLoad(b *testing.B) {
	const n = 100_000
	server, s := benchStore(b, numberedState(n, 1000))
	b.Run(fmt.Sprint("entries=", n), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if state, err := s.Load(b.Context()); err != nil || len(state.Rows) != n {
				b.Fatalf("%d rows, %v", len(state.Rows), err)
			}
		}
	})
	b.Run(fmt.Sprintf("entries=%d-bare", n), func(b *testing.B) {
		client := server.Client(b)
		b.ReportAllocs()
		for b.Loop() {
			if resp, err := client.Get(b.Context(), s.prefix, clientv3.WithPrefix()); err != nil || len(resp.Kvs) < 3*n {
				b.Fatal(err)
			}
		}
	})
}
