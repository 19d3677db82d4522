package boltstore_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// bigState is the state of a table with n services, and what was served once.
func bigState(t testing.TB, n int) allocator.State {
	t.Helper()
	a, err := allocator.Open(t.Context(), memstore.New(), config())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	apply(t, a, fleet(n))
	apply(t, a, vip.Batch{Meshes: []vip.MeshUpdate{{Mesh: "tiny", Drop: []vip.Key{{Name: "lone"}}}}})
	s, err := a.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// alone fails the test if there is anything beside path in its directory.
func alone(t *testing.T, path string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestACreatedStoreHoldsTheState, all of it, and goes on like any other.
func TestACreatedStoreHoldsTheState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "t.db")
	want := formatTwo()
	want.Meta.Quarantine = []allocator.Quarantine{{Range: netipx.MustParseIPRange("240.0.1.0-240.0.2.0"), Until: 2 * time.Hour}}
	want.Addrs[0].Since, want.Addrs[2].Since = 1_700_000_000, 1_700_000_001
	want.Rows[0].Listings[0].Terms = &vip.Terms{Follow: true}
	if err := boltstore.Create(path, want, boltstore.Options{}); err != nil {
		t.Fatal(err)
	}
	alone(t, path)
	holds(t, path, want)

	big := bigState(t, 3000)
	if err := boltstore.Create(path, big, boltstore.Options{Replace: true}); err != nil {
		t.Fatal(err)
	}
	alone(t, path)
	a := openTable(t, path)
	defer a.Close()
	verify(t, a)
	if s := a.Stats(); s.Entries != len(big.Rows) || s.Meta.ID != big.Meta.ID || s.Meta.Serial != big.Meta.Serial {
		t.Errorf("%+v", s)
	}
	before := addresses(a)
	apply(t, a, fleet(3000))
	for key, addr := range addresses(a) {
		if was := before[key]; was != "" && was != addr {
			t.Fatalf("%v moved from %v to %v", key, was, addr)
		}
	}
	verify(t, a)
}

// TestCreateTakesTheWayOfNoStore: not unasked, not while somebody has it open,
// and not for a state that is not sound.
func TestCreateTakesTheWayOfNoStore(t *testing.T) {
	t.Parallel()
	path, file := formatFile(t, 2)
	replace := boltstore.Options{Replace: true, Timeout: time.Millisecond}
	broken, damaged := formatTwo(), formatTwo()
	broken.Rows[0].V4 = broken.Rows[1].V4
	damaged.Damaged = []allocator.Damage{{Place: "addresses/240.0.0.7"}}
	refused := func(what string, s allocator.State, o boltstore.Options, want error, text string) {
		t.Helper()
		err := boltstore.Create(path, s, o)
		if err == nil || want != nil && !errors.Is(err, want) || !within(err.Error(), path, text) {
			t.Errorf("%s: %v", what, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, file) {
			t.Errorf("%s: the file was changed, %v", what, err)
		}
		alone(t, path)
	}
	refused("unasked", formatTwo(), boltstore.Options{}, fs.ErrExist, "move it away")
	refused("a broken state", broken, replace, nil, "not sound")
	refused("a state with damage", damaged, replace, nil, "1 records")
	s := mustOpen(t, path)
	refused("while it is open", formatTwo(), replace, allocator.ErrLocked, "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// What cannot be opened any more can be replaced.
	if err := os.WriteFile(path, file[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	want := formatTwo()
	want.Meta.ID = ""
	if err := boltstore.Create(path, want, replace); err != nil {
		t.Fatal(err)
	}
	holds(t, path, want)
}

// childCreate makes a store at path from two backups, in turn and without end.
func childCreate(path, one, two string) error {
	var states []allocator.State
	for _, p := range []string{one, two} {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		s, err := allocator.ReadBackup(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		states = append(states, s)
	}
	for i := 0; ; i++ {
		if err := boltstore.Create(path, states[i%2], boltstore.Options{Replace: true}); err != nil {
			return err
		}
		fmt.Println("made", i)
	}
}

// TestAKilledCreateLeavesWhatWasThere, or all that was to come: a process that
// makes stores is killed at any point of it.
func TestAKilledCreateLeavesWhatWasThere(t *testing.T) {
	t.Parallel()
	backups := t.TempDir()
	sizes := []int{300, 500}
	var args []string
	entries := make(map[int]bool)
	for _, n := range sizes {
		s := bigState(t, n)
		entries[len(s.Rows)] = true
		p := filepath.Join(backups, fmt.Sprint(n))
		f, err := os.Create(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(allocator.WriteBackup(f, s), f.Close()); err != nil {
			t.Fatal(err)
		}
		args = append(args, p)
	}
	path := filepath.Join(t.TempDir(), "t.db")
	for round := range 8 {
		cmd := child(t, "create", append([]string{path}, args...)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		bufio.NewScanner(out).Scan()
		begun(t, path, int64(round)*64<<10)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		a := openTable(t, path)
		verify(t, a)
		if n := a.Stats().Entries; !entries[n] {
			t.Errorf("round %d: %d entries", round, n)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// begun waits for a store on its way to have a size, or to be new.
func begun(t *testing.T, path string, size int64) {
	t.Helper()
	seen := make(map[string]bool)
	for len(seen) < 3 {
		files, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !strings.Contains(f.Name(), ".new-") {
				continue
			}
			seen[f.Name()] = true
			if info, err := f.Info(); err == nil && info.Size() >= size {
				return
			}
		}
		runtime.Gosched()
	}
}
