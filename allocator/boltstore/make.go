package boltstore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	bolt "go.etcd.io/bbolt"
)

// makeRows is how many records one transaction of Create writes: a crash leaves no
// part of the store, so that this is only a matter of memory.
const makeRows = 50_000

// Create makes a store at path that holds state, whole or not at all: it is
// written under another name beside it and synced, and gets its own last. A crash
// leaves what was at path, and perhaps a file PATH.new-*, which can be deleted. An
// ID is made where the state has none.
//
// Where there is a file it returns an error that wraps [fs.ErrExist], or with
// Options.Replace takes its place, unless a process has it open: then
// [allocator.ErrLocked]; one that waits to open it opens the new one. A state that is
// not sound, or that has records set aside, is refused.
func Create(path string, state allocator.State, o Options) error {
	if err := tryCreate(path, state, o); err != nil {
		return fmt.Errorf("making store %s: %w", path, err)
	}
	return nil
}

func tryCreate(path string, state allocator.State, o Options) error {
	if n := len(state.Damaged); n > 0 {
		return fmt.Errorf("%d records of the state were set aside, and cannot be written", n)
	}
	if err := allocator.Check(state); err != nil {
		return fmt.Errorf("the state is not sound: %w", err)
	}
	unlock, err := lockOld(path, o)
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	tmp := path + ".new-" + rand.Text()
	defer os.Remove(tmp)
	if err := fill(tmp, state, o); err != nil {
		return err
	}
	if err := name(tmp, path, o); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// lockOld keeps the store that is to be replaced from others, until unlock is
// called.
func lockOld(path string, o Options) (unlock func(), err error) {
	switch _, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return func() {}, nil
	case err != nil:
		return nil, err
	case !o.Replace:
		return nil, fmt.Errorf("%w: move it away, or say that it may be replaced", fs.ErrExist)
	}
	return lockFile(path, o.timeout())
}

// name gives a file its name, which nobody has, or that of the store that is to
// be replaced.
func name(tmp, path string, o Options) error {
	if o.Replace {
		return os.Rename(tmp, path)
	}
	err := os.Link(tmp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// Some filesystems have no hard links.
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return os.Rename(tmp, path)
}

// fill makes a file that holds a state, on disk when it returns.
func fill(path string, s allocator.State, o Options) (err error) {
	unsynced := o
	unsynced.NoSync = true // until all is there
	db, err := openBolt(path, unsynced, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Update(initialise); err != nil {
		return err
	}
	if err := fillRows(db, s); err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		root, meta := tx.Bucket(bucketRoot), s.Meta
		if meta.ID != "" {
			if err := root.Put(keyID, encodeID(keyID, meta.ID)); err != nil {
				return err
			}
		}
		return root.Put(keyMeta, encodeMeta(keyMeta, meta))
	})
	if err != nil || o.NoSync {
		return err
	}
	return db.Sync()
}

// fillRows writes all but the meta, in transactions of a bounded size, each kind
// in the order of its keys, so that the pages are full.
func fillRows(db *bolt.DB, s allocator.State) error {
	write := func(f func(w writer, tx *bolt.Tx) error) error {
		return db.Update(func(tx *bolt.Tx) error { return f(writer{meshes: tx.Bucket(bucketMeshes)}, tx) })
	}
	err := write(func(w writer, _ *bolt.Tx) error {
		for _, m := range s.Meshes {
			if _, err := w.meshes.CreateBucket([]byte(m)); err != nil {
				return fmt.Errorf("mesh %q: %w", m, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	addrs := make([]allocator.AddrChange, len(s.Addrs))
	for i := range s.Addrs {
		addrs[i] = allocator.AddrChange{Addr: s.Addrs[i].Addr, New: &s.Addrs[i].Holding}
	}
	slices.SortFunc(addrs, func(a, b allocator.AddrChange) int { return a.Addr.Compare(b.Addr) })
	for part := range slices.Chunk(addrs, makeRows) {
		if err := write(func(w writer, tx *bolt.Tx) error { return w.addrs(tx.Bucket(bucketAddresses), part) }); err != nil {
			return err
		}
	}
	rows := slices.Clone(s.Rows)
	slices.SortFunc(rows, func(a, b *vip.Row) int { return a.Key().Compare(b.Key()) })
	for part := range slices.Chunk(rows, makeRows) {
		changes := make([]allocator.RowChange, len(part))
		for i, r := range part {
			changes[i] = allocator.RowChange{Key: r.Key(), New: r}
		}
		if err := write(func(w writer, tx *bolt.Tx) error { return w.rows(tx.Bucket(bucketEntries), changes) }); err != nil {
			return err
		}
	}
	return nil
}
