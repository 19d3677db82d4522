package names

import (
	"hash/maphash"
	"math/bits"
	"strings"
	"sync/atomic"
)

// nameTable finds the record that has a relative name: one writer, any number of readers
// without a lock.
//
// It is an open hash table of buckets of one cache line each. A name lies in
// the bucket that its hash gives, or, where that is full, in one of the next. A
// record is known by its own names, so that no key is held beside it: what a
// lookup touches is a bucket, a record and the name, and at a million names
// each of these is a miss of the processor's caches.
type nameTable struct {
	buckets atomic.Pointer[[]bucket]
	seed    maphash.Seed
	// These are the writer's: the number of names, and the hash of the name in
	// each slot, for when the table grows.
	size   int
	hashes [][slots]uint64
}

// slots is how many records a bucket holds, and fill how many of them on
// average before the table grows.
const (
	slots = 7
	fill  = 4
)

// bucket holds up to seven records.
type bucket struct {
	// tags has a byte for each slot, the first lowest: 0 where it is free, else
	// a part of the name's hash. The highest byte counts the names that would
	// be here if there were room; a count of 255 is not counted down.
	tags    atomic.Uint64
	records [slots]atomic.Pointer[Record]
}

// Bytes of a bucket's tags.
const (
	ones     = 0x0101010101010101
	highs    = 0x0080808080808080 // of the slots' bytes
	overflow = 56                 // the shift of the count
	stuck    = 255
)

func newNameTable() *nameTable {
	t := &nameTable{seed: maphash.MakeSeed(), hashes: make([][slots]uint64, 1)}
	b := make([]bucket, 1)
	t.buckets.Store(&b)
	return t
}

// tagOf returns the tag of a hash, 1-128. The bucket takes other bits.
func tagOf(hash uint64) uint64 { return hash>>57 + 1 }

// literalBit of a hash is set for a name with a "_", and for no other: so the
// hashes of the two names of one record differ, whatever the others do.
const literalBit = 1 << 40

func (t *nameTable) hash(name string) uint64 {
	hash := maphash.String(t.seed, name) &^ literalBit
	if strings.IndexByte(name, '_') >= 0 {
		hash |= literalBit
	}
	return hash
}

// Load returns the record that has name, nil if none.
func (t *nameTable) Load(name string) *Record {
	r, _, _ := find(*t.buckets.Load(), nil, t.hash(name), name)
	return r
}

// find returns the record that has name, and a bucket and slot that hold it.
// Where hashes are given these are the name's own, and not those of the
// record's other name, which a reader need not tell apart.
func find(buckets []bucket, hashes [][slots]uint64, hash uint64, name string) (r *Record, i, slot int) {
	mask := len(buckets) - 1
	pattern := ones * tagOf(hash)
	i = int(hash) & mask
	for range buckets {
		b := &buckets[i]
		tags := b.tags.Load()
		// The bytes that equal the tag, and perhaps some above them: the name
		// decides.
		x := tags ^ pattern
		for match := (x - ones) &^ x & highs; match != 0; match &= match - 1 {
			slot = bits.TrailingZeros64(match) / 8
			if hashes != nil && hashes[i][slot] != hash {
				continue
			}
			if r := b.records[slot].Load(); r != nil && r.owns(name, hash&literalBit != 0) {
				return r, i, slot
			}
		}
		if tags>>overflow == 0 {
			return nil, 0, 0
		}
		i = (i + 1) & mask
	}
	return nil, 0, 0
}

// owns reports whether the relative name is the record's. One with a "_" can
// only be the literal name, and without it the two spellings are the same.
func (r *Record) owns(name string, literal bool) bool {
	if literal {
		return name == r.Literal
	}
	return name == r.Dotted
}

// Store makes r, which has name, the record of it.
func (t *nameTable) Store(name string, r *Record) {
	hash := t.hash(name)
	buckets := *t.buckets.Load()
	if was, i, slot := find(buckets, t.hashes, hash, name); was != nil {
		buckets[i].records[slot].Store(r)
		return
	}
	if t.size >= fill*len(buckets) {
		t.grow()
		buckets = *t.buckets.Load()
	}
	insert(buckets, t.hashes, hash, r)
	t.size++
}

// insert puts r into the first free slot from its bucket on. A reader finds the
// slot by its tag, so that comes last.
func insert(buckets []bucket, hashes [][slots]uint64, hash uint64, r *Record) {
	mask := len(buckets) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		b := &buckets[i]
		tags := b.tags.Load()
		for slot := range slots {
			if tags>>(8*slot)&0xff == 0 {
				hashes[i][slot] = hash
				b.records[slot].Store(r)
				b.tags.Store(tags | tagOf(hash)<<(8*slot))
				return
			}
		}
		if tags>>overflow < stuck {
			b.tags.Store(tags + 1<<overflow)
		}
	}
}

// reserve makes room for n names in an empty table, as growing would.
func (t *nameTable) reserve(n int) {
	if t.size > 0 {
		return // there is no hurry
	}
	size := len(*t.buckets.Load())
	for n > fill*size {
		size *= 2
	}
	b := make([]bucket, size)
	t.hashes = make([][slots]uint64, size)
	t.buckets.Store(&b)
}

// grow doubles the table. Readers go on in the old one, which does not change
// any more, until the new one is whole.
func (t *nameTable) grow() {
	old, oldHashes := *t.buckets.Load(), t.hashes
	buckets, hashes := make([]bucket, 2*len(old)), make([][slots]uint64, 2*len(old))
	for i := range old {
		for slot := range slots {
			if r := old[i].records[slot].Load(); r != nil {
				insert(buckets, hashes, oldHashes[i][slot], r)
			}
		}
	}
	t.buckets.Store(&buckets)
	t.hashes = hashes
}

// Delete makes name nobody's.
func (t *nameTable) Delete(name string) {
	hash := t.hash(name)
	buckets := *t.buckets.Load()
	r, at, slot := find(buckets, t.hashes, hash, name)
	if r == nil {
		return
	}
	b := &buckets[at]
	b.tags.Store(b.tags.Load() &^ (0xff << (8 * slot)))
	b.records[slot].Store(nil)
	mask := len(buckets) - 1
	for i := int(hash) & mask; i != at; i = (i + 1) & mask {
		if tags := buckets[i].tags.Load(); tags>>overflow < stuck {
			buckets[i].tags.Store(tags - 1<<overflow)
		}
	}
	t.size--
}
