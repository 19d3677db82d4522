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
	all, err := load(ctx, db)
	if err != nil {
		return allocator.State{}, fmt.Errorf("reading store %s: %w", s.path, err)
	}
	s.aside = all.aside
	return all.state, nil
}

// loaded is what a store holds, and the meshes in which records stand that
// were set aside, by entry.
type loaded struct {
	state allocator.State
	aside map[vip.Key][]string
}

// load reads the whole of a database.
func load(ctx context.Context, db *bolt.DB) (loaded, error) {
	l := loader{
		ctx: ctx, rows: make(map[vip.Key]*vip.Row), damaged: make(map[vip.Key]bool),
		loaded: loaded{aside: make(map[vip.Key][]string)},
	}
	err := guard(func() error { return db.View(l.load) })
	return l.loaded, err
}

// loader collects a state from a read transaction.
type loader struct {
	loaded
	ctx     context.Context
	rows    map[vip.Key]*vip.Row
	damaged map[vip.Key]bool // entries with a record that cannot be read
	// lostAddrs: some address key cannot be read.
	lostAddrs bool
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
	if m.ID, err = decodeID(keyID, root.Get(keyID)); err != nil {
		return allocator.Meta{}, fmt.Errorf("%w: id: %w", allocator.ErrDamaged, err)
	}
	return m, nil
}

// damage sets a record aside.
func (l *loader) damage(bucket string, key []byte, addr netip.Addr, err error) {
	l.lostAddrs = l.lostAddrs || bucket == "addresses"
	place := bucket + "/" + hex.EncodeToString(key)
	if addr.IsValid() {
		place = bucket + "/" + addr.String()
	} else if k, err := readKey(key); err == nil {
		place = bucket + "/" + k.String()
		l.damaged[k] = true
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
			l.state.Damaged = append(l.state.Damaged, allocator.Damage{Place: place, Err: errContent})
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
			case err == nil && row != nil:
				row.Listings = append(row.Listings, listing)
				return nil
			case err != nil:
				l.damage(place, k, netip.Addr{}, err)
			case !l.damaged[key]:
				l.damage(place, k, netip.Addr{}, errors.New("the mesh lists an entry that has no record"))
			}
			l.aside[key] = append(l.aside[key], mesh)
			return nil
		})
	})
}

// assemble turns what was read into rows. An entry whose listings cannot be
// read is set aside with them; its address keys stay.
func (l *loader) assemble() {
	l.state.Rows = make([]*vip.Row, 0, len(l.rows))
	for key, row := range l.rows {
		if len(row.Listings) == 0 {
			if !l.damaged[key] {
				l.damage("entries", appendKey(nil, key), netip.Addr{}, errors.New("no mesh lists the entry"))
			}
			continue
		}
		row.Entry.Name = row.Listings[0].Name
		for _, x := range row.Listings[1:] {
			row.Entry.Name = min(row.Entry.Name, x.Name)
		}
		l.state.Rows = append(l.state.Rows, row)
	}
	if l.lostAddrs {
		l.missing()
	}
}

// missing finds the addresses of rows whose key is not there, because it is
// the key itself that cannot be read.
func (l *loader) missing() {
	known := make(map[netip.Addr]bool, len(l.state.Addrs)+len(l.state.Damaged))
	for _, h := range l.state.Addrs {
		known[h.Addr] = true
	}
	for _, d := range l.state.Damaged {
		known[d.Addr] = true
	}
	for _, row := range l.state.Rows {
		for _, a := range row.Addrs() {
			if !known[a] {
				l.damage("addresses", a.AsSlice(), a, fmt.Errorf("the address of %v has no record", row.Key()))
			}
		}
	}
}
