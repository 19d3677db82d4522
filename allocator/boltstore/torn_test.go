package boltstore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// sector is what a disk writes whole.
const sector = 512

// recorded is a store that keeps the last delta.
type recorded struct {
	*boltstore.Store
	last allocator.Delta
}

func (r *recorded) Commit(ctx context.Context, d allocator.Delta) error {
	r.last = d
	return r.Store.Commit(ctx, d)
}

// step is a commit, with the file and what it holds before and after.
type step struct {
	delta         allocator.Delta
	before, after []byte
	was, is       allocator.State
}

// steps commits batches to a copy of a store.
func steps(t *rapid.T, dir string, file []byte, batches []vip.Batch) []step {
	path := filepath.Join(dir, "steps.db")
	was := stateIn(t, dir, file)
	var list []step
	for _, b := range batches {
		s := step{before: file, was: was}
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		store, _, err := boltstore.Open(path, boltstore.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorded{Store: store}
		a, err := allocator.Open(context.Background(), r, config())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Apply(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		// Not what closing the table would write.
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if s.after, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		s.is, s.delta = stateIn(t, dir, s.after), r.last
		if s.is.Meta.Revision != s.was.Meta.Revision+1 {
			continue // it changed nothing, or came in parts
		}
		list, file, was = append(list, s), s.after, s.is
	}
	return list
}

// stateIn returns what a file holds.
func stateIn(t *rapid.T, dir string, file []byte) allocator.State {
	return openFile(t, dir, file, func(*boltstore.Store, allocator.State) {})
}

// openFile opens a file as a store, and calls then with what it holds. All of
// it can be read, and is sound.
func openFile(t *rapid.T, dir string, file []byte, then func(*boltstore.Store, allocator.State)) allocator.State {
	path := filepath.Join(dir, "torn.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, created, err := boltstore.Open(path, boltstore.Options{NoSync: true})
	if err != nil || created {
		t.Fatalf("created %v, %v", created, err)
	}
	defer s.Close()
	state, err := s.Load(context.Background())
	if err != nil || len(state.Damaged) > 0 {
		t.Fatalf("%d records are damaged, %v", len(state.Damaged), err)
	}
	if err := allocator.Check(state); err != nil {
		t.Fatal(err)
	}
	then(s, state)
	return state
}

// tear returns a file that is as before, but for some of the sectors that the
// commit changed, and as long as it had become; the pages with the metas are
// left out.
func (s step) tear(t *rapid.T) []byte {
	length := max(len(s.after), len(s.before))
	torn := make([]byte, rapid.IntRange(len(s.before)/sector, length/sector).Draw(t, "sectors in the file")*sector)
	copy(torn, s.before)
	size := sector
	if rapid.Bool().Draw(t, "by whole pages") {
		size = os.Getpagesize()
	}
	var changed []int
	for at := 2 * os.Getpagesize(); at < len(s.after); at += size {
		if at >= len(s.before) || !bytes.Equal(s.before[at:at+size], s.after[at:at+size]) {
			changed = append(changed, at)
		}
	}
	for i, written := range rapid.SliceOfN(rapid.Bool(), len(changed), len(changed)).Draw(t, "written") {
		if at := changed[i]; written {
			if at >= len(torn) { // writing there makes the file longer
				torn = append(torn, make([]byte, at+size-len(torn))...)
			}
			copy(torn[at:], s.after[at:at+size])
		}
	}
	return torn
}

// someBatch asks for entries that are there, for new ones, few or so many that
// the file grows, and no more for others.
func someBatch(n int) *rapid.Generator[vip.Batch] {
	return rapid.Custom(func(t *rapid.T) vip.Batch {
		u := vip.MeshUpdate{Mesh: rapid.SampledFrom([]string{"blue", "tiny", "new"}).Draw(t, "mesh")}
		seen := make(map[int]bool)
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 2*n), 0, 20).Draw(t, "entries") {
			if seen[i] {
				continue
			}
			seen[i] = true
			r := request(fmt.Sprintf("svc-%04d_blue_svc_80", i))
			if rapid.Bool().Draw(t, "set") {
				u.Set = append(u.Set, r)
			} else {
				u.Drop = append(u.Drop, r.Entry.Key())
			}
		}
		for i := range rapid.SampledFrom([]int{0, 0, 0, 40, 700}).Draw(t, "more") {
			u.Set = append(u.Set, request(fmt.Sprintf("more-%04d_svc_80", i)))
		}
		return vip.Batch{Meshes: []vip.MeshUpdate{u}}
	})
}

// TestACommitThatTearsIsAsIfItHadNotBegun: whatever part of its pages is on the
// disk, the store holds what it held before, all of it, until the meta is there,
// and the commit can be made again.
func TestACommitThatTearsIsAsIfItHadNotBegun(t *testing.T) {
	t.Parallel()
	const n = 80
	path := filepath.Join(t.TempDir(), "t.db")
	a := openTable(t, path)
	apply(t, a, fleet(n))
	// So that there are free pages between those in use.
	apply(t, a, fleet(n/2))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	grown, torn := 0, 0
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		for _, s := range steps(t, dir, file, rapid.SliceOfN(someBatch(n), 1, 2).Draw(t, "batches")) {
			if len(s.after) > len(s.before) {
				grown++
			}
			for range 2 {
				torn++
				openFile(t, dir, s.tear(t), func(store *boltstore.Store, got allocator.State) {
					if !reflect.DeepEqual(got, s.was) {
						t.Fatalf("a torn commit left revision %d, %d rows; want %d, %d rows",
							got.Meta.Revision, len(got.Rows), s.was.Meta.Revision, len(s.was.Rows))
					}
					if err := store.Commit(context.Background(), s.delta); err != nil {
						t.Fatal(err)
					}
					if again, err := store.Load(context.Background()); err != nil || !reflect.DeepEqual(again, s.is) {
						t.Fatalf("the commit made again left revision %d, %d rows, %v; want %d, %d rows",
							again.Meta.Revision, len(again.Rows), err, s.is.Meta.Revision, len(s.is.Rows))
					}
				})
			}
		}
	})
	if torn == 0 || grown == 0 && !testing.Short() {
		t.Errorf("%d files were torn, %d commits made the file longer: too few to tell", torn, grown)
	}
}
