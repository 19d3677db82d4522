//go:build linux

package boltstore_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// smallDisk mounts a filesystem of a few megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small filesystem cannot be mounted here, which takes root and CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return dir
}

// fill writes a file until the disk is full, and returns its path.
func fill(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return f.Name()
}

func TestAFullDiskLosesAndMovesNothing(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	path := filepath.Join(dir, "t.db")
	a := openTable(t, path)
	apply(t, a, fleet(20))
	before := addresses(a)
	rev := a.Stats().Meta.Revision
	ballast := fill(t, dir)

	// More than the file has room for.
	for range 3 {
		r, err := a.Apply(context.Background(), fleet(1500))
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("a full disk: %+v, %v", r, err)
		}
		if !within(err.Error(), path) {
			t.Errorf("the error names no file: %v", err)
		}
		if got := addresses(a); !maps.Equal(got, before) || a.Stats().Meta.Revision != rev {
			t.Error("the table changed, and the store did not")
		}
		verify(t, a)
	}

	// It opens again as it is, and says what is wrong with a store that is new.
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = openTable(t, path)
	defer func() { a.Close() }()
	if got := addresses(a); !maps.Equal(got, before) {
		t.Error("after a restart on a full disk the table differs")
	}
	if _, _, err := boltstore.Open(filepath.Join(dir, "new.db"), boltstore.Options{}); !errors.Is(err, syscall.ENOSPC) || !within(err.Error(), "new.db", "see to the disk") {
		t.Errorf("a new store on a full disk: %v", err)
	}
	if left, err := fs.Glob(os.DirFS(dir), "new.db*"); err != nil || len(left) > 0 {
		t.Errorf("a store that could not be created left %v, %v", left, err)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	apply(t, a, fleet(1500))
	verify(t, a)
	after := addresses(a)
	for key, addr := range before {
		if after[key] != addr {
			t.Errorf("entry %v moved from %s to %s", key, addr, after[key])
		}
	}
	if _, ok := after[vip.Key{Name: "svc-1499_blue_svc_80"}]; !ok {
		t.Error("with room again, what was refused is not there")
	}
}
