package boltstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// formatVersion is the layout of the buckets and of the records in them. A store
// of a higher one is refused; one of a lower one is read as it is, and becomes
// one of this with its first commit.
//
// 2 has listings of version 2, terms in listings, and a generation in the meta.
// 3 has holdings of version 2, flags at the end of terms, and quarantines in the
// meta.
const formatVersion = 3

var (
	bucketRoot      = []byte("meshvip")
	bucketAddresses = []byte("addresses")
	bucketEntries   = []byte("entries")
	bucketMeshes    = []byte("meshes")
	keyFormat       = []byte("format")
	keyID           = []byte("id")
	keyMeta         = []byte("meta")
)

// Options say how to open a store.
type Options struct {
	// Timeout is how long to wait for another process's lock; 0 is one second.
	Timeout time.Duration
	// NoSync skips the sync to disk of each commit. It breaks the promise of
	// [allocator.Store] and is for benchmarks.
	NoSync bool
	// Replace lets [Create] take the place of a store that is there.
	Replace bool
}

func (o Options) timeout() time.Duration {
	if o.Timeout == 0 {
		return time.Second
	}
	return o.Timeout
}

// Store is a table in a bbolt file.
type Store struct {
	path string
	mu   sync.Mutex
	db   *bolt.DB // nil once closed
	// read is what Open has read, for a Load before the first Commit.
	read *allocator.State
	// entries is how many entries there were when it was read last.
	entries int
	// aside are the meshes in which a record stands that was set aside, or is
	// of an entry that was.
	aside map[vip.Key][]string
}

// Open opens the store at path, or creates it with mode 0600 if there is no
// such file; created tells. It returns an error wrapping
// [allocator.ErrLocked], [allocator.ErrDamaged] or [allocator.ErrNewer], or
// the operating system's, that names the file and says what to do.
func Open(path string, o Options) (s *Store, created bool, err error) {
	o.Timeout = o.timeout()
	defer func() {
		if err != nil {
			err = fmt.Errorf("store %s: %w; %s", path, err, remedy(err))
		}
	}()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path, o); err != nil {
			return nil, false, err
		}
		created = true
	} else if err != nil {
		return nil, false, err
	}
	if err := inspect(path); err != nil {
		// Or else another process was writing one of them.
		if err = inspect(path); err != nil {
			return nil, false, err
		}
	}
	all, err := readAll(path, o)
	if err != nil {
		return nil, false, err
	}
	db, err := openBolt(path, o, false)
	if err != nil {
		return nil, false, err
	}
	s = &Store{path: path, db: db, aside: all.aside, entries: len(all.state.Rows)}
	if rev, err := s.Revision(context.Background()); err == nil && rev == all.state.Meta.Revision {
		s.read = &all.state // nobody had the file in between
	}
	return s, created, nil
}

// readAll reads the whole store under a lock that keeps writers away, after a
// look at every page.
func readAll(path string, o Options) (s loaded, err error) {
	db, err := openBolt(path, o, true)
	if err != nil {
		return loaded{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	keys, err := inspectPages(path)
	if err != nil {
		return loaded{}, err
	}
	// Most entries have a record, an address and a listing.
	return load(context.Background(), db, keys/3)
}

// remedy says what an operator can do about an error of Open.
func remedy(err error) string {
	switch {
	case errors.Is(err, allocator.ErrLocked):
		return "stop the other process, or give each its own store"
	case errors.Is(err, allocator.ErrNewer):
		return "run the version that wrote it, or a newer one; it was not touched"
	case errors.Is(err, allocator.ErrDamaged):
		return "restore it from a backup; it was not touched. To start over with new addresses, move it away"
	case errors.Is(err, fs.ErrPermission):
		return "let the server's user read and write the file and its directory"
	case errors.Is(err, fs.ErrNotExist):
		return "create the directory, or name another path in the Corefile"
	}
	return "see to the disk, or name another path in the Corefile"
}

// create makes a new store under a temporary name and then gives it its own,
// so that a crash leaves either no store or a whole one, and two processes
// that create at once end up with the same.
func create(path string, o Options) error {
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	tmp := path + ".new-" + rand.Text()
	defer os.Remove(tmp)
	db, err := openBolt(tmp, o, false)
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(initialise), db.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		// Some filesystems have no hard links.
		if err := os.Rename(tmp, path); err != nil {
			return err
		}
	}
	return syncDir(filepath.Dir(path))
}

// initialise makes the buckets of an empty table.
func initialise(tx *bolt.Tx) error {
	root, err := tx.CreateBucket(bucketRoot)
	if err != nil {
		return err
	}
	for _, b := range [][]byte{bucketAddresses, bucketEntries, bucketMeshes} {
		if _, err := tx.CreateBucket(b); err != nil {
			return err
		}
	}
	return errors.Join(
		root.Put(keyFormat, binary.BigEndian.AppendUint32(nil, formatVersion)),
		root.Put(keyID, encodeID(keyID, rand.Text())),
		root.Put(keyMeta, encodeMeta(keyMeta, allocator.Meta{})))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// checkFormat refuses a file that is not a store of ours, or of a newer format.
func checkFormat(tx *bolt.Tx) error {
	root := tx.Bucket(bucketRoot)
	if root == nil {
		return fmt.Errorf("%w: it is a bbolt file of something else", allocator.ErrDamaged)
	}
	v := root.Get(keyFormat)
	if len(v) != 4 {
		return fmt.Errorf("%w: it does not tell its format", allocator.ErrDamaged)
	}
	switch n := binary.BigEndian.Uint32(v); {
	case n > formatVersion:
		return fmt.Errorf("%w: format %d, this version knows %d", allocator.ErrNewer, n, formatVersion)
	case n == 0:
		return fmt.Errorf("%w: there is no format 0", allocator.ErrDamaged)
	}
	for _, b := range [][]byte{bucketAddresses, bucketEntries, bucketMeshes} {
		if tx.Bucket(b) == nil {
			return fmt.Errorf("%w: bucket %q is missing", allocator.ErrDamaged, b)
		}
	}
	return nil
}

// translate turns bbolt's errors into the contract's.
func translate(err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return allocator.ErrLocked
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return fmt.Errorf("%w: %w", allocator.ErrDamaged, err)
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return allocator.ErrClosed
	}
	return err
}

// guard runs f and makes an error of a panic: bbolt panics on pages that are
// not what they should be, and reading a mapped file that was cut short faults.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", allocator.ErrDamaged, r)
		}
	}()
	return f()
}

// Path returns the file's path as it was given.
func (s *Store) Path() string { return s.path }

// open returns the database, or ErrClosed.
func (s *Store) open() (*bolt.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil, allocator.ErrClosed
	}
	return s.db, nil
}

// Limits implements [allocator.Store]: there are none.
func (s *Store) Limits() allocator.Limits { return allocator.Limits{} }

// Revision implements [allocator.Store]. It syncs the file first: what it
// tells of is on disk.
func (s *Store) Revision(context.Context) (rev uint64, err error) {
	db, err := s.open()
	if err != nil {
		return 0, err
	}
	err = guard(func() error {
		if err := db.Sync(); err != nil {
			return err
		}
		return db.View(func(tx *bolt.Tx) error {
			m, err := loadMeta(tx)
			rev = m.Revision
			return err
		})
	})
	return rev, err
}

// Close implements [allocator.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db, s.read = nil, nil
	return err
}
