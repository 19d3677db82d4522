package boltstore_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/vip"
	bolt "go.etcd.io/bbolt"
)

// fixture is a sound store: its bytes, and what it holds.
type fixture struct {
	file  []byte
	addrs map[vip.Key]string
	// used are all addresses that somebody has or had.
	used     map[string]bool
	pageSize int
}

var makeFixture = sync.OnceValues(func() (fixture, error) {
	dir, err := os.MkdirTemp("", "meshvip-fixture-")
	if err != nil {
		return fixture{}, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "t.db")
	a, err := tryTable(path, boltstore.Options{})
	if err != nil {
		return fixture{}, err
	}
	// A fleet with more in it comes first, so that there are released
	// addresses, free pages, and pages that were merged.
	for _, n := range []int{90, 70} {
		if _, err := a.Apply(context.Background(), fleet(n)); err != nil {
			return fixture{}, err
		}
	}
	f := fixture{addrs: addresses(a), used: make(map[string]bool), pageSize: os.Getpagesize()}
	if err := a.Close(); err != nil {
		return fixture{}, err
	}
	s, _, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		return fixture{}, err
	}
	defer s.Close()
	state, err := s.Load(context.Background())
	for _, h := range state.Addrs {
		f.used[h.Addr.String()] = true
	}
	if err != nil {
		return fixture{}, err
	}
	f.file, err = os.ReadFile(path)
	return f, err
})

func sound(t *testing.T) fixture {
	t.Helper()
	f, err := makeFixture()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// survive opens a damaged copy of the fixture. It fails the test unless that
// gives an error and leaves the file as it is, or a table in which every entry
// that can be read has its address, nobody else gets the others, and all of
// them are back when the sources list them again. It returns the error, or how
// many records were set aside.
func (f fixture) survive(t *testing.T, file []byte) (aside int, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := tryTable(path, boltstore.Options{NoSync: true})
	if err != nil {
		if !errors.Is(err, allocator.ErrDamaged) && !errors.Is(err, allocator.ErrNewer) {
			t.Errorf("neither damaged nor newer: %v", err)
		}
		if after, readErr := os.ReadFile(path); readErr != nil || !bytes.Equal(after, file) {
			t.Errorf("the file was changed after %v", err)
		}
		return 0, err
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	aside = a.Stats().Damaged
	for key, addrs := range addresses(a) {
		if f.addrs[key] != addrs {
			t.Errorf("entry %v has %s, had %s", key, addrs, f.addrs[key])
		}
	}
	if len(a.Rows()) < len(f.addrs) && a.Stats().Damaged == 0 {
		t.Errorf("%d of %d entries are gone without a word", len(f.addrs)-len(a.Rows()), len(f.addrs))
	}
	verify(t, a)
	newcomers := vip.MeshUpdate{Mesh: "default"}
	for i := range 20 {
		newcomers.Set = append(newcomers.Set, request(fmt.Sprintf("newcomer-%d", i)))
	}
	apply(t, a, vip.Batch{Meshes: []vip.MeshUpdate{newcomers}})
	for _, r := range a.Rows() {
		for _, addr := range r.Addrs() {
			if strings.HasPrefix(r.Entry.Name, "newcomer") && f.used[addr.String()] {
				t.Errorf("newcomer %v got %v, which somebody has or had", r.Key(), addr)
			}
		}
	}
	apply(t, a, fleet(70))
	verify(t, a)
	if got := addresses(a); !maps.Equal(got, f.addrs) {
		t.Errorf("when all are listed again, the table differs")
	}
	return aside, nil
}

// openAll opens damaged copies in another process first: what could end the
// process ends that one.
func openAll(t *testing.T, files map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	for name, file := range files {
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	cmd := child(t, "open", dir)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	told := bytes.Count(out, []byte("\n"))
	if err != nil || told != len(files) {
		t.Fatalf("the process died after %d of %d files: %v\nlast: %s\n%.2000s", told, len(files), err, lastLine(out), stderr.Bytes())
	}
}

func lastLine(out []byte) string {
	last := ""
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		last = s.Text()
	}
	return last
}

// zeroed returns a copy of the file with n bytes at off set to zero.
func (f fixture) zeroed(off, n int) []byte {
	file := bytes.Clone(f.file)
	clear(file[off : off+n])
	return file
}

func TestAZeroedPageIsAnErrorAndNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	f := sound(t)
	files := make(map[string][]byte)
	for off := 0; off < len(f.file); off += f.pageSize {
		files[fmt.Sprintf("page-%04d", off/f.pageSize)] = f.zeroed(off, f.pageSize)
	}
	openAll(t, files)
	refused := 0
	for name, file := range files {
		_, err := f.survive(t, file)
		if err != nil {
			refused++
		}
		if err == nil && name < "page-0002" {
			t.Errorf("%s: opened with one meta", name)
		}
	}
	if refused < 10 {
		t.Errorf("only %d of %d zeroed pages were noticed", refused, len(files))
	}
}

func TestACutFileIsAnErrorAndNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	f := sound(t)
	files := map[string][]byte{"cut-00000000": {}}
	for off := f.pageSize; off < len(f.file); off += f.pageSize {
		files[fmt.Sprintf("cut-%08d", off)] = f.file[:off]
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		off := rnd.IntN(len(f.file))
		files[fmt.Sprintf("cut-%08d", off)] = f.file[:off]
	}
	openAll(t, files)
	for name, file := range files {
		if _, err := f.survive(t, file); err == nil && len(file) < len(f.file)/2 {
			t.Errorf("%s: opened", name)
		}
	}
}

