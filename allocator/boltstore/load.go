package boltstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	bolt "go.etcd.io/bbolt"
)

// Load implements [allocator.Store].
func (s *Store) Load(ctx context.Context) (allocator.State, error) {
	db, err := s.open()
	if err != nil {
		return allocator.State{}, err
	}
	s.mu.Lock()
	read := s.read
	s.read = nil
	s.mu.Unlock()
	if read != nil {
		return *read, nil
	}
	state, err := load(ctx, db)
	if err != nil {
		return allocator.State{}, fmt.Errorf("reading store %s: %w", s.path, err)
	}
	return state, nil
}

// load reads the whole of a database.
func load(ctx context.Context, db *bolt.DB) (allocator.State, error) {
	l := loader{ctx: ctx, rows: make(map[vip.Key]*vip.Row), aside: make(map[vip.Key]bool)}
	err := guard(func() error { return db.View(l.load) })
	return l.state, err
}

// loader collects a state from a read transaction.
type loader struct {
	ctx   context.Context
	state allocator.State
	rows  map[vip.Key]*vip.Row
	aside map[vip.Key]bool // entries with a record that cannot be read
}

func (l *loader) load(tx *bolt.Tx) error {
	if err := checkFormat(tx); err != nil {
		return err
	}
	m, err := loadMeta(tx)
	if err != nil {
		return err
	}
	l.state.Meta = m
	steps := []func(*bolt.Tx) error{l.addresses, l.entries, l.meshes}
	for _, step := range steps {
		if err := errors.Join(l.ctx.Err(), step(tx)); err != nil {
			return err
		}
	}
	l.assemble()
	return nil
}

// loadMeta reads the table's meta. Without it nothing else can be trusted.
func loadMeta(tx *bolt.Tx) (allocator.Meta, error) {
	root := tx.Bucket(bucketRoot)
	m, err := decodeMeta(keyMeta, root.Get(keyMeta))
	if err != nil {
		return allocator.Meta{}, fmt.Errorf("%w: meta: %w", allocator.ErrDamaged, err)
	}
	m.ID = string(root.Get(keyID))
	return m, nil
}

// damage sets a record aside.
func (l *loader) damage(bucket string, key []byte, addr netip.Addr, err error) {
	place := bucket + "/" + hex.EncodeToString(key)
	if addr.IsValid() {
		place = bucket + "/" + addr.String()
	} else if k, err := readKey(key); err == nil {
		place = bucket + "/" + k.String()
		l.aside[k] = true
	}
	l.state.Damaged = append(l.state.Damaged, allocator.Damage{Place: place, Err: err, Addr: addr})
}

func (l *loader) addresses(tx *bolt.Tx) error {
	return tx.Bucket(bucketAddresses).ForEach(func(k, v []byte) error {
		addr, ok := netip.AddrFromSlice(k)
		if !ok {
			l.damage("addresses", k, netip.Addr{}, errContent)
			return nil
		}
		h, err := decodeHolding(k, v)
		if err != nil {
			l.damage("addresses", k, addr, err)
			return nil
		}
		l.state.Addrs = append(l.state.Addrs, allocator.Held{Addr: addr, Holding: h})
		return nil
	})
}

func (l *loader) entries(tx *bolt.Tx) error {
	return tx.Bucket(bucketEntries).ForEach(func(k, v []byte) error {
		key, err := readKey(k)
		if err != nil {
			l.damage("entries", k, netip.Addr{}, err)
			return nil
		}
		row := &vip.Row{Entry: vip.Entry(key)}
		if row.V4, row.V6, err = decodeEntry(k, v); err != nil {
			l.damage("entries", k, netip.Addr{}, err)
			return nil
		}
		l.rows[key] = row
		return nil
	})
}

// meshes reads the listings, mesh by mesh in the order of their names, which
// is the order of a row's listings.
func (l *loader) meshes(tx *bolt.Tx) error {
	root := tx.Bucket(bucketMeshes)
	var in interner
	return root.ForEach(func(name, v []byte) error {
		mesh, place := string(name), "meshes/"+string(name)
		if v != nil {
			l.damage("meshes", name, netip.Addr{}, errContent)
			return nil
		}
		l.state.Meshes = append(l.state.Meshes, mesh)
		return root.Bucket(name).ForEach(func(k, v []byte) error {
			key, err := readKey(k)
			if err != nil {
				l.damage(place, k, netip.Addr{}, err)
				return nil
			}
			listing, err := decodeListing(&in, mesh, k, v)
			row := l.rows[key]
			switch {
			case err != nil:
				l.damage(place, k, netip.Addr{}, err)
			case row == nil && !l.aside[key]:
				l.damage(place, k, netip.Addr{}, errors.New("the mesh lists an entry that has no record"))
			case row != nil:
				row.Listings = append(row.Listings, listing)
			}
			return nil
		})
	})
}

// assemble turns what was read into rows. An entry whose only listings cannot
// be read is set aside with them; its address keys stay.
func (l *loader) assemble() {
	l.state.Rows = make([]*vip.Row, 0, len(l.rows))
	for key, row := range l.rows {
		if len(row.Listings) == 0 {
			if l.aside[key] {
				continue
			}
		} else {
			name := row.Listings[0].Name
			for _, x := range row.Listings {
				name = min(name, x.Name)
			}
			row.Entry.Name = name
		}
		l.state.Rows = append(l.state.Rows, row)
	}
}
