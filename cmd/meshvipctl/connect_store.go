package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/names"
)

// defaultCooldown is what the Corefile's property is by default, where there is
// no Corefile.
const defaultCooldown = 24 * time.Hour

// openStore opens the store of a table that no server has open, and returns a
// way to it. Its errors are those of a store.
func (s *session) openStore(ctx context.Context, t target, a access) (*connection, error) {
	store, part, err := s.openTable(ctx, t, a)
	if err != nil {
		return nil, err
	}
	state, err := store.Load(ctx)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	alloc, err := allocator.Open(ctx, store, s.settings(t, a, state.Meta))
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if a == toChange { // one that is frozen has nothing to close, or to write then
		s.keep(alloc)
	}
	index := names.NewIndex()
	var zones []string
	if t.configured != nil {
		zones = t.configured.Zones
		index.SetZones(zones)
	}
	index.Fill(alloc.Snapshot())
	client := admin.InProcess(admin.Handler(&admin.Table{
		Alloc: alloc, Index: index, Zones: zones, Version: version, Store: t.stated(), Offline: true,
		Replication: func() *admin.Replication { return part },
	}))
	status, err := client.Status(ctx)
	return &connection{Client: client, target: t, status: status}, err
}

// stated returns the store as a Corefile has it.
func (t target) stated() string {
	if t.etcd != nil {
		return "etcd " + t.etcd.String()
	}
	return "bolt " + t.store
}

// openTable opens the store of a table, as openFile does; part is what it tells of
// servers that have it.
func (s *session) openTable(ctx context.Context, t target, a access) (store allocator.Store, part *admin.Replication, err error) {
	if t.etcd == nil {
		store, err = s.openFile(ctx, t.store, a)
		return store, nil, err
	}
	seen, err := s.readEtcd(ctx, t.configured)
	if err == nil && a == toChange {
		err = leadersOwn(t, seen)
	}
	return frozen{seen.State}, &admin.Replication{Leader: seen.Leader}, err
}

// openFile opens a store file: to read, it reads it and lets it go, for a server
// may want it, and so that nothing can be written to it.
func (s *session) openFile(ctx context.Context, path string, a access) (allocator.Store, error) {
	// The store's Open would create one.
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	store, _, err := boltstore.Open(path, boltstore.Options{})
	switch {
	case err != nil:
		return nil, err
	case a == toChange:
		return store, nil
	}
	state, err := store.Load(ctx)
	if err = errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	return frozen{state}, nil
}

// settings returns what the table is worked by: what the Corefile says, or else
// what the store knows.
func (s *session) settings(t target, a access, m allocator.Meta) allocator.Config {
	cfg := allocator.Config{Cooldown: defaultCooldown, ReportOnly: a == toRead}
	if a == toChange {
		cfg.Logger = slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	if c := t.configured; c != nil {
		cfg.Layout, cfg.Cooldown, cfg.MaxRelease = c.Layout, c.Cooldown, c.MaxRelease
		return cfg
	}
	for _, p := range m.Pools {
		if !p.Retired {
			cfg.Layout.Pools = append(cfg.Layout.Pools, allocator.Range{Prefix: p.Prefix})
		}
	}
	return cfg
}

// errFrozen is the error of a change to a table that was opened to be read.
var errFrozen = errors.New("the store was opened to be read only")

// frozen is a store that was read once and is never written.
type frozen struct{ state allocator.State }

// Load implements [allocator.Store].
func (f frozen) Load(context.Context) (allocator.State, error) {
	s := f.state
	s.Meta.Pools = slices.Clone(s.Meta.Pools)
	s.Rows, s.Addrs = slices.Clone(s.Rows), slices.Clone(s.Addrs)
	s.Meshes, s.Damaged = slices.Clone(s.Meshes), slices.Clone(s.Damaged)
	return s, nil
}

// Commit implements [allocator.Store]. Nothing is written: it is no doubt.
func (frozen) Commit(context.Context, allocator.Delta) error {
	return errors.Join(errFrozen, allocator.ErrConflict)
}

// Revision implements [allocator.Store].
func (f frozen) Revision(context.Context) (uint64, error) { return f.state.Meta.Revision, nil }

// Limits implements [allocator.Store].
func (frozen) Limits() allocator.Limits { return allocator.Limits{} }

// Close implements [allocator.Store].
func (frozen) Close() error { return nil }
