package boltstore_test

import (
	"path/filepath"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		path := filepath.Join(t.TempDir(), "t.db")
		return storetest.Subject{
			Store:  mustOpen(t, path),
			Reopen: func(t *testing.T) allocator.Store { return mustOpen(t, path) },
		}
	})
}

// mustOpen opens a store that is closed when the test ends.
func mustOpen(t testing.TB, path string) *boltstore.Store {
	t.Helper()
	s, _, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
