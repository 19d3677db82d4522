package boltstore_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// TestWhatManyMeshesListIsReadInTheirOrder, whichever goroutine reads which mesh.
func TestWhatManyMeshesListIsReadInTheirOrder(t *testing.T) {
	t.Parallel()
	a, err := allocator.Open(t.Context(), memstore.New(), config())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	all := vip.Batch{Full: true}
	for m := range 60 {
		u := vip.MeshUpdate{Mesh: fmt.Sprintf("mesh-%02d", m)}
		for i := range 200 {
			if (i+m)%3 > 0 { // two of three, and each of its own port
				u.Set = append(u.Set, vip.Request{
					Entry:     vip.Entry{Name: fmt.Sprintf("svc-%03d", i)},
					Outbounds: []vip.Outbound{{Port: uint16(1000 + m), Tags: []vip.Tag{{Key: vip.ServiceTag, Value: "v"}}, Origin: vip.OriginService}},
				})
			}
		}
		all.Meshes = append(all.Meshes, u)
	}
	apply(t, a, all)
	want, err := a.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want.Meta.ID = ""
	slices.SortFunc(want.Addrs, func(a, b allocator.Held) int { return a.Addr.Compare(b.Addr) })
	path := filepath.Join(t.TempDir(), "t.db")
	if err := boltstore.Create(path, want, boltstore.Options{}); err != nil {
		t.Fatal(err)
	}
	holds(t, path, want)
}
