package meshvip

import (
	"path/filepath"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
)

// openStore opens the store of a runtime, which is not etcd; created tells that it
// was not there before.
func openStore(s StoreConfig) (store allocator.Store, created bool, err error) {
	if s.Kind == "memory" {
		return memstore.New(), true, nil
	}
	b, created, err := boltstore.Open(s.Path, boltstore.Options{})
	if err != nil {
		return nil, false, err
	}
	return b, created, nil
}

// identity names the store itself, whatever path leads to it: two blocks whose
// stores have one identity share a runtime.
func (s StoreConfig) identity() string {
	switch s.Kind {
	case storeEtcd:
		return s.Etcd.identity()
	case "bolt":
		return s.Kind + " " + realPath(s.Path)
	}
	return s.Kind
}

// realPath follows the symbolic links in path, as far as path is there: it is
// the same before and after the rest is created.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(realPath(dir), filepath.Base(path))
}

// limit returns the bound on releases as the allocator takes it.
func (r RuntimeConfig) limit() allocator.Limit {
	m := r.MaxRelease
	return allocator.Limit{Stated: m.Stated(), N: m.Value.N, Percent: m.Value.Percent}
}
