package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/failpoint"
	"github.com/meshvip/coredns-meshvip/vip"
	bolt "go.etcd.io/bbolt"
)

// Commit implements [allocator.Store]: one bbolt transaction, on disk when it
// returns.
func (s *Store) Commit(_ context.Context, d allocator.Delta) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.read = nil
	s.mu.Unlock()
	if err := guard(func() error { return db.Update(func(tx *bolt.Tx) error { return write(tx, d, s.aside) }) }); err != nil {
		return fmt.Errorf("writing store %s: %w", s.path, translate(err))
	}
	failpoint.Hit("store-committed")
	return nil
}

func write(tx *bolt.Tx, d allocator.Delta, aside map[vip.Key][]string) error {
	m, err := loadMeta(tx)
	if err != nil {
		return err
	}
	if m.Revision != d.Base {
		return fmt.Errorf("revision %d, want %d: %w", m.Revision, d.Base, allocator.ErrConflict)
	}
	if err := upgrade(tx.Bucket(bucketRoot)); err != nil {
		return err
	}
	failpoint.Hit("store-begun")
	w := writer{meshes: tx.Bucket(bucketMeshes), aside: aside}
	if err := w.addrs(tx.Bucket(bucketAddresses), d.Addrs); err != nil {
		return err
	}
	failpoint.Hit("store-addresses")
	for _, name := range d.MeshesNew {
		if w.meshes.Get([]byte(name)) != nil { // no bucket: it was set aside
			if err := w.meshes.Delete([]byte(name)); err != nil {
				return fmt.Errorf("mesh %q: %w", name, err)
			}
		}
		if _, err := w.meshes.CreateBucketIfNotExists([]byte(name)); err != nil {
			return fmt.Errorf("mesh %q: %w", name, err)
		}
	}
	failpoint.Hit("store-meshes")
	if err := w.rows(tx.Bucket(bucketEntries), d.Rows); err != nil {
		return err
	}
	failpoint.Hit("store-rows")
	for _, name := range d.MeshesGone {
		if err := w.meshes.DeleteBucket([]byte(name)); err != nil {
			return fmt.Errorf("mesh %q: %w", name, err)
		}
	}
	failpoint.Hit("store-gone")
	err = tx.Bucket(bucketRoot).Put(keyMeta, encodeMeta(keyMeta, d.Meta))
	failpoint.Hit("store-meta")
	return err
}

// upgrade makes a store of an older format one of ours, before anything is
// written to it that an older version would not understand.
func upgrade(root *bolt.Bucket) error {
	want := binary.BigEndian.AppendUint32(nil, formatVersion)
	if bytes.Equal(root.Get(keyFormat), want) {
		return nil
	}
	return root.Put(keyFormat, want)
}

// writer writes a delta. bbolt copies keys, but keeps values until the
// transaction ends.
type writer struct {
	meshes     *bolt.Bucket
	aside      map[vip.Key][]string // see Store
	key, value []byte               // the one being written
	values     values
	// listings are the changes of each mesh, by key.
	listings map[string][]listingChange
}

// listingChange is what becomes of what a mesh says of an entry.
type listingChange struct {
	key vip.Key
	now *vip.Listing // nil: it says nothing any more
	// purge: it is a listing that was set aside, of a mesh that may be gone.
	purge bool
}

// put writes w.value under w.key.
func (w *writer) put(b *bolt.Bucket) error { return b.Put(w.key, w.values.keep(w.value)) }

