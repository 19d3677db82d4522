package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// put writes a key of a store as somebody who is no replica would.
func put(t testing.TB, s *Store, key, value string) {
	t.Helper()
	if _, err := etcd.Client(t).Put(t.Context(), s.prefix+key, value); err != nil {
		t.Fatal(err)
	}
}

// remove deletes keys of a store.
func remove(t testing.TB, s *Store, keys ...string) {
	t.Helper()
	client := etcd.Client(t)
	for _, key := range keys {
		if _, err := client.Delete(t.Context(), s.prefix+key); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplicasThatStartAtOnceBeginOneTable.
func TestReplicasThatStartAtOnceBeginOneTable(t *testing.T) {
	t.Parallel()
	cfg := config()
	var (
		done sync.WaitGroup
		mu   sync.Mutex
		ids  []string
	)
	for range 8 {
		s := opened(t, cfg)
		done.Go(func() {
			state, err := s.Load(context.Background())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, state.Meta.ID)
		})
	}
	done.Wait()
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) != 1 || ids[0] == "" {
		t.Errorf("tables %q", ids)
	}
}

// TestATableCanBeginBelowAnElection: candidates may be there before it.
func TestATableCanBeginBelowAnElection(t *testing.T) {
	t.Parallel()
	s := opened(t, config())
	lead(t, s)
	committed(t, s, gives(0, "web", "240.0.0.1"))
	if state := loaded(t, s); len(state.Rows) != 1 || len(state.Damaged) != 0 {
		t.Errorf("loaded %+v", state)
	}
}

// TestAStoreThatCannotBeReadIsRefusedAndLeftAsItIs.
func TestAStoreThatCannotBeReadIsRefusedAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, s *Store)
		want  error
		says  string
	}{
		"newer":           {func(t *testing.T, s *Store) { put(t, s, "format", `{"format":2,"x":1}`) }, allocator.ErrNewer, "run the version that wrote it"},
		"no format":       {func(t *testing.T, s *Store) { remove(t, s, "format") }, allocator.ErrDamaged, "format"},
		"format of what":  {func(t *testing.T, s *Store) { put(t, s, "format", "x") }, allocator.ErrDamaged, "format"},
		"format 0":        {func(t *testing.T, s *Store) { put(t, s, "format", `{}`) }, allocator.ErrDamaged, "format"},
		"no meta":         {func(t *testing.T, s *Store) { remove(t, s, "meta") }, allocator.ErrDamaged, "meta is missing"},
		"meta of what":    {func(t *testing.T, s *Store) { put(t, s, "meta", "x") }, allocator.ErrDamaged, "restore it from a backup"},
		"neither":         {func(t *testing.T, s *Store) { remove(t, s, "meta", "format") }, allocator.ErrDamaged, "addresses/240.0.0.1"},
		"only its meshes": {func(t *testing.T, s *Store) { remove(t, s, "meta", "format", "addresses/240.0.0.1", "entries/0/web") }, allocator.ErrDamaged, "meshes/m"},
		"no serial":       {func(t *testing.T, s *Store) { remove(t, s, "serial") }, allocator.ErrDamaged, "serial"},
		"serial of what":  {func(t *testing.T, s *Store) { put(t, s, "serial", `{"serial":0}`) }, allocator.ErrDamaged, "serial"},
		"an import":       {func(t *testing.T, s *Store) { put(t, s, "import", `{"import":"x"}`) }, ErrImport, "run the import again"},
		"half of an import": {func(t *testing.T, s *Store) {
			remove(t, s, "meta", "format")
			put(t, s, "import", `{"import":"x"}`)
		}, ErrImport, "run the import again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := elected(t, config())
			committed(t, s, gives(0, "web", "240.0.0.1"))
			tc.spoil(t, s)
			again := elected(t, s.cfg)
			before := dump(t, s)
			_, err := again.Load(t.Context())
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), s.prefix) {
				t.Errorf("loading returned %v, want %v and %q", err, tc.want, tc.says)
			}
			if err := again.Commit(t.Context(), gives(1, "x", "240.0.0.2")); err == nil {
				t.Error("a commit goes through")
			}
			if after := dump(t, s); !slices.Equal(before, after) {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// dump returns all keys of a store with their values, and when they were written.
func dump(t testing.TB, s *Store) []string {
	t.Helper()
	resp, err := etcd.Client(t).Get(t.Context(), s.prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, kv := range resp.Kvs {
		all = append(all, fmt.Sprintf("%s=%s@%d", kv.Key, kv.Value, kv.ModRevision))
	}
	return all
}

// TestDamageIsSetAsideAlone: the record is named, its address stays reserved, and
// all else is there.
func TestDamageIsSetAsideAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, s *Store)
		place string // of what is set aside, after the prefix
		addr  string
		rows  string
	}{
		"an address": {func(t *testing.T, s *Store) { put(t, s, "addresses/240.0.0.1", `{"owner`) }, "addresses/240.0.0.1", "240.0.0.1", "[db web]"},
		"an owner":   {func(t *testing.T, s *Store) { put(t, s, "addresses/240.0.0.1", `{"owner":{"kind":9,"name":"web"}}`) }, "addresses/240.0.0.1", "240.0.0.1", "[db web]"},
		"an address's key": {func(t *testing.T, s *Store) {
			put(t, s, "addresses/240.0.0.01", `{}`)
			remove(t, s, "addresses/240.0.0.1")
		}, "addresses/240.0.0.1", "240.0.0.1", "[db web]"},
		"an entry":               {func(t *testing.T, s *Store) { put(t, s, "entries/0/web", `x`) }, "entries/0/web", "", "[db]"},
		"an entry's families":    {func(t *testing.T, s *Store) { put(t, s, "entries/0/web", `{"v6":"240.0.0.1"}`) }, "entries/0/web", "", "[db]"},
		"an entry that is gone":  {func(t *testing.T, s *Store) { remove(t, s, "entries/0/web") }, "meshes/m/0/web", "", "[db]"},
		"a listing":              {func(t *testing.T, s *Store) { put(t, s, "meshes/m/0/web", `[]`) }, "meshes/m/0/web", "", "[db]"},
		"a spelling":             {func(t *testing.T, s *Store) { put(t, s, "meshes/m/0/web", `{"name":"db"}`) }, "meshes/m/0/web", "", "[db]"},
		"a listing that is gone": {func(t *testing.T, s *Store) { remove(t, s, "meshes/m/0/web") }, "entries/0/web", "", "[db]"},
		"a key of nothing":       {func(t *testing.T, s *Store) { put(t, s, "notes", `mine`) }, "notes", "", "[db web]"},
		"a mesh":                 {func(t *testing.T, s *Store) { put(t, s, "meshes/n", `{"mesh":"x"}`) }, "meshes/n", "", "[db web]"},
		"a mesh without table":   {func(t *testing.T, s *Store) { put(t, s, "meshes/n/0/web", `{"name":"web"}`) }, "meshes/n/0/web", "", "[db web]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := elected(t, config())
			committed(t, s, gives(0, "web", "240.0.0.1"))
			committed(t, s, gives(1, "db", "240.0.0.2"))
			tc.spoil(t, s)
			state := loaded(t, opened(t, s.cfg))
			i := slices.IndexFunc(state.Damaged, func(d allocator.Damage) bool { return d.Place == s.prefix+tc.place })
			if i < 0 || state.Damaged[i].Err == nil {
				t.Fatalf("set aside: %v", state.Damaged)
			}
			if d := state.Damaged[i]; tc.addr != "" && d.Addr.String() != tc.addr {
				t.Errorf("%v stays reserved, want %s", d.Addr, tc.addr)
			}
			var rows []string
			for _, r := range state.Rows {
				rows = append(rows, r.Entry.Name)
			}
			slices.Sort(rows)
			if fmt.Sprint(rows) != tc.rows {
				t.Errorf("rows %v, want %s", rows, tc.rows)
			}
		})
	}
}

