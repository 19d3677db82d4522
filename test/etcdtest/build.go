package etcdtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/meshvip/coredns-meshvip/test/binary"
)

// top is the top of the checkout.
var top = binary.Top

// pinned are the programs, and the packages of tools/etcd that they are built of.
var pinned = map[string]string{
	"etcd":    "go.etcd.io/etcd/server/v3",
	"etcdutl": "go.etcd.io/etcd/etcdutl/v3",
}

// Binary returns the paths of the programs etcd and etcdutl. They are built first
// where bin/ of the checkout lacks them, or has those of another tools/etcd/go.sum.
func Binary(t testing.TB) (etcd, etcdutl string) {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	return programPath("etcd"), programPath("etcdutl")
}

func programPath(program string) string { return filepath.Join(top, "bin", program) }

// built builds what is missing, once a process, and not in two processes at once.
var built = sync.OnceValue(func() error {
	bin := filepath.Join(top, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(bin, ".etcd.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close() // gives up the lock
	if err := flock(lock); err != nil {
		return fmt.Errorf("waiting for another build of etcd: %w", err)
	}
	for program, pkg := range pinned {
		if err := build(programPath(program), pkg); err != nil {
			return err
		}
	}
	return nil
})

// build builds a program, unless it is there and newer than what pins it.
func build(path, pkg string) error {
	module := filepath.Join(top, "tools", "etcd")
	pins, err := os.Stat(filepath.Join(module, "go.sum"))
	if err != nil {
		return err
	}
	switch have, err := os.Stat(path); {
	case err == nil && !have.ModTime().Before(pins.ModTime()):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	fresh := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(fresh)
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", fresh, pkg)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	// A rename, for the old one may be running.
	return os.Rename(fresh, path)
}

// flock waits until the file is locked by this process.
func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
