package boltstore

import (
	"bytes"
	"context"
	"fmt"

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
	failpoint.Hit("store-begun")
	if err := writeAddrs(tx.Bucket(bucketAddresses), d.Addrs); err != nil {
		return err
	}
	failpoint.Hit("store-addresses")
	meshes := tx.Bucket(bucketMeshes)
	for _, name := range d.MeshesNew {
		if meshes.Get([]byte(name)) != nil { // no bucket: it was set aside
			if err := meshes.Delete([]byte(name)); err != nil {
				return fmt.Errorf("mesh %q: %w", name, err)
			}
		}
		if _, err := meshes.CreateBucketIfNotExists([]byte(name)); err != nil {
			return fmt.Errorf("mesh %q: %w", name, err)
		}
	}
	failpoint.Hit("store-meshes")
	w := rowWriter{entries: tx.Bucket(bucketEntries), meshes: meshes, aside: aside, open: make(map[string]*bolt.Bucket)}
	for i, c := range d.Rows {
		if i == len(d.Rows)/2 {
			failpoint.Hit("store-half")
		}
		if err := w.write(c); err != nil {
			return fmt.Errorf("entry %v: %w", c.Key, err)
		}
	}
	failpoint.Hit("store-rows")
	for _, name := range d.MeshesGone {
		if err := meshes.DeleteBucket([]byte(name)); err != nil {
			return fmt.Errorf("mesh %q: %w", name, err)
		}
	}
	failpoint.Hit("store-gone")
	err = tx.Bucket(bucketRoot).Put(keyMeta, encodeMeta(keyMeta, d.Meta))
	failpoint.Hit("store-meta")
	return err
}

// writeAddrs writes the address keys, each only if it still says what the plan
// was made on. This is what makes an address unique.
func writeAddrs(b *bolt.Bucket, changes []allocator.AddrChange) error {
	for _, c := range changes {
		key := c.Addr.AsSlice()
		have := b.Get(key)
		var want []byte
		if c.Old != nil {
			want = encodeHolding(key, *c.Old)
		}
		if !bytes.Equal(have, want) {
			return fmt.Errorf("address %v: %w", c.Addr, allocator.ErrConflict)
		}
		if err := b.Put(key, encodeHolding(key, *c.New)); err != nil {
			return fmt.Errorf("address %v: %w", c.Addr, err)
		}
	}
	return nil
}

// rowWriter writes rows: the entry, and the listing in each mesh's bucket.
type rowWriter struct {
	entries, meshes *bolt.Bucket
	aside           map[vip.Key][]string    // see Store
	open            map[string]*bolt.Bucket // by mesh
	key             []byte
}

func (w *rowWriter) write(c allocator.RowChange) error {
	// bbolt keeps keys and values until the transaction ends: none is reused.
	w.key = appendKey(nil, c.Key)
	if c.New == nil {
		if err := w.entries.Delete(w.key); err != nil {
			return err
		}
	} else if c.Old == nil || c.Old.V4 != c.New.V4 || c.Old.V6 != c.New.V6 {
		if err := w.entries.Put(w.key, encodeEntry(w.key, c.New)); err != nil {
			return err
		}
	}
	if c.Old == nil {
		if err := w.purge(c.Key); err != nil {
			return err
		}
	}
	return w.listings(c.Old, c.New)
}

// purge deletes what meshes said of an entry that was set aside: it comes back
// with what they say now.
func (w *rowWriter) purge(key vip.Key) error {
	for _, mesh := range w.aside[key] {
		if w.meshes.Bucket([]byte(mesh)) == nil {
			continue // gone since
		}
		if err := w.unlist(mesh); err != nil {
			return err
		}
	}
	return nil
}

// listings writes what differs between two versions of a row. Both lists are
// sorted by mesh.
func (w *rowWriter) listings(before, after *vip.Row) error {
	var old, now []vip.Listing
	if before != nil {
		old = before.Listings
	}
	if after != nil {
		now = after.Listings
	}
	for len(old) > 0 || len(now) > 0 {
		var err error
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].Mesh < now[0].Mesh:
			err = w.unlist(old[0].Mesh)
			old = old[1:]
		case len(old) == 0 || now[0].Mesh < old[0].Mesh:
			err = w.list(now[0])
			now = now[1:]
		default:
			if !old[0].Equal(now[0]) {
				err = w.list(now[0])
			}
			old, now = old[1:], now[1:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mesh returns the bucket of a mesh's table.
func (w *rowWriter) mesh(name string) (*bolt.Bucket, error) {
	b := w.open[name]
	if b == nil {
		if b = w.meshes.Bucket([]byte(name)); b == nil {
			return nil, fmt.Errorf("mesh %q has no table: %w", name, allocator.ErrConflict)
		}
		w.open[name] = b
	}
	return b, nil
}

func (w *rowWriter) list(l vip.Listing) error {
	b, err := w.mesh(l.Mesh)
	if err != nil {
		return err
	}
	return b.Put(w.key, encodeListing(w.key, l))
}

func (w *rowWriter) unlist(mesh string) error {
	b, err := w.mesh(mesh)
	if err != nil {
		return err
	}
	return b.Delete(w.key)
}
