package allocator_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go.uber.org/goleak"
	"go4.org/netipx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		if err := a.Verify(context.Background()); err != nil && !errors.Is(err, allocator.ErrClosed) {
			t.Errorf("after the test: %v", err)
		}
	})
	return a
}

// prefixes reads pools.
func prefixes(pools ...string) []netip.Prefix {
	var ps []netip.Prefix
	for _, p := range pools {
		ps = append(ps, netip.MustParsePrefix(p))
	}
	return ps
}

// layout returns the layout that has pools and nothing else.
func layout(pools ...string) allocator.Layout { return allocator.Ranges(prefixes(pools...)...) }

// ranges reads "FROM-TO".
func ranges(texts ...string) []netipx.IPRange {
	var rs []netipx.IPRange
	for _, s := range texts {
		rs = append(rs, netipx.MustParseIPRange(s))
	}
	return rs
}

// anyRelease lets everything be released that sources no longer list.
var anyRelease = allocator.Limit{Stated: true, N: 100, Percent: true}

// requests returns what a mesh asks for: services of the given names.
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

// set is an update of one mesh that lists services.
func set(mesh string, names ...string) vip.MeshUpdate {
	return vip.MeshUpdate{Mesh: mesh, Set: requests(names...)}
}

// full is a batch of all that sources ask for.
func full(meshes ...vip.MeshUpdate) vip.Batch { return vip.Batch{Full: true, Meshes: meshes} }

// part is a batch of what changed.
func part(meshes ...vip.MeshUpdate) vip.Batch { return vip.Batch{Meshes: meshes} }

// drop is an update of one mesh that no longer lists services.
func drop(mesh string, names ...string) vip.MeshUpdate {
	u := vip.MeshUpdate{Mesh: mesh}
	for _, n := range names {
		u.Drop = append(u.Drop, vip.Entry{Name: n}.Key())
	}
	return u
}

func apply(t testing.TB, a *allocator.Allocator, b vip.Batch) allocator.Report {
	t.Helper()
	r, err := a.Apply(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tick(t testing.TB, a *allocator.Allocator) {
	t.Helper()
	if err := a.Tick(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// table returns what services have, as "name=address" in words; "" is an entry
// that waits.
func table(a *allocator.Allocator) map[string]string {
	m := make(map[string]string)
	for _, r := range a.Rows() {
		text := ""
		for i, addr := range r.Addrs() {
			if i > 0 {
				text += " "
			}
			text += addr.String()
		}
		m[r.Key().Name] = text
	}
	return m
}
