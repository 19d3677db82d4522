package boltstore

import (
	"hash/maphash"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// loadedEntry is an entry on its way from the store: its row, with room for what
// most have, a listing with one outbound that has one tag.
type loadedEntry struct {
	row      vip.Row // until the end in the key's spelling, which is folded
	listing  [1]vip.Listing
	outbound [1]vip.Outbound
	tag      [1]vip.Tag
}

// key returns the entry's key, until its row gets the spelling that is shown.
func (e *loadedEntry) key() vip.Key { return vip.Key(e.row.Entry) }

// has reports whether key is the entry's as it stands in the buckets.
func (e *loadedEntry) has(key []byte) bool {
	k := e.key()
	at := len(key) - len(k.Name)
	if at < 2 || string(key[at:]) != k.Name {
		return false
	}
	var buf [64]byte
	return string(key[:at]) == string(appendKey(buf[:0], vip.Key{Kind: k.Kind, Mesh: k.Mesh}))
}

// Entries and the texts of their keys lie next to each other, so many or so
// many bytes in one piece of memory, which is a fraction of the work for who
// allocates and who collects. A piece stays for as long as any part of it is
// referred to: in the worst case, when every row has changed since, the memory
// of the first load is still there.
const (
	entryBlock = 31
	textBlock  = 1 << 10
)

// entryTable finds the entries of a store by their keys. It is a hash table with
// open addressing: a map of a million takes several times as long.
type entryTable struct {
	seed   maphash.Seed
	slots  []uint32 // 1 + the number of an entry; 0 is free. The length is a power of two.
	n      int
	blocks [][]loadedEntry
	text   strings.Builder
}

// newEntryTable returns a table with room for n entries.
func newEntryTable(n int) *entryTable {
	t := &entryTable{seed: maphash.MakeSeed(), blocks: make([][]loadedEntry, 0, n/entryBlock+1)}
	t.resize(n)
	return t
}

// resize makes room for n entries in all, at most every second slot in use.
func (t *entryTable) resize(n int) {
	size := 16
	for size < 2*n {
		size *= 2
	}
	t.slots = make([]uint32, size)
	var key []byte
	for i := range t.n {
		key = appendKey(key[:0], t.at(i).key())
		t.put(key, i)
	}
}

// at returns the entry that was added after i others.
func (t *entryTable) at(i int) *loadedEntry { return &t.blocks[i/entryBlock][i%entryBlock] }

// add adds the entry of a key that is new, and returns it. It returns an error
// if that is no key.
func (t *entryTable) add(key []byte) (*loadedEntry, error) {
	k, err := readKey(t.keep(key))
	if err != nil {
		return nil, err
	}
	if 2*t.n >= len(t.slots) {
		t.resize(2 * t.n)
	}
	if t.n%entryBlock == 0 {
		t.blocks = append(t.blocks, make([]loadedEntry, entryBlock))
	}
	e := t.at(t.n)
	e.row.Entry = vip.Entry(k)
	t.put(key, t.n)
	t.n++
	return e, nil
}

// keep returns key as a string.
func (t *entryTable) keep(key []byte) string {
	if t.text.Cap()-t.text.Len() < len(key) {
		t.text = strings.Builder{}
		t.text.Grow(max(textBlock, len(key)))
	}
	from := t.text.Len()
	t.text.Write(key)
	return t.text.String()[from:]
}

// put puts entry i into the first free slot for its key.
func (t *entryTable) put(key []byte, i int) {
	at := int(maphash.Bytes(t.seed, key)) & (len(t.slots) - 1)
	for t.slots[at] != 0 {
		at = (at + 1) & (len(t.slots) - 1)
	}
	t.slots[at] = uint32(i + 1)
}

// find returns the number of the entry with a key, -1 if there is none.
func (t *entryTable) find(key []byte) int {
	for at := int(maphash.Bytes(t.seed, key)); ; at++ {
		n := t.slots[at&(len(t.slots)-1)]
		if n == 0 {
			return -1
		}
		if t.at(int(n - 1)).has(key) {
			return int(n - 1)
		}
	}
}

// findNear returns the number of the entry with a key, -1 if there is none. It
// looks at entry i first: addresses are mostly given in the order of the keys.
func (t *entryTable) findNear(i int, key []byte) int {
	if i < t.n && t.at(i).has(key) {
		return i
	}
	return t.find(key)
}
