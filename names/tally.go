package names

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"
)

// tally counts things by key: one writer, readers without a lock.
type tally[K comparable] struct {
	counts *xsync.Map[K, int32]
	// keys is how many keys have a count, so that readers can pass over an
	// empty tally.
	keys atomic.Int64
}

func newTally[K comparable]() *tally[K] { return &tally[K]{counts: xsync.NewMap[K, int32]()} }

// add adds n to the count of key and reports whether the key appeared or went
// by that: a count of 0 is none.
func (t *tally[K]) add(key K, n int32) bool {
	was, _ := t.counts.Load(key)
	if was+n == 0 {
		t.counts.Delete(key)
		t.keys.Add(-1)
		return true
	}
	t.counts.Store(key, was+n)
	if was == 0 {
		t.keys.Add(1)
	}
	return was == 0
}

// count returns the count of key.
func (t *tally[K]) count(key K) int32 {
	if t.keys.Load() == 0 {
		return 0
	}
	n, _ := t.counts.Load(key)
	return n
}

// above calls f for each ancestor of name below which name lies, the nearest
// first, all of them substrings of it: "b.c" and "c" of "a.b.c". Canonical
// names of entries have no dot that is not a separator.
func above(name string, f func(ancestor string)) {
	for i := 0; i+1 < len(name); i++ {
		if name[i] == '.' {
			f(name[i+1:])
		}
	}
}

// bits6 and bits4 are how many bits a label of the reverse trees stands for.
const (
	bits4 = 8
	bits6 = 4
)

// prefix6 is a prefix of v6 addresses on a nibble's boundary.
type prefix6 struct {
	addr [16]byte
	bits uint8
}

// blocks tells which prefixes have an address below them. A prefix counts the
// addresses, or the prefixes, of the next length only, so that an address
// among others changes one count, however long it is.
type blocks struct {
	v4 *tally[uint64] // length<<32 | address
	v6 *tally[prefix6]
}

func newBlocks() blocks { return blocks{newTally[uint64](), newTally[prefix6]()} }

// add counts addr in (n = 1) or out (n = -1).
func (b blocks) add(addr netip.Addr, n int32) {
	for bits := addr.BitLen(); bits > 0; {
		if addr.Is4() {
			bits -= bits4
			if !b.v4.add(key4(addr, bits), n) {
				return
			}
			continue
		}
		bits -= bits6
		if !b.v6.add(key6(addr, bits), n) {
			return
		}
	}
}

// has reports whether an address lies in p, which is shorter than an address.
func (b blocks) has(p netip.Prefix) bool {
	if p.Addr().Is4() {
		return b.v4.count(key4(p.Addr(), p.Bits())) > 0
	}
	return b.v6.count(key6(p.Addr(), p.Bits())) > 0
}

func key4(addr netip.Addr, bits int) uint64 {
	a := uint64(number(addr))
	return uint64(bits)<<32 | a>>(32-bits)<<(32-bits)
}

func key6(addr netip.Addr, bits int) prefix6 {
	p := prefix6{addr.As16(), uint8(bits)}
	i := bits / 8
	if bits%8 != 0 {
		p.addr[i] &= 0xf0
		i++
	}
	clear(p.addr[i:])
	return p
}

// number returns a v4 address as a number.
func number(addr netip.Addr) uint32 {
	a := addr.As4()
	return binary.BigEndian.Uint32(a[:])
}
