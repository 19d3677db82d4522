package allocator_test

import (
	"fmt"
	"strings"
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

// TestWhatIsLargerThanACommitIsRefused, and what the mesh said before stands: a
// port too many is no reason to take an entry's address away.
func TestWhatIsLargerThanACommitIsRefused(t *testing.T) {
	t.Parallel()
	store := memstore.NewLimited(allocator.Limits{Bytes: 20_000})
	a := open(t, store, nil, allocator.Config{Layout: layout("10.0.0.0/29"), MaxRelease: anyRelease})
	sized := func(name string, n int) vip.Request {
		r := requests(name)[0]
		r.Outbounds = []vip.Outbound{{Port: 80, Origin: strings.Repeat("x", n)}}
		return r
	}
	if r := apply(t, a, full(with("m", []vip.Request{sized("a", 18_000), sized("b", 10)}))); len(r.Refused) != 0 {
		t.Errorf("refused: %v", r.Refused)
	}
	r := apply(t, a, full(with("m", []vip.Request{sized("a", 19_900), sized("b", 21_000), sized("c", 21_000), sized("d", 10)})))
	if len(r.Refused) != 3 || !strings.Contains(r.Refused[0].String(), "the store takes 20000 in one commit: give it fewer ports") {
		t.Errorf("refused: %v", r.Refused)
	}
	wantTable(t, a, map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "d": "10.0.0.3"})
	if o := a.Rows()[0].Listings[0].Outbounds; len(o[0].Origin) != 18_000 {
		t.Errorf("a is listed with %d bytes", len(o[0].Origin))
	}
	if r := apply(t, a, part(with("m", []vip.Request{sized("a", 19_900)}))); len(r.Refused) != 1 || r.Released != 0 {
		t.Errorf("%+v", r)
	}
}
