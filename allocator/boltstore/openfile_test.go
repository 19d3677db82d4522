package boltstore_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
)

// handles returns how many files of this process are the one at path.
func handles(t *testing.T, path string) (n int) {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && target == path {
			n++
		}
	}
	return n
}

func TestAStoreThatIsReplacedWhileItIsWaitedForIsOpenedAsItIsThen(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("/proc tells when a file is waited for: only on Linux")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "meshvip.db")
	held, _, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := handles(t, path)
	type opened struct {
		store *boltstore.Store
		err   error
	}
	got := make(chan opened, 1)
	go func() {
		s, _, err := boltstore.Open(path, boltstore.Options{Timeout: time.Minute})
		got <- opened{s, err}
	}()
	for handles(t, path) == before { // until it has the old one, and waits
		runtime.Gosched()
	}
	other := filepath.Join(dir, "other.db")
	if err := boltstore.Create(other, bigState(t, 7), boltstore.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	o := <-got
	if o.err != nil {
		t.Fatal(o.err)
	}
	defer o.store.Close()
	s, err := o.store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Rows) < 7 {
		t.Errorf("the store that is opened has %d rows: it is the old one", len(s.Rows))
	}
	if err := allocator.Check(s); err != nil {
		t.Error(err)
	}
}
