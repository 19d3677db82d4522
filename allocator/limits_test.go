package allocator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// TestAnEntryOfThousandsOfMeshesComesAndGoes in transactions of 128 keys, each of
// which leaves a sound table, with one address all the while.
func TestAnEntryOfThousandsOfMeshesComesAndGoes(t *testing.T) {
	t.Parallel()
	store := memstore.NewLimited(allocator.Limits{Keys: 128, Bytes: 512 << 10})
	cfg := allocator.Config{Layout: layout("10.0.0.0/29", "fd00::/125"), Cooldown: time.Hour, MaxRelease: anyRelease}
	commits := 0
	cfg.OnCommit = func(allocator.Commit) {
		commits++
		state, err := store.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := allocator.Check(state); err != nil {
			t.Fatalf("after commit %d: %v", commits, err)
		}
		for _, r := range state.Rows {
			if want := "[10.0.0.1 fd00::]"; fmt.Sprint(r.Addrs()) != want || len(r.Listings) == 0 {
				t.Fatalf("after commit %d %v has %v in %d meshes", commits, r.Key(), r.Addrs(), len(r.Listings))
			}
		}
	}
	a := open(t, store, &clock{}, cfg)
	var come, change, leave []vip.MeshUpdate
	for i := range 3_000 {
		mesh := fmt.Sprintf("mesh-%04d", i)
		come = append(come, set(mesh, "web"))
		change = append(change, set(mesh, "Web"))
		leave = append(leave, drop(mesh, "web"))
	}
	apply(t, a, full(come...))
	wantTable(t, a, map[string]string{"web": "10.0.0.1 fd00::"})
	apply(t, a, part(change...))
	if rows := a.Rows(); len(rows[0].Listings) != 3_000 || rows[0].Entry.Name != "Web" || commits < 3*3_000/126 {
		t.Errorf("%d listings of %q, %d commits", len(rows[0].Listings), rows[0].Entry.Name, commits)
	}
	apply(t, a, part(leave...))
	apply(t, a, full())
	if s := a.Stats(); s.Entries != 0 || s.Meshes != 0 || s.Pools[0].Released != 1 {
		t.Errorf("stats %+v", s)
	}
}
