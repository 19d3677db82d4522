package boltstore

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/meshvip/coredns-meshvip/vip"
	bolt "go.etcd.io/bbolt"
)

// errOdd says that something is not as it should be, and that the plain way through
// the store, which tells what, is to be taken.
var errOdd = errors.New("a record is not as it should be")

// readers is how many goroutines read listings. The first reads the addresses
// before.
const readers = 2

// inParallel reads addresses and listings, of which a large store has a million
// each, by several goroutines. It reports whether it has: at the first thing that
// is not as it should be it gives up, and leaves nothing behind.
func (l *loader) inParallel(tx *bolt.Tx) bool {
	meshes, ok := meshesOf(tx)
	if !ok {
		return false
	}
	var (
		next   atomic.Int64 // the first mesh that nobody reads yet
		all    [readers]listingReader
		done   = make(chan error, readers)
		owners = make([]atomic.Int32, l.table.n)
	)
	byItself := loader{ctx: l.ctx, table: l.table} // what it finds is damage of nobody yet
	byItself.state.Addrs = l.state.Addrs
	for i := range all {
		r := &all[i]
		*r = listingReader{loader: l, id: int32(i + 1), owners: owners}
		go func() {
			done <- guard(func() error {
				return sameView(tx, func(tx *bolt.Tx) error {
					if r.id == 1 {
						if err := byItself.intactAddresses(tx); err != nil {
							return err
						}
					}
					return r.read(tx, meshes, &next)
				})
			})
		}()
	}
	var err error
	for range all {
		err = errors.Join(err, <-done)
	}
	if err != nil {
		for i := range l.table.n {
			l.table.at(i).row.Listings = nil
		}
		return false
	}
	l.state.Addrs, l.state.Meshes = byItself.state.Addrs, meshes
	giveOthers(l.table, all[:], owners)
	return true
}

// meshesOf returns the names of the meshes in order, and whether each has a bucket.
func meshesOf(tx *bolt.Tx) (meshes []string, ok bool) {
	err := tx.Bucket(bucketMeshes).ForEach(func(name, v []byte) error {
		if v != nil {
			return errOdd
		}
		meshes = append(meshes, string(name))
		return nil
	})
	return meshes, err == nil
}

// sameView calls f with a transaction that sees what tx does: one is for one
// goroutine.
func sameView(tx *bolt.Tx, f func(*bolt.Tx) error) error {
	return tx.DB().View(func(other *bolt.Tx) error {
		if other.ID() != tx.ID() {
			return errOdd
		}
		return f(other)
	})
}

// intactAddresses reads the addresses, if all can be read.
func (l *loader) intactAddresses(tx *bolt.Tx) error {
	l.damaged = make(map[vip.Key]bool)
	if err := l.addresses(tx); err != nil {
		return err
	}
	if len(l.state.Damaged) > 0 {
		return errOdd
	}
	return nil
}

// listingReader reads the listings of some of the meshes. Which, nobody knows
// before: an entry that several meshes list is its own who comes first, and the
// others keep what they read of it until all are done.
type listingReader struct {
	*loader
	id     int32
	owners []atomic.Int32 // of each entry, the id of its reader, or 0
	reader listings
	others []otherListing
}

// otherListing is a listing of another reader's entry.
type otherListing struct {
	entry   int
	listing vip.Listing
}

// read reads mesh by mesh until there are no more.
func (r *listingReader) read(tx *bolt.Tx, meshes []string, next *atomic.Int64) error {
	root := tx.Bucket(bucketMeshes)
	for {
		i := int(next.Add(1)) - 1
		if i >= len(meshes) {
			return nil
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		err := root.Bucket([]byte(meshes[i])).ForEach(func(k, v []byte) error { return r.listing(meshes[i], k, v) })
		if err != nil {
			return err
		}
	}
}

// listing reads what a mesh says of an entry.
func (r *listingReader) listing(mesh string, k, v []byte) error {
	i := r.table.find(k)
	if i < 0 {
		return errOdd
	}
	e := r.table.at(i)
	mine := r.owners[i].CompareAndSwap(0, r.id) || r.owners[i].Load() == r.id
	if mine {
		r.reader.into(e)
	} else {
		r.reader.of(e.row.Entry.Name)
	}
	listing, err := r.reader.read(mesh, k, v)
	switch {
	case err != nil:
		return err
	case mine:
		e.row.Listings = append(e.row.Listings, listing)
	default:
		r.others = append(r.others, otherListing{i, listing})
	}
	return nil
}

// sorted is the owner of an entry whose listings are in order again.
const sorted = -1

// giveOthers gives the listings that were kept to their rows, whose order is that
// of the meshes.
func giveOthers(table *entryTable, all []listingReader, owners []atomic.Int32) {
	for _, r := range all {
		for _, o := range r.others {
			row := &table.at(o.entry).row
			row.Listings = append(row.Listings, o.listing)
		}
	}
	for _, r := range all {
		for _, o := range r.others {
			if owners[o.entry].Swap(sorted) != sorted {
				slices.SortFunc(table.at(o.entry).row.Listings, func(a, b vip.Listing) int { return cmp.Compare(a.Mesh, b.Mesh) })
			}
		}
	}
}
