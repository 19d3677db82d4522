package etcdstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go4.org/netipx"
)

// config returns a Config with a prefix that nobody has.
func config() Config {
	return Config{
		Endpoints: []string{etcd.Endpoint()}, Prefix: "/test/" + rand.Text() + "/", Timeout: 20 * time.Second,
		Name: "replica", Cooldown: time.Minute,
	}
}

// opened opens a store, which is closed at the end of the test.
func opened(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// elected opens a store that may write.
func elected(t testing.TB, cfg Config) *Store {
	t.Helper()
	s := opened(t, cfg)
	lead(t, s)
	return s
}

// lead makes a store the one that may write; another is deposed.
func lead(t testing.TB, s *Store) {
	t.Helper()
	key, term := s.prefix+keyLeader+"key", rand.Text()
	client := etcd.Client(t)
	if _, err := client.Delete(t.Context(), s.prefix+keyLeader, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	resp, err := client.Put(t.Context(), key, term)
	if err != nil {
		t.Fatal(err)
	}
	s.setFence(&fence{key: key, rev: resp.Header.Revision, term: term})
}

// loaded returns what a store holds, which must be sound.
func loaded(t testing.TB, s allocator.Store) allocator.State {
	t.Helper()
	state, err := s.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := allocator.Check(state); err != nil {
		t.Errorf("what was loaded: %v", err)
	}
	return state
}

// pools are those of the tables of tests.
var pools = []allocator.Pool{{Prefix: netip.MustParsePrefix("240.0.0.0/8")}, {Prefix: netip.MustParsePrefix("fd00::/64")}}

// gives returns a delta on revision base that gives an address to a new service
// of mesh m.
func gives(base uint64, name, addr string) allocator.Delta {
	a := netip.MustParseAddr(addr)
	row := &vip.Row{Entry: vip.Entry{Name: name}, V4: a, Listings: []vip.Listing{{Mesh: "m", Name: name}}}
	d := allocator.Delta{
		Base: base, Meta: allocator.Meta{Revision: base + 1, Serial: uint32(base + 1), Clock: time.Second, Pools: pools},
		Rows:  []allocator.RowChange{{Key: row.Key(), New: row}},
		Addrs: []allocator.AddrChange{{Addr: a, New: &allocator.Holding{Owner: row.Key(), Since: 1_700_000_000}, Fresh: true}},
	}
	if base == 0 {
		d.MeshesNew = []string{"m"}
	}
	return d
}

// committed commits a delta.
func committed(t testing.TB, s *Store, d allocator.Delta) {
	t.Helper()
	if err := s.Commit(context.Background(), d); err != nil {
		t.Fatal(err)
	}
}

// numberedState returns a table of n services in so many meshes, as an import
// brings it.
func numberedState(n, meshes int) allocator.State {
	s := allocator.State{Meta: allocator.Meta{
		ID: rand.Text(), Serial: 7, Revision: 9, Clock: time.Hour, Generation: 2, Synced: true, Options: "x",
		Pools: pools,
	}}
	for i := range meshes {
		s.Meshes = append(s.Meshes, fmt.Sprintf("mesh-%05d", i))
	}
	addr := netip.MustParseAddr("240.0.0.1")
	for i := range n {
		name := fmt.Sprintf("svc-%07d", i)
		r := &vip.Row{Entry: vip.Entry{Name: name}, V4: addr, Listings: []vip.Listing{{
			Mesh: s.Meshes[i%meshes], Name: name,
			Outbounds: []vip.Outbound{{Port: 80, Tags: []vip.Tag{{Key: vip.ServiceTag, Value: name}}, Origin: vip.OriginService}},
		}}}
		s.Rows = append(s.Rows, r)
		s.Addrs = append(s.Addrs, allocator.Held{Addr: addr, Holding: allocator.Holding{Owner: r.Key(), Since: 1_700_000_000}})
		addr = addr.Next()
	}
	return s
}

// soon waits until cond holds.
func soon(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !cond(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// unlike says in what two states differ, whatever their order.
func unlike(want, got allocator.State) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Comparer(func(a, b netipx.IPRange) bool { return a == b }),
		cmpopts.SortSlices(func(a, b *vip.Row) bool { return a.Key().Compare(b.Key()) < 0 }),
		cmpopts.SortSlices(func(a, b allocator.Held) bool { return a.Addr.Less(b.Addr) }),
		cmpopts.SortSlices(func(a, b string) bool { return a < b }))
}
