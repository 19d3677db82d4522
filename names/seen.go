package names

import (
	"math/bits"
	"net/netip"
)

// seen tells of addresses whether they come for the second time. It knows them
// by a hash: in one of a billion cases it says so of one that does not, which
// costs the caller some time and nothing else. It is an open hash table, zero
// being a free slot.
type seen struct {
	slots []uint32
	shift int
}

// newSeen returns room for n addresses. One alone wants none.
func newSeen(n int) seen {
	if n < 2 {
		return seen{}
	}
	log := bits.Len(uint(2*n - 1))
	return seen{make([]uint32, 1<<log), 64 - log}
}

// again notes addr and reports whether it was noted before.
func (s seen) again(addr netip.Addr) bool {
	if s.slots == nil {
		return false
	}
	hi, lo := halves(addr)
	hash := (hi ^ lo*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	mark := uint32(hash^hash>>32) | 1
	for i := hash >> s.shift; ; i = (i + 1) & uint64(len(s.slots)-1) {
		switch s.slots[i] {
		case 0:
			s.slots[i] = mark
			return false
		case mark:
			return true
		}
	}
}
