package peers

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/libnetwork/ipamapi"
	"github.com/docker/docker/libnetwork/ipams/defaultipam"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// turn is how many addresses one of the two takes and gives back before it is
// the other's turn.
const turn = 100

// taken is how many addresses are taken, all that a /16 has, before each given
// back: 65, so that 99.9 % stay and what is free lies scattered.
const (
	taken = 65_534
	each  = 1000
)

// BenchmarkPoolBesideDocker takes an address and gives it back, from a /16 that
// is 99.9 % full and from a /64 of which the first 65,534 addresses are as full:
// by way of Apply, twice, with owners, a table and a store in memory, and from
// the default address manager of Docker, which keeps a bit for each address and
// knows no owner. The two take turns, so that whatever else the machine does
// meets both; what is reported is the median turn of each.
func BenchmarkPoolBesideDocker(b *testing.B) {
	for _, pool := range []struct {
		name   string
		prefix netip.Prefix
	}{
		{"v4-16-full", netip.MustParsePrefix("240.1.0.0/16")},
		{"v6-64-first-65534-full", netip.MustParsePrefix("fd00:6d76::/64")},
	} {
		b.Run(pool.name, func(b *testing.B) {
			ours, docker := meshvip(b, pool.prefix), dockerOf(b, pool.prefix)
			var us, them []time.Duration
			for b.Loop() {
				us = append(us, timed(ours))
				them = append(them, timed(docker))
			}
			b.ReportMetric(0, "ns/op") // of both together: of no interest
			b.ReportMetric(median(us), "meshvip-ns")
			b.ReportMetric(median(them), "docker-ns")
			b.ReportMetric(median(us)/median(them), "ratio")
		})
	}
}

// timed takes and gives back addresses for one turn.
func timed(once func()) time.Duration {
	begin := time.Now()
	for range turn {
		once()
	}
	return time.Since(begin)
}

// median returns the nanoseconds of an address in the median turn.
func median(turns []time.Duration) float64 {
	slices.Sort(turns)
	return float64(turns[len(turns)/2].Nanoseconds()) / turn
}

// meshvip fills a pool and returns what takes one more address and gives it
// back.
func meshvip(b *testing.B, pool netip.Prefix) (once func()) {
	cfg := allocator.Config{Layout: allocator.Ranges(pool)}
	a, err := allocator.Open(context.Background(), memstore.New(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { a.Close() })
	apply := func(u vip.MeshUpdate) {
		if r, err := a.Apply(context.Background(), vip.Batch{Meshes: []vip.MeshUpdate{u}}); err != nil || len(r.Exhausted) > 0 {
			b.Fatalf("%+v, %v", r, err)
		}
	}
	all := vip.MeshUpdate{Mesh: "default"}
	var some []vip.Key
	for i := range taken {
		e := vip.Entry{Name: fmt.Sprintf("svc-%05d", i)}
		all.Set = append(all.Set, vip.Request{Entry: e})
		if i%each == each-1 {
			some = append(some, e.Key())
		}
	}
	apply(all)
	apply(vip.MeshUpdate{Mesh: "default", Drop: some})
	one := vip.Entry{Name: "one-more"}
	return func() {
		apply(vip.MeshUpdate{Mesh: "default", Set: []vip.Request{{Entry: one}}})
		apply(vip.MeshUpdate{Mesh: "default", Drop: []vip.Key{one.Key()}})
	}
}

// dockerOf does the same with Docker's address manager.
func dockerOf(b *testing.B, pool netip.Prefix) (once func()) {
	m, err := defaultipam.NewAllocator(nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	got, err := m.RequestPool(ipamapi.PoolRequest{AddressSpace: "LocalDefault", Pool: pool.String(), V6: pool.Addr().Is6()})
	if err != nil {
		b.Fatal(err)
	}
	take := func() net.IP {
		addr, _, err := m.RequestAddress(got.PoolID, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		return addr.IP
	}
	giveBack := func(addr net.IP) {
		if err := m.ReleaseAddress(got.PoolID, addr); err != nil {
			b.Fatal(err)
		}
	}
	var some []net.IP
	for i := range taken {
		if addr := take(); i%each == each-1 {
			some = append(some, addr)
		}
	}
	for _, addr := range some {
		giveBack(addr)
	}
	return func() { giveBack(take()) }
}