// addrs writes the address keys, each only if it still says what the plan was
// made on. This is what makes an address unique.
func (w *writer) addrs(b *bolt.Bucket, changes []allocator.AddrChange) error {
	// New ones follow the last of their pool.
	b.FillPercent = dense
	for _, c := range changes {
		w.key = append(w.key[:0], c.Addr.AsSlice()...)
		var want []byte
		has := b.Get(w.key)
		if c.Old != nil {
			old := *c.Old
			old.Since = sinceOf(has)
			w.value = encodeHolding(w.value, w.key, old)
			want = w.value
		}
		if !bytes.Equal(has, want) {
			return fmt.Errorf("address %v: %w", c.Addr, allocator.ErrConflict)
		}
		var err error
		if c.New == nil {
			err = b.Delete(w.key)
		} else {
			w.value = encodeHolding(w.value, w.key, *c.New)
			err = w.put(b)
		}
		if err != nil {
			return fmt.Errorf("address %v: %w", c.Addr, err)
		}
	}
	return nil
}

// rows writes rows: the entries, and then the listings mesh by mesh, so that a
// large delta comes to each bucket once.
func (w *writer) rows(entries *bolt.Bucket, changes []allocator.RowChange) error {
	w.listings = make(map[string][]listingChange)
	for i, c := range changes {
		if i == len(changes)/2 {
			failpoint.Hit("store-half")
		}
		w.key = appendKey(w.key[:0], c.Key)
		if i == 0 {
			packIfAppended(entries, w.key)
		}
		var err error
		switch {
		case c.New == nil:
			err = entries.Delete(w.key)
		case c.Old == nil || c.Old.V4 != c.New.V4 || c.Old.V6 != c.New.V6:
			w.value = encodeEntry(w.value, w.key, c.New)
			err = w.put(entries)
		}
		if err != nil {
			return fmt.Errorf("entry %v: %w", c.Key, err)
		}
		if c.Old == nil {
			// What meshes said of an entry that was set aside: it comes back with
			// what they say now.
			for _, mesh := range w.aside[c.Key] {
				w.note(mesh, listingChange{key: c.Key, purge: true})
			}
		}
		for mesh, now := range c.Listings() {
			w.note(mesh, listingChange{key: c.Key, now: now})
		}
	}
	for _, mesh := range slices.Sorted(maps.Keys(w.listings)) {
		if err := w.mesh(mesh); err != nil {
			return fmt.Errorf("mesh %q: %w", mesh, err)
		}
	}
	return nil
}

// note adds to the changes of a mesh.
func (w *writer) note(mesh string, c listingChange) { w.listings[mesh] = append(w.listings[mesh], c) }

// mesh writes the changes of a mesh into the bucket of its table.
func (w *writer) mesh(name string) error {
	b := w.meshes.Bucket([]byte(name))
	for i, c := range w.listings[name] {
		switch {
		case b == nil && c.purge:
			continue
		case b == nil:
			return fmt.Errorf("entry %v: the mesh has no table: %w", c.key, allocator.ErrConflict)
		}
		w.key = appendKey(w.key[:0], c.key)
		if i == 0 {
			packIfAppended(b, w.key)
		}
		var err error
		if c.now == nil {
			err = b.Delete(w.key)
		} else {
			w.value = encodeListing(w.value, w.key, c.key.Name, *c.now)
			err = w.put(b)
		}
		if err != nil {
			return fmt.Errorf("entry %v: %w", c.key, err)
		}
	}
	return nil
}

// dense is how full the pages are that keys are appended to, of 1: none will
// come between them any time soon, and those that do find a little room.
const dense = 0.9

// packIfAppended lets b have pages that are nearly full, rather than half full,
// if first, the first of the keys that are written to it, comes after all that
// it has.
func packIfAppended(b *bolt.Bucket, first []byte) {
	if last, _ := b.Cursor().Last(); bytes.Compare(last, first) < 0 {
		b.FillPercent = dense
	}
}

// values keeps values for as long as a transaction lasts, many in one piece of
// memory.
type values []byte

func (v *values) keep(value []byte) []byte {
	if cap(*v)-len(*v) < len(value) {
		*v = make([]byte, 0, max(len(value), min(4*cap(*v)+256, 64<<10)))
	}
	from := len(*v)
	*v = append(*v, value...)
	return (*v)[from:len(*v):len(*v)]
}
