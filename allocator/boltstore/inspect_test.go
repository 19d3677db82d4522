package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	bolt "go.etcd.io/bbolt"
)

// smallStore returns the bytes of a store with a few records in it.
func smallStore(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	s, _, err := Open(path, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	d := allocator.Delta{Meta: allocator.Meta{Revision: 1, Serial: 1}, MeshesNew: []string{"a", "b"}}
	if err := s.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestInspectionLetsEveryWholeFileThrough: files with branches, overflow pages,
// nested buckets and freed pages, with and without a list of free pages.
func TestInspectionLetsEveryWholeFileThrough(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*bolt.Options{
		"no free list": {NoFreelistSync: true}, "free list": {}, "small pages": {PageSize: 1024}, "large pages": {PageSize: 1 << 16},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "t.db")
			o.NoSync = true
			db, err := bolt.Open(path, 0o600, o)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for round := range 6 {
				err := db.Update(func(tx *bolt.Tx) error {
					top, err := tx.CreateBucketIfNotExists([]byte("top"))
					for i := 0; i < 3000 && err == nil; i++ {
						key := binary.BigEndian.AppendUint32(nil, uint32(i*7919%3000))
						switch {
						case i%5 == round:
							err = top.Delete(key)
						case i%100 == 3:
							err = top.Put(key, make([]byte, 100*i))
						default:
							err = top.Put(key, make([]byte, i%90))
						}
					}
					for _, sub := range []string{"inline", "paged", "empty"} {
						b, subErr := top.CreateBucketIfNotExists([]byte(sub))
						for i := 0; i < 1000 && subErr == nil && (sub == "paged" || sub == "inline" && i < 3); i++ {
							subErr = b.Put([]byte{1, byte(round), byte(i >> 8), byte(i)}, []byte(sub))
						}
						if subErr != nil {
							return subErr
						}
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := inspectPages(path); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
			}
		})
	}
}

// TestAPageIsFoundUnderItsFirstKey: bbolt would read the page all the same, and
// leave it in the tree beside its successor when it is written to.
func TestAPageIsFoundUnderItsFirstKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte("b"))
		for i := 0; i < 1000 && err == nil; i++ {
			err = b.Put(fmt.Appendf(nil, "key-%04d-0", i), make([]byte, 20))
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := 0
	for i := range 1000 {
		key := fmt.Appendf(nil, "key-%04d-0", i)
		at := bytes.Index(file, append(key, 0))             // in a leaf, before its value
		if parents := bytes.Count(file, key); parents < 2 { // and in no branch
			continue
		}
		damaged := bytes.Clone(file)
		damaged[at+len(key)-1] = 'p' // still before the next one
		if err := inspectBytes(damaged); err == nil || !strings.Contains(err.Error(), "first key") {
			t.Errorf("%s: %v", key, err)
		}
		flipped++
	}
	if flipped < 5 {
		t.Errorf("only %d pages were tried", flipped)
	}
}

// TestAMetaThatLiesIsNotFollowed: with a checksum that is right.
func TestAMetaThatLiesIsNotFollowed(t *testing.T) {
	t.Parallel()
	file := smallStore(t)
	newest, err := inspectFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	at := int(newest.txid%2)*int(newest.pageSize) + pageHeader
	for name, lie := range map[string]struct {
		off   int
		value uint64
	}{
		"root is a meta": {16, 1}, "root beyond the end": {16, 1 << 40}, "free list is a leaf": {32, newest.root},
		"free list beyond the end": {32, 1 << 50}, "more pages than there are": {40, 1 << 30}, "no pages": {40, 0},
	} {
		f := bytes.Clone(file)
		binary.NativeEndian.PutUint64(f[at+lie.off:], lie.value)
		sum := fnv.New64a()
		sum.Write(f[at : at+56])
		binary.NativeEndian.PutUint64(f[at+56:], sum.Sum64())
		if inspectBytes(f) == nil {
			t.Errorf("%s: let through", name)
		}
	}
}

func inspectBytes(file []byte) error {
	r := bytes.NewReader(file)
	m, err := inspectFile(r, int64(len(file)))
	if err != nil {
		return err
	}
	_, err = inspectTree(r, m)
	return err
}

func FuzzInspect(f *testing.F) {
	file := smallStore(f)
	f.Add(file)
	f.Add([]byte{})
	f.Add(make([]byte, 1<<13))
	f.Add(file[:len(file)/2])
	f.Fuzz(func(_ *testing.T, file []byte) {
		// Whatever it is, it is told in bounded time and memory.
		_ = inspectBytes(file)
	})
}

// FuzzOpen opens a store in which bytes are overwritten. It gives an error, or
// a store that can be loaded, committed to, and opened again.
func FuzzOpen(f *testing.F) {
	file := smallStore(f)
	f.Add(uint32(0), []byte{})
	f.Add(uint32(16), []byte{0})
	for off := 0; off < len(file); off += os.Getpagesize() {
		f.Add(uint32(off+8), []byte{1, 0, 255, 255, 255, 255})
		f.Add(uint32(off+20), []byte{255})
	}
	f.Fuzz(func(t *testing.T, off uint32, over []byte) {
		damaged := bytes.Clone(file)
		copy(damaged[int(off)%len(damaged):], over)
		path := filepath.Join(t.TempDir(), "t.db")
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s, _, err := Open(path, Options{NoSync: true})
			if err != nil {
				if after, readErr := os.ReadFile(path); readErr != nil || !bytes.Equal(after, damaged) {
					t.Fatalf("the file was changed after %v", err)
				}
				return
			}
			state, err := s.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m := state.Meta
			m.Revision++
			if err := s.Commit(t.Context(), allocator.Delta{Base: state.Meta.Revision, Meta: m}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if damaged, err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
	})
}
