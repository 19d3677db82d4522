package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// bbolt's file format, as far as it must be known before bbolt may see a file:
// a page is a header of 16 bytes (id uint64, flags uint16, count uint16,
// overflow uint32) and its content; pages 0 and 1 each hold a meta. Numbers are
// in the byte order of the machine that wrote them.
const (
	boltMagic     = 0xED0CDAED
	boltVersion   = 2
	pageHeader    = 16
	metaSize      = 64
	flagBranch    = 0x01
	flagLeaf      = 0x02
	flagFreelist  = 0x10
	noFreelist    = 1<<64 - 1
	smallestPage  = 1 << 10
	largestPage   = 1 << 16
	freelistCount = 0xFFFF // of a freelist whose count stands in its content
)

// boltMeta is what a meta page says.
type boltMeta struct {
	pageSize         uint32
	root, freelist   uint64 // page ids
	highWater, txid  uint64
	magic, boltMajor uint32
}

// inspect verifies that bbolt can open a file for reading without initialising
// it: that both its metas are whole, and that it is as long as they say. It
// returns an error wrapping ErrDamaged, or the operating system's.
func inspect(path string) error {
	return withFile(path, func(f io.ReaderAt, size int64) error {
		_, err := inspectFile(f, size)
		return err
	})
}

// inspectPages verifies every page of a file that nobody writes to meanwhile,
// and returns about how many keys there are.
func inspectPages(path string) (keys int, err error) {
	err = withFile(path, func(f io.ReaderAt, size int64) error {
		m, err := inspectFile(f, size)
		if err == nil {
			keys, err = inspectTree(f, m)
		}
		return err
	})
	return keys, err
}

// withFile calls look on a regular file; its errors are damage.
func withFile(path string, look func(f io.ReaderAt, size int64) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if err := look(f, info.Size()); err != nil {
		return fmt.Errorf("%w: %w", allocator.ErrDamaged, err)
	}
	return nil
}

// inspectFile verifies what does not need the pages of the tree, and returns
// the newest meta.
func inspectFile(f io.ReaderAt, size int64) (boltMeta, error) {
	if size == 0 {
		return boltMeta{}, errors.New("the file is empty")
	}
	m, err := newestMeta(f)
	if err != nil {
		return boltMeta{}, err
	}
	pageSize := int64(m.pageSize)
	if m.highWater > uint64(size/pageSize) {
		return boltMeta{}, fmt.Errorf("the file is cut short: %d bytes, want %d pages of %d", size, m.highWater, pageSize)
	}
	if m.freelist == noFreelist { // as we write it
		return m, nil
	}
	if _, err := inspectPage(f, m, m.freelist, flagFreelist); err != nil {
		return boltMeta{}, fmt.Errorf("list of free pages: %w", err)
	}
	return m, nil
}

// newestMeta returns the meta of the last transaction. bbolt would do with
// either of the two: where the newer is lost it goes back to the transaction
// before, and the addresses that the last one gave would be given again.
func newestMeta(f io.ReaderAt) (boltMeta, error) {
	first, ok := readMeta(f, pageHeader)
	if !ok {
		return boltMeta{}, errors.New("its first page is overwritten, or it is no store at all")
	}
	second, ok := readMeta(f, int64(first.pageSize)+pageHeader)
	if !ok || second.pageSize != first.pageSize {
		return boltMeta{}, errors.New("its second page is overwritten")
	}
	if second.txid > first.txid {
		return second, nil
	}
	return first, nil
}

func readMeta(f io.ReaderAt, off int64) (boltMeta, bool) {
	var b [metaSize]byte
	if _, err := f.ReadAt(b[:], off); err != nil {
		return boltMeta{}, false
	}
	o := binary.NativeEndian
	sum := fnv.New64a()
	sum.Write(b[:56])
	m := boltMeta{
		magic: o.Uint32(b[0:]), boltMajor: o.Uint32(b[4:]), pageSize: o.Uint32(b[8:]),
		root: o.Uint64(b[16:]), freelist: o.Uint64(b[32:]), highWater: o.Uint64(b[40:]), txid: o.Uint64(b[48:]),
	}
	ok := m.magic == boltMagic && m.boltMajor == boltVersion && sum.Sum64() == o.Uint64(b[56:]) &&
		m.pageSize >= smallestPage && m.pageSize <= largestPage && m.pageSize&(m.pageSize-1) == 0
	return m, ok
}

// inspectPage verifies that page id is one of the kind that flags allow, and
// lies, with its overflow and its content, below the high-water mark.
func inspectPage(f io.ReaderAt, m boltMeta, id uint64, flags uint16) (overflow uint64, err error) {
	if id < 2 || id >= m.highWater {
		return 0, fmt.Errorf("page %d of %d", id, m.highWater)
	}
	var h [pageHeader + 8]byte
	if _, err := f.ReadAt(h[:], int64(id)*int64(m.pageSize)); err != nil {
		return 0, err
	}
	o := binary.NativeEndian
	kind, count := o.Uint16(h[8:]), o.Uint16(h[10:])
	overflow = uint64(o.Uint32(h[12:]))
	if o.Uint64(h[0:]) != id || kind&flags == 0 || kind&(kind-1) != 0 {
		return 0, fmt.Errorf("page %d is overwritten", id)
	}
	if id+overflow >= m.highWater {
		return 0, fmt.Errorf("page %d runs over the end", id)
	}
	if kind == flagFreelist {
		n, room := uint64(count), (overflow+1)*uint64(m.pageSize)-pageHeader
		if count == freelistCount {
			n, room = o.Uint64(h[pageHeader:]), room-8
		}
		if n > room/8 {
			return 0, fmt.Errorf("page %d lists %d pages, more than it has room for", id, n)
		}
	}
	return overflow, nil
}