// TestAnEntryThatComesBackHasWhatItsMeshesSayThen, and not what one of them said
// when the entry was set aside.
func TestAnEntryThatComesBackHasWhatItsMeshesSayThen(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	d := gives(0, "web", "240.0.0.1")
	d.MeshesNew = []string{"m", "n", "o"}
	d.Rows[0].New.Listings = []vip.Listing{{Mesh: "m", Name: "web"}, {Mesh: "n", Name: "web"}, {Mesh: "o", Name: "web"}}
	committed(t, s, d)
	put(t, s, "entries/0/web", "x")
	put(t, s, "meshes/o/0/web", "x")
	s = elected(t, s.cfg)
	if state := loaded(t, s); len(state.Rows) != 0 || len(state.Damaged) != 2 {
		t.Fatalf("loaded %+v", state)
	}
	back := allocator.Delta{Base: 1, Meta: gives(1, "", "240.0.0.1").Meta, Rows: []allocator.RowChange{{
		Key: vip.Key{Name: "web"}, New: &vip.Row{Entry: vip.Entry{Name: "web"}, V4: d.Addrs[0].Addr, Listings: []vip.Listing{{Mesh: "n", Name: "web"}}},
	}}}
	committed(t, s, back)
	state := loaded(t, s)
	if len(state.Damaged) != 0 || len(state.Rows) != 1 || len(state.Rows[0].Listings) != 1 || state.Rows[0].Listings[0].Mesh != "n" {
		t.Errorf("loaded %+v", state)
	}
}

