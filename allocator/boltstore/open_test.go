package boltstore_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
)

func TestASecondOpenIsAnErrorInBoundedTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.db")
	s := mustOpen(t, path)
	for _, o := range []boltstore.Options{{}, {Timeout: time.Millisecond}} {
		_, _, err := boltstore.Open(path, o)
		if !errors.Is(err, allocator.ErrLocked) || !within(err.Error(), path, "give each its own store") {
			t.Errorf("a second Open: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path)
}

func TestANewStoreIsPrivateAndLeavesNothingBeside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made", "t.db")
	s, created, err := boltstore.Open(path, boltstore.Options{})
	if err != nil || !created {
		t.Fatalf("created %v, %v", created, err)
	}
	id := stateOf(t, s).Meta.ID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("in the directory: %v, %v", files, err)
	}
	s, created, err = boltstore.Open(path, boltstore.Options{})
	if err != nil || created {
		t.Fatalf("again: created %v, %v", created, err)
	}
	defer s.Close()
	if got := stateOf(t, s).Meta.ID; got != id || s.Path() != path {
		t.Errorf("store %s is %q, was %q", s.Path(), got, id)
	}
}

func TestTwoThatCreateAtOnceEndUpWithOneStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.db")
	ids := make([]string, 4)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			s, _, err := boltstore.Open(path, boltstore.Options{Timeout: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = stateOf(t, s).Meta.ID
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("the stores are %q", ids)
		}
	}
}

func TestAPathThatCannotBeAStoreIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, remedy := range map[string]string{
		filepath.Join(file, "t.db"):           "name another path",
		filepath.Join(dir, "no", "no", "no"):  "create the directory",
		dir:                                   "not a regular file",
		filepath.Join(dir, "x\x00y"):          "name another path",
		filepath.Join(dir, "file", "a", "b"):  "name another path",
		filepath.Join(dir, longName(), "t.d"): "name another path",
	} {
		if _, _, err := boltstore.Open(path, boltstore.Options{}); err == nil || !within(err.Error(), path, remedy) {
			t.Errorf("%.80q: %v, want a word on %q", path, err, remedy)
		}
	}
}

func longName() string { return string(make([]byte, 300)) + "x" }

func TestAStoreThatMayNotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everything: this needs an ordinary user")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "t.db")
	if err := mustOpen(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, _, err := boltstore.Open(path, boltstore.Options{}); !errors.Is(err, fs.ErrPermission) || !within(err.Error(), path, "let the server's user") {
		t.Errorf("a read-only file: %v", err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	if _, _, err := boltstore.Open(path+"2", boltstore.Options{}); !errors.Is(err, fs.ErrPermission) || !within(err.Error(), path+"2", "its directory") {
		t.Errorf("a read-only directory: %v", err)
	}
}

func stateOf(t testing.TB, s *boltstore.Store) allocator.State {
	t.Helper()
	state, err := s.Load(context.Background())
	if err != nil {
		t.Error(err)
	}
	return state
}
