package allocator_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// clock is time that a test moves.
type clock struct {
	running time.Duration
	wall    time.Time
}

// open opens an allocator on a store with a test's time, and verifies the
// table when the test ends.
func open(t testing.TB, store allocator.Store, c *clock, cfg allocator.Config) *allocator.Allocator {
	t.Helper()
	if c != nil {
		cfg.Now = func() time.Time { return c.wall }
		cfg.Running = func() time.Duration { return c.running }
	}
	a, err := allocator.Open(context.Background(), store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Verify(context.Background()); err != nil && !t.Failed() && err.Error() != "closed" {
			t.Errorf("after the test: %v", err)
		}
	})
	return a
}

// request returns what a mesh asks for: services of the given names.
func requests(names ...string) []vip.Request {
	var rs []vip.Request
	for _, n := range names {
		rs = append(rs, vip.Request{
			Entry:     vip.Entry{Name: n},
			Outbounds: []vip.Outbound{{Tags: []vip.Tag{{Key: vip.ServiceTag, Value: n}}, Origin: vip.OriginService}},
		})
	}
	return rs
}

func apply(t testing.TB, a *allocator.Allocator, b vip.Batch) allocator.Report {
	t.Helper()
	r, err := a.Apply(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// addrOf returns the v4 address of a service, the zero Addr if it has none.
func addrOf(a *allocator.Allocator, name string) netip.Addr {
	for _, r := range a.Rows() {
		if r.Key() == (vip.Entry{Name: name}).Key() {
			return r.V4
		}
	}
	return netip.Addr{}
}

func TestOneNameHasOneAddressInEveryMesh(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Pools: []netip.Prefix{netip.MustParsePrefix("240.0.0.0/8")}})
	apply(t, a, vip.Batch{Full: true, Meshes: []vip.MeshUpdate{
		{Mesh: "b", Set: requests("web", "backend")},
		{Mesh: "a", Set: requests("backend", "db")},
	}})
	if got, want := addrOf(a, "backend"), netip.MustParseAddr("240.0.0.1"); got != want {
		t.Errorf("backend has %v, want %v", got, want)
	}
	if got, want := addrOf(a, "web"), netip.MustParseAddr("240.0.0.3"); got != want {
		t.Errorf("web has %v, want %v", got, want)
	}
}
