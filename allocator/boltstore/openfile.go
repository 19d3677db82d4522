package boltstore

import (
	"fmt"
	"os"

	"github.com/meshvip/coredns-meshvip/allocator"
	bolt "go.etcd.io/bbolt"
)

// openAttempts is how often a file is opened that another takes the place of
// meanwhile.
const openAttempts = 3

// openBolt opens the database. The list of free pages is not written with each
// commit, for it grows with what was ever deleted, and a commit should cost
// what it changes; it is found again by a scan when the file is opened.
//
// While it waits for the lock, another file may take the place of the one that it
// has opened, as a restored backup does: what would be written to the old one then,
// nobody would ever read.
func openBolt(path string, o Options, readOnly bool) (db *bolt.DB, err error) {
	for range openAttempts {
		var opened os.FileInfo
		db, opened, err = openThis(path, o, readOnly)
		if err != nil {
			return nil, err
		}
		if now, statErr := os.Stat(path); statErr == nil && os.SameFile(opened, now) {
			return db, nil
		}
		if err := db.Close(); err != nil {
			return nil, translate(err)
		}
	}
	return nil, fmt.Errorf("%w: it is replaced again and again while it is opened", allocator.ErrLocked)
}

// openThis opens the file that is at path now, and tells which that is.
func openThis(path string, o Options, readOnly bool) (db *bolt.DB, opened os.FileInfo, err error) {
	err = guard(func() (err error) {
		db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout: o.Timeout, ReadOnly: readOnly, NoSync: o.NoSync,
			NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
			OpenFile: func(name string, flag int, perm os.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag, perm)
				if err == nil {
					opened, err = f.Stat()
				}
				return f, err
			},
		})
		return err
	})
	return db, opened, translate(err)
}
