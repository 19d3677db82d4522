package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/vip"
	bolt "go.etcd.io/bbolt"
)

// entryKey is the key of a service in the buckets.
func entryKey(name string) []byte { return append([]byte{0, 0}, name...) }

// flip changes one bit in every byte of a value in turn, in copies of a store
// in which web, shared by two meshes, and others stand, and gone was released.
func flip(t *testing.T, key []byte, path ...string) (files [][]byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "t.db")
	a := openTable(t, file)
	apply(t, a, smallFleet("gone", "alone"))
	apply(t, a, smallFleet("alone"))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 1
	for i := 0; i < n; i++ {
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		edit(t, file, func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(path[0]))
			for _, name := range path[1:] {
				b = b.Bucket([]byte(name))
			}
			v := bytes.Clone(b.Get(key))
			if n = len(v); n == 0 {
				return fmt.Errorf("no value %x in %v", key, path)
			}
			v[i] ^= 0x10
			return b.Put(key, v)
		})
		damaged, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, damaged)
	}
	return files
}

func smallFleet(blue ...string) vip.Batch {
	b := vip.Batch{Full: true, Meshes: []vip.MeshUpdate{
		{Mesh: "blue", Set: []vip.Request{request("web")}},
		{Mesh: "green", Set: []vip.Request{request("web"), request("z")}},
	}}
	for _, name := range blue {
		b.Meshes[0].Set = append(b.Meshes[0].Set, request(name))
	}
	return b
}

// TestADamagedRecordIsSetAsideAlone: alone has 240.0.0.1, gone had .2, web has
// .3 and z .4.
func TestADamagedRecordIsSetAsideAlone(t *testing.T) {
	t.Parallel()
	addr := func(s string) []byte { return netip.MustParseAddr(s).AsSlice() }
	for _, tc := range []struct {
		name  string
		key   []byte
		path  []string
		place string // in the report
		aside string // the entry that is not in the table until it is listed again
	}{
		{"the key of a live address", addr("240.0.0.3"), []string{"addresses"}, "addresses/240.0.0.3", ""},
		{"the key of a released address", addr("240.0.0.2"), []string{"addresses"}, "addresses/240.0.0.2", ""},
		{"the key of a v6 address", addr("fd00::2"), []string{"addresses"}, "addresses/fd00::2", ""},
		{"an entry of one mesh", entryKey("alone"), []string{"entries"}, "entries/0:alone", "alone"},
		{"an entry of two meshes", entryKey("web"), []string{"entries"}, "entries/0:web", "web"},
		{"the only listing", entryKey("alone"), []string{"meshes", "blue"}, "meshes/blue/0:alone", "alone"},
		{"one of two listings", entryKey("web"), []string{"meshes", "green"}, "meshes/green/0:web", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for i, file := range flip(t, tc.key, tc.path...) {
				path := filepath.Join(t.TempDir(), "t.db")
				if err := os.WriteFile(path, file, 0o600); err != nil {
					t.Fatal(err)
				}
				damagedRecord(t, path, tc.place, tc.aside)
				if t.Failed() {
					t.Fatalf("byte %d", i)
				}
			}
		})
	}
}

