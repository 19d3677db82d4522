package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxDepth is how deep pages may lie below the root. bbolt's trees of a
// thousand million keys are less than ten deep, and buckets are nested twice.
const maxDepth = 64

const (
	elementSize = 16 // of a branch's or leaf's element
	bucketSize  = 16 // a bucket's value: root page, sequence
	flagBucket  = 0x01
)

// tree follows every page of a bbolt file from its root, as bbolt will: opened
// for writing without a list of free pages, bbolt visits them all in a
// goroutine of its own, where a page that is not what it should be ends the
// process, and one that claims to be huge takes its memory.
//
// It is stricter than bbolt's own check in two points. The keys and values of a
// page lie one after another without a gap, as bbolt has always written them,
// so that no flipped bit in a page's count or lengths passes for fewer keys. And
// a page's first key is the one that its parent has for it: bbolt looks the
// page up by it when it writes, and where that fails leaves both the old page
// and the new one in the tree.
type tree struct {
	f    io.ReaderAt
	m    boltMeta
	keys int      // in leaves
	seen []uint64 // a bit for each page
	bufs [][]byte // one a level
}

// inspectTree verifies all pages that can be reached from m's root, and returns
// how many keys it has seen, those in the buckets that lie in a page left out.
func inspectTree(f io.ReaderAt, m boltMeta) (keys int, err error) {
	t := tree{f: f, m: m, seen: make([]uint64, m.highWater/64+1)}
	err = t.page(m.root, nil, nil, 0)
	return t.keys, err
}

// page verifies the subtree of page id, whose first key is lo and whose keys
// are all before hi, where these are not nil.
func (t *tree) page(id uint64, lo, hi []byte, depth int) error {
	p, err := t.read(id, depth)
	if err != nil {
		return err
	}
	if err := t.elements(p, lo, hi, depth); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// read returns the content of page id with its overflow, once.
func (t *tree) read(id uint64, depth int) (rawPage, error) {
	if depth == maxDepth {
		return nil, fmt.Errorf("page %d lies deeper than any page of a store", id)
	}
	overflow, err := inspectPage(t.f, t.m, id, flagLeaf|flagBranch)
	if err != nil {
		return nil, err
	}
	for i := id; i <= id+overflow; i++ {
		if t.seen[i/64]&(1<<(i%64)) != 0 {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
		t.seen[i/64] |= 1 << (i % 64)
	}
	if depth == len(t.bufs) {
		t.bufs = append(t.bufs, nil)
	}
	size := int(overflow+1) * int(t.m.pageSize)
	if size > cap(t.bufs[depth]) {
		t.bufs[depth] = make([]byte, size)
	}
	p := t.bufs[depth][:size]
	if _, err := t.f.ReadAt(p, int64(id)*int64(t.m.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return p, nil
}

// elements verifies the elements of a page, and what they lead to.
func (t *tree) elements(p rawPage, lo, hi []byte, depth int) error {
	n := p.count()
	if n == 0 && (p.flags() == flagBranch || lo != nil) {
		return errors.New("it is empty")
	}
	if p.flags() == flagLeaf {
		t.keys += n
	}
	end := pageHeader + n*elementSize
	for i := range n {
		e, err := p.element(i, end)
		if err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
		end = e.end
		switch {
		case i == 0 && lo != nil && !bytes.Equal(e.key, lo):
			return errors.New("its first key is not its parent's")
		case i > 0 && bytes.Compare(e.key, lo) <= 0, hi != nil && bytes.Compare(e.key, hi) >= 0:
			return fmt.Errorf("element %d: its key is out of order", i)
		}
		lo = e.key
		switch {
		case p.flags() == flagBranch:
			next := hi
			if i+1 < n {
				following, err := p.element(i+1, end)
				if err != nil {
					return fmt.Errorf("element %d: %w", i+1, err)
				}
				next = following.key
			}
			err = t.page(e.child, e.key, next, depth+1)
		case e.bucket:
			err = t.bucket(e.value, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket verifies a nested bucket: its pages, or the one that lies in value.
func (t *tree) bucket(value []byte, depth int) error {
	if len(value) < bucketSize {
		return errors.New("a bucket is cut short")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return t.page(root, nil, nil, depth+1)
	}
	p := rawPage(value[bucketSize:])
	if len(p) < pageHeader || p.flags() != flagLeaf {
		return errors.New("a bucket has no page")
	}
	end := pageHeader + p.count()*elementSize
	for i := range p.count() {
		e, err := p.element(i, end)
		if err != nil {
			return fmt.Errorf("element %d of a bucket in the page: %w", i, err)
		}
		if end = e.end; e.bucket {
			return errors.New("a bucket in the page has a bucket in it")
		}
	}
	return nil
}

// rawPage is the bytes of a page with its header and overflow.
type rawPage []byte

func (p rawPage) flags() uint16 { return binary.NativeEndian.Uint16(p[8:]) }
func (p rawPage) count() int    { return int(binary.NativeEndian.Uint16(p[10:])) }

// element is one key of a page.
type element struct {
	key, value []byte
	child      uint64 // of a branch
	bucket     bool
	end        int // of its content in the page
}

// element returns element i, whose content must begin at off.
func (p rawPage) element(i, off int) (element, error) {
	at := pageHeader + i*elementSize
	if at+elementSize > len(p) {
		return element{}, errors.New("it lies beyond the page")
	}
	var (
		o              = binary.NativeEndian
		head           = p[at : at+elementSize]
		e              element
		pos            uint32
		ksize, valSize uint64
	)
	if p.flags() == flagBranch {
		pos, ksize, e.child = o.Uint32(head), uint64(o.Uint32(head[4:])), o.Uint64(head[8:])
	} else {
		kind := o.Uint32(head)
		pos, ksize, valSize = o.Uint32(head[4:]), uint64(o.Uint32(head[8:])), uint64(o.Uint32(head[12:]))
		if e.bucket = kind == flagBucket; kind > flagBucket {
			return element{}, errors.New("it is of no known kind")
		}
	}
	switch {
	case at+int(pos) != off:
		return element{}, errors.New("its content is not where it should be")
	case ksize == 0 || uint64(off)+ksize+valSize > uint64(len(p)):
		return element{}, errors.New("its content runs over the end of the page")
	}
	e.end = off + int(ksize+valSize)
	e.key, e.value = p[off:off+int(ksize)], p[off+int(ksize):e.end]
	return e, nil
}
