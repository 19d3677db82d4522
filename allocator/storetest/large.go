package storetest

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// pooled is the meta of a table with pools.
func pooled(m *model) allocator.Meta {
	meta := m.meta
	meta.Clock += time.Minute
	meta.Serial++
	meta.Pools = []allocator.Pool{
		{Prefix: netip.MustParsePrefix("240.0.0.0/4"), Next: netip.MustParseAddr("240.1.0.0")},
		{Prefix: netip.MustParsePrefix("fd00::/64"), Next: netip.MustParseAddr("fd00::100")},
	}
	return meta
}

func large(t *testing.T, s Subject) {
	const n, perMesh = 1_200, 100
	m := newModel(t, s.Store)
	d := allocator.Delta{Meta: pooled(m)}
	addr := v4a
	for i := range n {
		mesh := fmt.Sprintf("mesh-%05d", i/perMesh)
		if i%perMesh == 0 {
			d.MeshesNew = append(d.MeshesNew, mesh)
		}
		change, addrs := added(service(fmt.Sprintf("svc-%06d", i), addr, mesh))
		d.Rows = append(d.Rows, change)
		d.Addrs = append(d.Addrs, addrs...)
		addr = addr.Next()
	}
	m.commitAll(t, s.Store, d)
	s.reopen(t)
	if got := load(t, s.Store); len(got.Rows) != n || len(got.Addrs) != n || len(got.Meshes) != n/perMesh {
		t.Errorf("loaded %d rows, %d addresses, %d meshes", len(got.Rows), len(got.Addrs), len(got.Meshes))
	}
	// All of it goes at once.
	gone := allocator.Delta{Meta: pooled(m), MeshesGone: d.MeshesNew}
	for _, c := range d.Rows {
		gone.Rows = append(gone.Rows, allocator.RowChange{Key: c.Key, Old: c.New})
	}
	for _, c := range d.Addrs {
		gone.Addrs = append(gone.Addrs, allocator.AddrChange{Addr: c.Addr, Old: c.New, New: released(c.New.Owner, gone.Meta.Clock, "m")})
	}
	m.commitAll(t, s.Store, gone)
	// And is forgotten.
	forgotten := allocator.Delta{Meta: pooled(m)}
	for _, c := range gone.Addrs {
		h := m.addrs[c.Addr]
		forgotten.Addrs = append(forgotten.Addrs, allocator.AddrChange{Addr: c.Addr, Old: &h})
	}
	m.commitAll(t, s.Store, forgotten)
	s.reopen(t)
	if got := load(t, s.Store); len(got.Rows)+len(got.Addrs)+len(got.Meshes) != 0 {
		t.Errorf("%d rows, %d addresses, %d meshes are left", len(got.Rows), len(got.Addrs), len(got.Meshes))
	}
}

// many takes an entry that many meshes list through all that can become of it.
func many(t *testing.T, s Subject) {
	const n = 300
	m := newModel(t, s.Store)
	var meshes []string
	for i := range n {
		meshes = append(meshes, fmt.Sprintf("mesh-%03d", i))
	}
	row := service("web", v4a, meshes...)
	change, addrs := added(row)
	m.commitAll(t, s.Store, allocator.Delta{Meta: pooled(m), Rows: []allocator.RowChange{change}, Addrs: addrs, MeshesNew: meshes})

	// Some say something else, some list it no more, and it gets another address.
	var set []vip.Listing
	var drop []string
	for i, mesh := range meshes {
		switch i % 3 {
		case 0:
			set = append(set, vip.Listing{Mesh: mesh, Name: "Web", Outbounds: []vip.Outbound{{Port: 80}}})
		case 1:
			drop = append(drop, mesh)
		}
	}
	other := row.With(set, drop)
	other.V4, other.V6 = v4b, v6a
	meta := pooled(m)
	key, live := row.Key(), &allocator.Holding{Owner: row.Key()}
	m.commitAll(t, s.Store, allocator.Delta{
		Meta: meta, Rows: []allocator.RowChange{{Key: key, Old: row, New: other}},
		Addrs: []allocator.AddrChange{
			{Addr: v4a, Old: live, New: released(key, meta.Clock, "m")}, {Addr: v4b, New: live}, {Addr: v6a, New: live},
		},
	})

	meta = pooled(m)
	m.commitAll(t, s.Store, allocator.Delta{
		Meta: meta, Rows: []allocator.RowChange{{Key: key, Old: other}}, MeshesGone: meshes,
		Addrs: []allocator.AddrChange{
			{Addr: v4b, Old: live, New: released(key, meta.Clock, "m")}, {Addr: v6a, Old: live, New: released(key, meta.Clock, "m")},
		},
	})
	s.reopen(t)
	if got := load(t, s.Store); len(got.Rows)+len(got.Meshes) != 0 || len(got.Addrs) != 3 {
		t.Errorf("%d rows, %d meshes, %d addresses are left", len(got.Rows), len(got.Meshes), len(got.Addrs))
	}
}

// overLimits: a store without limits takes all of it in one commit.
func overLimits(t *testing.T, s Subject) {
	m := newModel(t, s.Store)
	l := s.Store.Limits()
	keys := allocator.Delta{Meta: pooled(m)}
	for i := range max(l.Keys, 1) {
		keys.MeshesNew = append(keys.MeshesNew, fmt.Sprintf("mesh-%06d", i))
	}
	row := service("web", v4a, "mesh-000000")
	row.Listings[0].Outbounds = []vip.Outbound{{Port: 80, Origin: strings.Repeat("x", l.Bytes)}}
	change, addrs := added(row)
	bytes := allocator.Delta{Meta: pooled(m), Rows: []allocator.RowChange{change}, Addrs: addrs, MeshesNew: []string{"mesh-000000"}}
	for what, tc := range map[string]struct {
		delta allocator.Delta
		limit int
	}{"keys": {keys, l.Keys}, "bytes": {bytes, l.Bytes}} {
		if tc.limit == 0 {
			if parts := allocator.Split(tc.delta, m.meta, l); len(parts) != 1 {
				t.Errorf("%d parts for a store without a limit of %s", len(parts), what)
			}
			continue
		}
		before := load(t, s.Store)
		if err := s.Store.Commit(context.Background(), m.next(tc.delta)); err == nil {
			t.Errorf("the store takes more than %d %s", tc.limit, what)
		}
		same(t, load(t, s.Store), before)
		if rev := revision(t, s.Store); rev != before.Meta.Revision {
			t.Errorf("revision %d after a refused commit, want %d", rev, before.Meta.Revision)
		}
	}
}
