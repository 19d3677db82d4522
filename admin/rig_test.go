package admin_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// rig is a table with all parts around it, as a server has them.
type rig struct {
	t     testing.TB
	cfg   allocator.Config
	alloc *allocator.Allocator
	table *admin.Table
	*admin.Client

	mu      sync.Mutex
	running time.Duration
}

// newRig returns a rig with a pool of an address family each.
func newRig(t testing.TB, change ...func(*allocator.Config)) *rig {
	t.Helper()
	r := &rig{t: t}
	index, rec := names.NewIndex(), admin.NewRecorder()
	index.SetZones([]string{"mesh.", "vip.test."})
	r.cfg = allocator.Config{
		Layout:   allocator.Ranges(netip.MustParsePrefix("240.0.0.0/24"), netip.MustParsePrefix("fd00::/120")),
		Cooldown: time.Hour,
		Running: func() time.Duration {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.running
		},
		OnCommit: func(c allocator.Commit) {
			var changes []names.Change
			for _, row := range c.Rows {
				changes = append(changes, names.Change{Old: row.Old, New: row.New})
			}
			index.Apply(changes)
			rec.Record(c)
		},
	}
	for _, f := range change {
		f(&r.cfg)
	}
	store := memstore.New()
	alloc, err := allocator.Open(context.Background(), store, r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	rec.Begin(alloc.Stats().Meta)
	r.alloc = alloc
	r.table = &admin.Table{
		Alloc: alloc, Index: index, Zones: []string{"mesh.", "vip.test."}, Changes: rec, Started: time.Unix(1e9, 5e8),
		Version: "v1.2.3", Store: "memory",
		Sources: func() []admin.Source {
			return []admin.Source{{
				Name: "file /etc/meshvip", Synced: true, LastSync: time.Unix(1e9, 0), Errors: 2,
				Problems: []admin.Problem{{Place: "a.yaml:3", What: "no such type"}},
			}}
		},
		Resources: func(key vip.Key) []admin.Resource {
			return []admin.Resource{{Mesh: "m", Type: "Dataplane", ResourceMesh: "m", Name: key.Name + "-01", Place: "a.yaml:12"}}
		},
	}
	r.Client = admin.InProcess(admin.Observed(admin.Handler(r.table)))
	t.Cleanup(func() {
		rec.Close()
		r.Close()
		if err := alloc.Verify(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// later lets time pass.
func (r *rig) later(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running += d
}

func (r *rig) apply(b vip.Batch) {
	r.t.Helper()
	if _, err := r.alloc.Apply(context.Background(), b); err != nil {
		r.t.Fatal(err)
	}
}

// configure gives the table another configuration and lets it be followed.
func (r *rig) configure(change func(*allocator.Config)) {
	r.t.Helper()
	change(&r.cfg)
	if err := r.alloc.Configure(r.cfg); err != nil {
		r.t.Fatal(err)
	}
	if err := r.alloc.Tick(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// full is a batch of all that sources ask for, part one of what changed.
func full(meshes ...vip.MeshUpdate) vip.Batch { return vip.Batch{Full: true, Meshes: meshes} }
func part(meshes ...vip.MeshUpdate) vip.Batch { return vip.Batch{Meshes: meshes} }

// set is an update of a mesh that lists entries, by their text.
func set(mesh string, entries ...string) vip.MeshUpdate {
	u := vip.MeshUpdate{Mesh: mesh}
	for _, text := range entries {
		e, err := vip.ParseEntry(text)
		if err != nil {
			panic(err)
		}
		u.Set = append(u.Set, vip.Request{Entry: e, Outbounds: []vip.Outbound{
			{Port: 80, Tags: []vip.Tag{{Key: vip.ServiceTag, Value: e.Name}}, Origin: vip.OriginService},
		}})
	}
	return u
}

// drop is an update of a mesh that no longer lists entries.
func drop(mesh string, entries ...string) vip.MeshUpdate {
	u := vip.MeshUpdate{Mesh: mesh}
	for _, r := range set(mesh, entries...).Set {
		u.Drop = append(u.Drop, r.Entry.Key())
	}
	return u
}

// given is a request of an entry that Kuma has given addresses.
func given(entry, hostname string, addrs ...string) vip.Request {
	r := set("", entry).Set[0]
	r.Terms = &vip.Terms{Hostnames: []string{hostname}}
	for _, a := range addrs {
		r.Terms.Given = append(r.Terms.Given, addr(a))
	}
	return r
}

// many are n services.
func many(n int) (entries []string) {
	for i := range n {
		entries = append(entries, fmt.Sprintf("0:s-%04d", i))
	}
	return entries
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func ranges(s string) []netipx.IPRange { return []netipx.IPRange{netipx.MustParseIPRange(s)} }

// must fails the test unless what a client was asked went well.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
