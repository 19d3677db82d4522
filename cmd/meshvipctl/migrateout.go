package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/plugin/meshvip"
)

// migrated reads the table of the store file that goes into etcd. It is held until
// the command ends, so that no server changes it meanwhile.
func (s *session) migrated(ctx context.Context, path string) (allocator.State, error) {
	switch kind, err := kindOf(path); {
	case err != nil:
		return allocator.State{}, unopened("%w", err)
	case kind == kindBackup:
		return allocator.State{}, unopened("%s is a backup, and may lack what was given since: \"meshvipctl restore\" keeps that back,"+
			" into etcd too", path)
	case kind == kindTable:
		return allocator.State{}, unopened("%s is no store (\"meshvipctl import\" makes one of Kuma's tables)", path)
	}
	store, _, err := boltstore.Open(path, boltstore.Options{})
	switch {
	case errors.Is(err, allocator.ErrLocked):
		return allocator.State{}, unopened("a server has the store %s open: stop it first, for what it changes afterwards would not be in etcd", path)
	case err != nil:
		return allocator.State{}, unopened("%w", err)
	}
	s.keep(store)
	state, err := store.Load(ctx)
	if err != nil {
		return allocator.State{}, unopened("%w", err)
	}
	return state, whole(state, path)
}

// whole returns the error of a table that is not fit to be brought elsewhere.
func whole(state allocator.State, place string) error {
	if n := len(state.Damaged); n > 0 {
		return wrong("%s of %s cannot be read (\"meshvipctl verify\" names them), so nothing is written:"+
			" make a backup of it and restore that, which keeps their addresses back", count(n, "record"), place)
	}
	if err := allocator.Check(state); err != nil {
		return wrong("%s breaks rules, so nothing is written: let its server repair it first: %w", place, err)
	}
	return nil
}

// migrateOut brings the table in etcd into a file.
func (s *session) migrateOut(ctx context.Context, o migrateOptions, table *meshvip.Table) error {
	from := target{etcd: table.Etcd, configured: table, by: table.Place}
	seen, err := s.readEtcd(ctx, table)
	if err != nil {
		return unreadEtcd(from, err)
	}
	source := seen.State
	if err := whole(source, from.place()); err != nil {
		return err
	}
	r := newMigrateReport(from.place(), o.to, source)
	if r.Leader = seen.Leader; seen.Led {
		r.Leader = orUnnamed(seen.Leader)
		s.note("%s leads, and goes on: what it changes from now on is not in %s; stop the replicas first, or do this again then", r.Leader, o.to)
	}
	old, err := s.standing(ctx, o.to)
	if err != nil {
		return err
	}
	if old.state != nil {
		if r.compare(source, *old.state); r.Difference == "" {
			r.Outcome = migrateThere
			return s.migrateEnd(r, nil)
		}
	}
	switch {
	case old.there && !o.replace:
		r.Outcome = migrateRefused
		return s.migrateEnd(r, wrong("there is another store at %s, so nothing is written: name another file, or give --replace, which keeps it beside", o.to))
	case o.dryRun:
		r.Difference, r.Same = "", false
		return s.migrateEnd(r, nil)
	}
	if r.Kept, err = old.replace(o.to, "migrate", source); err != nil {
		return unopened("%w", err)
	}
	store, err := s.openFile(ctx, o.to, toRead)
	if err != nil {
		return unopened("the file is written, and cannot be read back: %w", err)
	}
	back, err := store.Load(ctx)
	if err != nil {
		return unopened("%w", err)
	}
	r.compare(source, back)
	r.Outcome = migrateDone
	return s.migrateEnd(r, nil)
}

// replace makes a store of state at path. It returns where the old one is kept,
// named after what was done.
func (o standingStore) replace(path, doing string, state allocator.State) (kept string, err error) {
	if !o.there {
		return "", boltstore.Create(path, state, boltstore.Options{})
	}
	info, err := os.Stat(path)
	if err != nil || !os.SameFile(info, o.info) || info.Size() != o.info.Size() || !info.ModTime().Equal(o.info.ModTime()) {
		return "", unopened("the store %s has changed while it was read: stop the server, and do it again", path)
	}
	kept = path + ".before-" + doing + "-" + time.Now().UTC().Format("20060102T150405Z")
	if err := keepFile(path, kept); err != nil {
		return "", unopened("the old store cannot be kept, so it is not replaced: %w", err)
	}
	if err := boltstore.Create(path, state, boltstore.Options{Replace: true}); err != nil {
		return "", errors.Join(refusedStore(path, err), os.Remove(kept))
	}
	return kept, nil
}