func TestFlippedBitsAreNoticedOrHarmless(t *testing.T) {
	t.Parallel()
	f := sound(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	files := make(map[string][]byte)
	add := func(off int) {
		file := bytes.Clone(f.file)
		file[off] ^= 1 << rnd.IntN(8)
		files[fmt.Sprintf("bit-%08d", off)] = file
	}
	for range 150 {
		add(rnd.IntN(len(f.file)))
	}
	// The heads of pages and of their elements, and the first keys, where a bit
	// does the most.
	for off := 0; off < len(f.file); off += f.pageSize {
		add(off + rnd.IntN(400))
	}
	openAll(t, files)
	var refused, setAside, harmless int
	for name, file := range files {
		failed := t.Failed()
		aside, err := f.survive(t, file)
		if t.Failed() && !failed {
			t.Errorf("that was %s", name)
		}
		switch {
		case err != nil:
			refused++
		case aside > 0:
			setAside++
		default:
			harmless++
		}
	}
	t.Logf("%d refused, %d with records set aside, %d harmless", refused, setAside, harmless)
	if refused == 0 || setAside == 0 || harmless == 0 {
		t.Error("some outcome was not tried")
	}
}

func TestALostMetaIsAnError(t *testing.T) {
	t.Parallel()
	f := sound(t)
	for page := range 2 {
		for what, file := range map[string][]byte{
			"zeroed":   f.zeroed(page*f.pageSize+16, 64),
			"one byte": f.zeroed(page*f.pageSize+16+40, 8),
		} {
			if _, err := f.survive(t, file); !errors.Is(err, allocator.ErrDamaged) {
				t.Errorf("meta %d, %s: %v", page, what, err)
			}
		}
	}
}

func TestAFileOfSomethingElseIsRefusedAndUntouched(t *testing.T) {
	t.Parallel()
	f := sound(t)
	other := filepath.Join(t.TempDir(), "other.db")
	edit(t, other, func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte("dynupdate"))
		return errors.Join(err, b.Put([]byte("k"), []byte("v")))
	})
	bbolt, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{
		"empty": {}, "one byte": {0}, "text": []byte("240.0.0.1 backend.mesh\n"),
		"zeros": make([]byte, 1<<16), "another bbolt file": bbolt,
		"sqlite": append([]byte("SQLite format 3\x00"), make([]byte, 8192)...),
	} {
		if _, err := f.survive(t, file); !errors.Is(err, allocator.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		} else if !within(err.Error(), "t.db", "move it away") {
			t.Errorf("%s: the error names no file and no remedy: %v", name, err)
		}
	}
}

func TestANewerFormatIsRefusedAndUntouched(t *testing.T) {
	t.Parallel()
	f := sound(t)
	path := filepath.Join(t.TempDir(), "newer.db")
	if err := os.WriteFile(path, f.file, 0o600); err != nil {
		t.Fatal(err)
	}
	edit(t, path, func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meshvip")).Put([]byte("format"), binary.BigEndian.AppendUint32(nil, 4))
	})
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.survive(t, file); !errors.Is(err, allocator.ErrNewer) || !within(err.Error(), "t.db", "format 4", "newer") {
		t.Errorf("a newer format: %v", err)
	}
}

// edit changes a bbolt file behind the store's back.
func edit(t *testing.T, path string, f func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(f), db.Close()); err != nil {
		t.Fatal(err)
	}
}