// TestAMeshThatGoesTakesWhatWasSetAsideWithIt.
func TestAMeshThatGoesTakesWhatWasSetAsideWithIt(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	d := gives(0, "web", "240.0.0.1")
	d.MeshesNew = []string{"m", "n", "n-1"}
	committed(t, s, d)
	put(t, s, "meshes/n/0/x", "x")
	put(t, s, "meshes/n-1/0/x", "x")
	s = elected(t, s.cfg)
	loaded(t, s)
	committed(t, s, allocator.Delta{Base: 1, Meta: gives(1, "", "240.0.0.1").Meta, MeshesGone: []string{"n"}})
	state := loaded(t, s)
	if len(state.Damaged) != 1 || state.Damaged[0].Place != s.prefix+"meshes/n-1/0/x" {
		t.Errorf("set aside: %v", state.Damaged)
	}
}

// TestWhatIsToBeDeletedWaitsForRoom: a transaction has no more keys than etcd
// takes, and what is said meanwhile stays.
func TestWhatIsToBeDeletedWaitsForRoom(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	d := gives(0, "web", "240.0.0.1")
	for i := range 100 {
		d.MeshesNew = append(d.MeshesNew, fmt.Sprintf("n%03d", i))
	}
	committed(t, s, d)
	for _, m := range d.MeshesNew {
		put(t, s, listingKey(m, vip.Key{Name: "gone"}), `{"name":"gone"}`)
	}
	s = elected(t, s.cfg)
	loaded(t, s)
	back := gives(1, "gone", "240.0.0.2")
	for i := range 90 { // with the addresses, there is room for some
		back.MeshesNew = append(back.MeshesNew, fmt.Sprintf("o%03d", i))
	}
	committed(t, s, back)
	again := allocator.Delta{Base: 2, Meta: gives(2, "", "240.0.0.1").Meta}
	said := *back.Rows[0].New
	said.Listings = []vip.Listing{said.Listings[0], {Mesh: "n099", Name: "gone"}}
	again.Rows = []allocator.RowChange{{Key: back.Rows[0].Key, Old: back.Rows[0].New, New: &said}}
	committed(t, s, again)
	state := loaded(t, s)
	if len(state.Damaged) != 0 || len(state.Rows) != 2 {
		t.Fatalf("loaded %d rows, set aside %v", len(state.Rows), state.Damaged)
	}
	for _, r := range state.Rows {
		if r.Entry.Name == "gone" && !r.Equal(&said) {
			t.Errorf("it is listed by %v", r.Listings)
		}
	}
}

// TestATableOfManyPagesIsReadAtOneRevision while it goes on changing.
func TestATableOfManyPagesIsReadAtOneRevision(t *testing.T) {
	t.Parallel()
	cfg, state := config(), numberedState(2*firstPage, 7)
	if err := Create(t.Context(), cfg, state); err != nil {
		t.Fatal(err)
	}
	s := elected(t, cfg)
	loaded(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ctx.Err() == nil && i < 200; i++ {
			d := gives(s.position().rev, fmt.Sprintf("new-%03d", i), fmt.Sprintf("240.9.0.%d", i))
			d.Rows[0].New.Listings[0].Mesh = state.Meshes[0]
			if err := s.Commit(t.Context(), d); err != nil {
				t.Error(err)
				return
			}
		}
	})
	reader := opened(t, cfg)
	for range 3 {
		got := loaded(t, reader) // which checks it
		if want := len(state.Rows) + int(got.Meta.Revision-state.Meta.Revision); len(got.Rows) != want {
			t.Errorf("%d rows at revision %d, want %d", len(got.Rows), got.Meta.Revision, want)
		}
	}
	cancel()
	writing.Wait()
}

// TestPagesAreAsLargeAsTheyMayBe: large values, and slow lines, make them small.
func TestPagesAreAsLargeAsTheyMayBe(t *testing.T) {
	t.Parallel()
	page := func(keys int64, bytes int) []*mvccpb.KeyValue {
		kvs := make([]*mvccpb.KeyValue, keys)
		for i := range kvs {
			kvs[i] = &mvccpb.KeyValue{Value: make([]byte, bytes)}
		}
		return kvs
	}
	p := pageSize{keys: firstPage}
	if p.seen(page(p.keys, 256)); p.keys != pageBytes/256 {
		t.Errorf("%d keys of 256 bytes, want %d", p.keys, pageBytes/256)
	}
	if p.seen(page(1000, 1<<20)); p.keys != leastPage {
		t.Errorf("%d keys of 1 MiB, want %d", p.keys, leastPage)
	}
	if p.seen(page(p.keys, 1)); p.keys != 16*leastPage {
		t.Errorf("%d keys, want %d at most for now", p.keys, 16*leastPage)
	}
	if !p.shrink() || p.keys != 2*leastPage {
		t.Errorf("%d keys on a slow line, want %d", p.keys, 2*leastPage)
	}
	if p.seen(page(p.keys, 1)); p.keys != 2*leastPage {
		t.Errorf("%d keys on a line that was slow, want %d", p.keys, 2*leastPage)
	}
	if !p.shrink() || p.keys != leastPage || p.shrink() {
		t.Errorf("%d keys, want %d at least", p.keys, leastPage)
	}
}
