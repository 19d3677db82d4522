// Package memstore keeps a table in memory: for trials and tests. It is gone
// with the process.
//
// It keeps the whole contract of [allocator.Store] but durability, and its
// commits cost what the delta costs.
package memstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// Store is a table in memory. The zero Store is not usable: see [New].
type Store struct {
	mu     sync.Mutex
	meta   allocator.Meta
	rows   map[vip.Key]*vip.Row
	addrs  map[netip.Addr]allocator.Holding
	meshes map[string]struct{}
	limits allocator.Limits
	closed bool
}

// New returns an empty store.
func New() *Store {
	return &Store{
		meta:   allocator.Meta{ID: rand.Text()},
		rows:   make(map[vip.Key]*vip.Row),
		addrs:  make(map[netip.Addr]allocator.Holding),
		meshes: make(map[string]struct{}),
	}
}

// NewLimited returns an empty store that takes no more than limits in one commit, as
// those do that are not in this process.
func NewLimited(limits allocator.Limits) *Store {
	s := New()
	s.limits = limits
	return s
}

// Load implements [allocator.Store].
func (s *Store) Load(context.Context) (allocator.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return allocator.State{}, allocator.ErrClosed
	}
	state := allocator.State{Meta: s.meta}
	state.Meta.Pools, state.Meta.Quarantine = slices.Clone(s.meta.Pools), slices.Clone(s.meta.Quarantine)
	for _, r := range s.rows {
		state.Rows = append(state.Rows, r)
	}
	for a, h := range s.addrs {
		state.Addrs = append(state.Addrs, allocator.Held{Addr: a, Holding: h})
	}
	for m := range s.meshes {
		state.Meshes = append(state.Meshes, m)
	}
	return state, nil
}

// Commit implements [allocator.Store].
func (s *Store) Commit(_ context.Context, d allocator.Delta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return allocator.ErrClosed
	}
	if keys, bytes := d.Cost(); s.limits.Keys > 0 && keys > s.limits.Keys || s.limits.Bytes > 0 && bytes > s.limits.Bytes {
		return fmt.Errorf("the commit takes %d keys, %d bytes, more than %+v", keys, bytes, s.limits)
	}
	if s.meta.Revision != d.Base {
		return fmt.Errorf("revision %d, want %d: %w", s.meta.Revision, d.Base, allocator.ErrConflict)
	}
	for _, c := range d.Addrs {
		h, ok := s.addrs[c.Addr]
		if c.Old != nil {
			h.Since = c.Old.Since
		}
		if ok != (c.Old != nil) || ok && h != *c.Old {
			return fmt.Errorf("address %v: %w", c.Addr, allocator.ErrConflict)
		}
	}
	for _, c := range d.Addrs {
		if c.New == nil {
			delete(s.addrs, c.Addr)
		} else {
			s.addrs[c.Addr] = *c.New
		}
	}
	for _, c := range d.Rows {
		if c.New == nil {
			delete(s.rows, c.Key)
		} else {
			s.rows[c.Key] = c.New
		}
	}
	for _, m := range d.MeshesNew {
		s.meshes[m] = struct{}{}
	}
	for _, m := range d.MeshesGone {
		delete(s.meshes, m)
	}
	s.meta = d.Meta
	s.meta.Pools, s.meta.Quarantine = slices.Clone(d.Meta.Pools), slices.Clone(d.Meta.Quarantine)
	return nil
}

// Revision implements [allocator.Store].
func (s *Store) Revision(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, allocator.ErrClosed
	}
	return s.meta.Revision, nil
}

// Limits implements [allocator.Store].
func (s *Store) Limits() allocator.Limits { return s.limits }

// Close implements [allocator.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
