package meshvip

import (
	"path/filepath"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
)

// openStore opens a store; created tells that it was not there before.
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
	if s.Kind != "bolt" {
		return s.Kind
	}
	if real, err := filepath.EvalSymlinks(s.Path); err == nil {
		return s.Kind + " " + real
	}
	// The file is not there yet: its directory may be.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(s.Path)); err == nil {
		return s.Kind + " " + filepath.Join(dir, filepath.Base(s.Path))
	}
	return s.String()
}

// limit returns the bound on releases as the allocator takes it.
func (r RuntimeConfig) limit() allocator.Limit {
	m := r.MaxRelease
	return allocator.Limit{Stated: m.Stated(), N: m.Value.N, Percent: m.Value.Percent}
}