func damagedRecord(t *testing.T, path, place, aside string) {
	t.Helper()
	s, _, err := boltstore.Open(path, boltstore.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	damaged := stateOf(t, s).Damaged
	if len(damaged) != 1 || damaged[0].Place != place || damaged[0].Err == nil {
		t.Errorf("set aside: %+v, want %s", damaged, place)
	}
	a, err := allocator.Open(context.Background(), s, config())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	full, v6 := map[vip.Key]string{}, netip.MustParseAddr("fd00::")
	for i, name := range []string{"alone", "gone", "web", "z"} {
		if name != "gone" {
			full[vip.Key{Name: name}] = fmt.Sprintf("240.0.0.%d %v", i+1, v6)
		}
		v6 = v6.Next()
	}
	want := maps.Clone(full)
	delete(want, vip.Key{Name: aside})
	if got := addresses(a); !maps.Equal(got, want) {
		t.Errorf("the table has %v, want %v", got, want)
	}
	verify(t, a)
	// Half of what was set aside comes back before the other half, and newcomers
	// with it.
	apply(t, a, vip.Batch{Meshes: []vip.MeshUpdate{
		{Mesh: "blue", Set: []vip.Request{request("newcomer"), request("web"), request("alone")}},
	}})
	verify(t, a)
	if got := addresses(a)[vip.Key{Name: "newcomer"}]; got != "240.0.0.5 fd00::4" {
		t.Errorf("a newcomer got %s", got)
	}
	apply(t, a, smallFleet("alone"))
	verify(t, a)
	if got := addresses(a); !maps.Equal(got, full) {
		t.Errorf("when listed again: %v, want %v", got, full)
	}
}

func TestDamageToTheWholeIsAnError(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"meta", "id", "format"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			for i, file := range flip(t, []byte(key), "meshvip") {
				path := filepath.Join(t.TempDir(), "t.db")
				if err := os.WriteFile(path, file, 0o600); err != nil {
					t.Fatal(err)
				}
				_, _, err := boltstore.Open(path, boltstore.Options{})
				if !errors.Is(err, allocator.ErrDamaged) && !errors.Is(err, allocator.ErrNewer) || !strings.Contains(err.Error(), path) {
					t.Errorf("byte %d of %s: %v", i, key, err)
				}
				if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, file) {
					t.Errorf("byte %d of %s: the file was changed, %v", i, key, err)
				}
			}
		})
	}
}

// TestAnEntrySetAsideDoesNotGetASecondAddress: not even where the pool of its
// first is no longer configured when it comes back.
func TestAnEntrySetAsideDoesNotGetASecondAddress(t *testing.T) {
	t.Parallel()
	for i, file := range flip(t, entryKey("alone"), "entries") {
		path := filepath.Join(t.TempDir(), "t.db")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := config()
		cfg.Layout = allocator.Ranges(netip.MustParsePrefix("241.0.0.0/16"))
		for round := range 2 {
			s := mustOpen(t, path)
			a, err := allocator.Open(context.Background(), s, cfg)
			if err != nil {
				t.Fatalf("byte %d: %v", i, err)
			}
			if round == 0 { // all others go, so that nothing else keeps the pool
				apply(t, a, vip.Batch{Full: true, Meshes: []vip.MeshUpdate{{Mesh: "blue"}, {Mesh: "green"}}})
				apply(t, a, vip.Batch{Meshes: []vip.MeshUpdate{{Mesh: "blue", Set: []vip.Request{request("alone")}}}})
			}
			verify(t, a)
			if got := addresses(a)[vip.Key{Name: "alone"}]; !strings.HasPrefix(got, "240.0.0.1 ") {
				t.Errorf("byte %d: it came back with %s", i, got)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestAMeshWhoseTableIsLostIsMadeAgain: its bucket is no bucket any more.
func TestAMeshWhoseTableIsLostIsMadeAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.db")
	a := openTable(t, path)
	apply(t, a, smallFleet("alone"))
	want := addresses(a)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, func(tx *bolt.Tx) error {
		meshes := tx.Bucket([]byte("meshes"))
		return errors.Join(meshes.DeleteBucket([]byte("green")), meshes.Put([]byte("green"), []byte("?")))
	})
	s := mustOpen(t, path)
	var places []string
	for _, d := range stateOf(t, s).Damaged {
		places = append(places, d.Place)
	}
	if got := strings.Join(places, " "); got != "meshes/green entries/0:z" {
		t.Errorf("set aside: %s", got)
	}
	a, err := allocator.Open(context.Background(), s, config())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { a.Close() }()
	apply(t, a, smallFleet("alone"))
	verify(t, a)
	if got := addresses(a); !maps.Equal(got, want) {
		t.Errorf("the table has %v, want %v", got, want)
	}
}
