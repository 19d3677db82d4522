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

// inspect verifies that bbolt can open a file without initialising it or
// crashing the process: that its newest meta is whole, and that the pages which
// the meta names are there. It returns an error wrapping ErrDamaged, or the
// operating system's.
func inspect(path string) error {
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
	if err := inspectFile(f, info.Size()); err != nil {
		return fmt.Errorf("%w: %w", allocator.ErrDamaged, err)
	}
	return nil
}

func inspectFile(f io.ReaderAt, size int64) error {
	if size == 0 {
		return errors.New("the file is empty")
	}
	m, err := newestMeta(f)
	if err != nil {
		return err
	}
	pageSize := int64(m.pageSize)
	if m.highWater > uint64(size/pageSize) {
		return fmt.Errorf("the file is cut short: %d bytes, want %d pages of %d", size, m.highWater, pageSize)
	}
	if err := inspectPage(f, m, m.root, flagLeaf|flagBranch); err != nil {
		return fmt.Errorf("root page: %w", err)
	}
	if m.freelist == noFreelist { // as we write it
		return nil
	}
	if err := inspectPage(f, m, m.freelist, flagFreelist); err != nil {
		return fmt.Errorf("list of free pages: %w", err)
	}
	return nil
}

// newestMeta returns the valid meta with the higher transaction id.
func newestMeta(f io.ReaderAt) (boltMeta, error) {
	var newest boltMeta
	found := false
	consider := func(off int64, pageSize uint32) {
		if m, ok := readMeta(f, off); ok && (pageSize == 0 || m.pageSize == pageSize) && (!found || m.txid > newest.txid) {
			newest, found = m, true
		}
	}
	consider(pageHeader, 0)
	if found {
		consider(int64(newest.pageSize)+pageHeader, newest.pageSize)
		return newest, nil
	}
	for ps := uint32(smallestPage); ps <= largestPage; ps *= 2 {
		consider(int64(ps)+pageHeader, ps)
	}
	if !found {
		return boltMeta{}, errors.New("neither of the file's two meta pages is whole: it is not a store, or it is overwritten")
	}
	return newest, nil
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
func inspectPage(f io.ReaderAt, m boltMeta, id uint64, flags uint16) error {
	if id < 2 || id >= m.highWater {
		return fmt.Errorf("page %d of %d", id, m.highWater)
	}
	var h [pageHeader + 8]byte
	if _, err := f.ReadAt(h[:], int64(id)*int64(m.pageSize)); err != nil {
		return err
	}
	o := binary.NativeEndian
	kind, count, overflow := o.Uint16(h[8:]), o.Uint16(h[10:]), uint64(o.Uint32(h[12:]))
	if o.Uint64(h[0:]) != id || kind&flags == 0 || kind&^flags != 0 {
		return fmt.Errorf("page %d is overwritten", id)
	}
	if id+overflow >= m.highWater {
		return fmt.Errorf("page %d runs over the end", id)
	}
	if flags == flagFreelist {
		n, room := uint64(count), (overflow+1)*uint64(m.pageSize)-pageHeader
		if count == freelistCount {
			n, room = o.Uint64(h[pageHeader:]), room-8
		}
		if n > room/8 {
			return fmt.Errorf("page %d lists %d pages, more than it has room for", id, n)
		}
	}
	return nil
}
