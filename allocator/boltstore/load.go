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
	all, err := load(ctx, db, s.entries)
	if err != nil {
		return allocator.State{}, fmt.Errorf("reading store %s: %w", s.path, err)
	}
	s.aside, s.entries = all.aside, len(all.state.Rows)
	return all.state, nil
}

// loaded is what a store holds, and the meshes in which records stand that
// were set aside, by entry.
type loaded struct {
	state allocator.State
	aside map[vip.Key][]string
}

// load reads the whole of a database, which has about so many entries.
func load(ctx context.Context, db *bolt.DB, entries int) (loaded, error) {
	l := loader{
		ctx: ctx, table: newEntryTable(entries), damaged: make(map[vip.Key]bool),
		loaded: loaded{aside: make(map[vip.Key][]string)},
	}
	l.state.Addrs = make([]allocator.Held, 0, entries)
	err := guard(func() error { return db.View(l.load) })
	return l.loaded, err
}

// loader collects a state from a read transaction.
type loader struct {
	loaded
	ctx     context.Context
	table   *entryTable
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
	// What the others refer to comes first.
	if err := errors.Join(l.ctx.Err(), l.entries(tx)); err != nil {
		return err
	}
	if !l.inParallel(tx) {
		for _, step := range []func(*bolt.Tx) error{l.addresses, l.meshes} {
			if err := errors.Join(l.ctx.Err(), step(tx)); err != nil {
				return err
			}
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
	} else if k, err := readKey(string(key)); err == nil {
		place = bucket + "/" + k.String()
		l.damaged[k] = true
	}
	l.state.Damaged = append(l.state.Damaged, allocator.Damage{Place: place, Err: err, Addr: addr})
}

func (l *loader) entries(tx *bolt.Tx) error {
	return tx.Bucket(bucketEntries).ForEach(func(k, v []byte) error {
		v4, v6, err := decodeEntry(k, v)
		if err == nil {
			var e *loadedEntry
			if e, err = l.table.add(k); err == nil {
				e.row.V4, e.row.V6 = v4, v6
			}
		}
		if err != nil {
			l.damage("entries", k, netip.Addr{}, err)
		}
		return nil
	})
}

func (l *loader) addresses(tx *bolt.Tx) error {
	var in interner
	last := -1
	return tx.Bucket(bucketAddresses).ForEach(func(k, v []byte) error {
		addr, ok := netip.AddrFromSlice(k)
		if !ok {
			l.damage("addresses", k, netip.Addr{}, errContent)
			return nil
		}
		h, owner, err := readHolding(&in, k, v)
		if err == nil {
			if i := l.table.findNear(last+1, owner); i >= 0 {
				h.Owner, last = l.table.at(i).key(), i
			} else { // it has no row, any more
				h.Owner, err = readKey(string(owner))
			}
		}
		if err != nil {
			l.damage("addresses", k, addr, err)
			return nil
		}
		l.state.Addrs = append(l.state.Addrs, allocator.Held{Addr: addr, Holding: h})
		return nil
	})
}

// meshes reads the listings, mesh by mesh in the order of their names, which
// is the order of a row's listings.
func (l *loader) meshes(tx *bolt.Tx) error {
	root := tx.Bucket(bucketMeshes)
	var reader listings
	return root.ForEach(func(name, v []byte) error {
		if v != nil {
			place := "meshes/" + string(name)
			l.state.Damaged = append(l.state.Damaged, allocator.Damage{Place: place, Err: errContent})
			return nil
		}
		mesh := string(name)
		l.state.Meshes = append(l.state.Meshes, mesh)
		return root.Bucket(name).ForEach(func(k, v []byte) error {
			l.listing(&reader, mesh, k, v)
			return nil
		})
	})
}

// listing reads what a mesh says of an entry.
func (l *loader) listing(reader *listings, mesh string, k, v []byte) {
	var (
		key vip.Key
		e   *loadedEntry
	)
	if i := l.table.find(k); i >= 0 {
		e = l.table.at(i)
		key = e.key()
		reader.into(e)
	} else {
		var err error
		if key, err = readKey(string(k)); err != nil {
			l.damage("meshes/"+mesh, k, netip.Addr{}, err)
			return
		}
		reader.name = key.Name
	}
	listing, err := reader.read(mesh, k, v)
	switch {
	case err == nil && e != nil:
		e.row.Listings = append(e.row.Listings, listing)
		return
	case err != nil:
		l.damage("meshes/"+mesh, k, netip.Addr{}, err)
	case !l.damaged[key]:
		l.damage("meshes/"+mesh, k, netip.Addr{}, errors.New("the mesh lists an entry that has no record"))
	}
	l.aside[key] = append(l.aside[key], mesh)
}

// assemble turns what was read into rows. An entry whose listings cannot be
// read is set aside with them; its address keys stay.
func (l *loader) assemble() {
	l.state.Rows = make([]*vip.Row, 0, l.table.n)
	for i := range l.table.n {
		e := l.table.at(i)
		row := &e.row
		if len(row.Listings) == 0 {
			if !l.damaged[e.key()] {
				l.damage("entries", appendKey(nil, e.key()), netip.Addr{}, errors.New("no mesh lists the entry"))
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
		for a, key := range l.state.Unkeyed() {
			l.damage("addresses", a.AsSlice(), a, fmt.Errorf("the address of %v has no record", key))
		}
	}
}
