package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/etcdstore"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
	"pgregory.net/rapid"
)

func TestATableIsThereAsAWholeOrNotAtAllWheneverAMigrationIsKilled(t *testing.T) {
	t.Parallel()
	const rows = 3_000
	etcd := etcdtest.Start(t, etcdtest.WithUnsafeNoFsync())
	dir := t.TempDir()
	tables, source := filepath.Join(dir, "default.json"), filepath.Join(dir, "meshvip.db")
	if err := os.WriteFile(tables, tableOf(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("meshvipctl", "import", "--pool", "240.0.0.0/8", "--store", source, tables).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := load(t, source)
	command := func(n int) (*exec.Cmd, etcdstore.Config) {
		prefix, corefile := fmt.Sprintf("/kill-%d/", n), filepath.Join(dir, fmt.Sprintf("Corefile-%d", n))
		text := fmt.Sprintf("mesh {\nmeshvip {\npool 240.0.0.0/8\nstore etcd %s {\nprefix %s\n}\n}\n}\n", etcd.Endpoint(), prefix)
		if err := os.WriteFile(corefile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.Command("meshvipctl", "migrate", "--corefile", corefile, "--from", source),
			etcdstore.Config{Endpoints: etcd.Endpoints(), Prefix: prefix, Timeout: awaited}
	}
	begin := time.Now()
	whole, _ := command(0)
	if out, err := whole.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(begin)
	killed, cut := 0, 0
	for n := 1; n <= 8; n++ {
		c, cfg := command(n)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(rand.N(took), func() { c.Process.Kill() })
		if c.Wait() != nil {
			killed++
		}
		kill.Stop()
		seen, err := etcdstore.Read(t.Context(), cfg)
		switch {
		case errors.Is(err, etcdstore.ErrImport):
			cut++
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			t.Error(err)
		default:
			if d := stateDifference(want, seen.State); d != "" {
				t.Errorf("a table is left that is another: %s", d)
			}
		}
		// What is left is in nobody's way.
		again, _ := command(n)
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("the migration after it: %v: %s", err, out)
		}
		if seen, err = etcdstore.Read(t.Context(), cfg); err != nil || stateDifference(want, seen.State) != "" {
			t.Errorf("after that: %v, %s", err, stateDifference(want, seen.State))
		}
	}
	if killed == 0 {
		t.Error("no migration was killed")
	}
	t.Logf("%d were killed, %d of them midway", killed, cut)
}

func TestAnyTableComesThroughEtcdAndBackAsItWas(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, etcdtest.WithUnsafeNoFsync())
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		want := someState(t)
		cfg := etcdstore.Config{
			Endpoints: etcd.Endpoints(), Prefix: fmt.Sprintf("/any-%d/", n), Timeout: awaited, Cooldown: time.Hour,
		}
		if err := etcdstore.Create(context.Background(), cfg, want); err != nil {
			t.Fatal(err)
		}
		seen, err := etcdstore.Read(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if d := stateDifference(want, seen.State); d != "" {
			t.Fatalf("in etcd: %s", d)
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.db", n))
		if err := boltstore.Create(path, seen.State, boltstore.Options{NoSync: true}); err != nil {
			t.Fatal(err)
		}
		store, _, err := boltstore.Open(path, boltstore.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		back, err := store.Load(context.Background())
		if err = errors.Join(err, store.Close(), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
		if d := stateDifference(want, back); d != "" {
			t.Fatalf("in a file again: %s", d)
		}
	})
}

// someState draws a table that has been through a lot.
func someState(t *rapid.T) allocator.State {
	running := time.Duration(0)
	store := memstore.New()
	alloc, err := allocator.Open(context.Background(), store, allocator.Config{
		Layout:     allocator.Ranges(netip.MustParsePrefix("10.0.0.0/28"), netip.MustParsePrefix("fd00::/125")),
		Cooldown:   time.Minute,
		MaxRelease: allocator.Limit{Stated: true, N: 100, Percent: true},
		Running:    func() time.Duration { return running },
	})
	if err != nil {
		t.Fatal(err)
	}
	words := rapid.SampledFrom([]string{"a", "A", "b", "c/d", "e f", "%2F", "\x00", "\xff\xfe", "ünïcode", "x.y.z", "..", "0"})
	for range rapid.IntRange(1, 8).Draw(t, "batches") {
		mesh := words.Draw(t, "mesh")
		u := vip.MeshUpdate{Mesh: mesh, Gone: rapid.IntRange(0, 9).Draw(t, "gone") == 0}
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			e := vip.Entry{Kind: rapid.SampledFrom([]vip.Kind{vip.Service, vip.Host, vip.MeshService}).Draw(t, "kind"), Name: words.Draw(t, "name")}
			if e.Kind.OfMesh() {
				e.Mesh = mesh
			}
			r := vip.Request{Entry: e, Terms: someTerms(t, words)}
			if rapid.Bool().Draw(t, "port") {
				r.Outbounds = []vip.Outbound{{Port: 80, Tags: []vip.Tag{{Key: vip.ServiceTag, Value: words.Draw(t, "tag")}}, Origin: vip.OriginService}}
			}
			switch {
			case u.Gone:
			case rapid.IntRange(0, 3).Draw(t, "drop") == 0:
				u.Drop = append(u.Drop, e.Key())
			default:
				u.Set = append(u.Set, r)
			}
		}
		if _, err := alloc.Apply(context.Background(), vip.Batch{Meshes: []vip.MeshUpdate{u}, Full: rapid.IntRange(0, 4).Draw(t, "full") == 0}); err != nil {
			t.Fatal(err)
		}
		running += time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second
	}
	state, err := alloc.State(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	state.Meta.ID = rapid.StringMatching("[A-Z2-7]{26}").Draw(t, "id")
	state.Meta.Options = words.Draw(t, "options")
	state.Meta.Generation = rapid.Uint64().Draw(t, "generation")
	if state.Meta.Revision == 0 { // of what was never written, nothing is kept
		state.Meta.Revision, state.Meta.Serial = 1, 1
	}
	if rapid.Bool().Draw(t, "quarantined") {
		state.Meta.Quarantine = []allocator.Quarantine{{
			Range: netipx.MustParseIPRange("10.0.0.14-10.0.0.14"), Until: state.Meta.Clock + time.Second,
		}}
	}
	return state
}

// someTerms draws what a mesh asks of an entry, as a rule nothing.
func someTerms(t *rapid.T, words *rapid.Generator[string]) *vip.Terms {
	switch rapid.IntRange(0, 5).Draw(t, "terms") {
	case 0:
		return &vip.Terms{Static: []netip.Addr{netip.MustParseAddr(rapid.SampledFrom([]string{"10.0.0.9", "fd00::5"}).Draw(t, "static"))}}
	case 1:
		return &vip.Terms{Given: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, Hostnames: []string{"a.mesh"}, Follow: true}
	}
	return nil
}

func TestADifferenceOfTablesIsNamed(t *testing.T) {
	t.Parallel()
	a := load(t, brokenless(t))
	if d := stateDifference(a, a); d != "" {
		t.Errorf("a table differs from itself: %s", d)
	}
	for what, change := range map[string]func(*allocator.State){
		`and has {"meshvip":"backup"`:         func(s *allocator.State) { s.Meta.Serial++ },
		`and has {"mesh":"other"}`:            func(s *allocator.State) { s.Meshes = []string{"other"} },
		`and has {"address":"240.0.0.1", "ow`: func(s *allocator.State) { s.Addrs = otherOwner(s.Addrs) },
	} {
		b := a
		change(&b)
		if d := stateDifference(a, b); !strings.Contains(d, what) {
			t.Errorf("%s: the difference is %q", what, d)
		}
	}
}

// otherOwner returns addresses of which each is another entry's.
func otherOwner(addrs []allocator.Held) []allocator.Held {
	other := slices.Clone(addrs)
	for i := range other {
		other[i].Owner.Name += "x"
	}
	return other
}

// brokenless writes a sound store of two entries, and returns its path.
func brokenless(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "meshvip.db")
	l, err := open(path, "pool 240.0.0.0/24\nmesh default 0:a 0:b\n")
	if err = errors.Join(err, l.close()); err != nil {
		t.Fatal(err)
	}
	return path
}
