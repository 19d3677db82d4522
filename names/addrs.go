package names

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"
)

// Addresses are given out one after the other: they lie close together. So a
// page holds the records of 64 neighbours, and only pages are looked up, in what is
// then small enough to stay in the processor's caches: a tree for v4, a map for v6. A
// lone address costs half a kilobyte, and with v4 nine at most.
const (
	pageBits = 6
	pageSize = 1 << pageBits
)

// page holds the records of the addresses that differ in their last bits only.
type page struct {
	records [pageSize]atomic.Pointer[Record]
	used    int // the writer's
}

// pageKey is what the v6 addresses of a page have in common: their bits without
// the last pageBits.
type pageKey struct{ hi, lo uint64 }

// addrMap finds the record that has an address. One writer, readers without a
// lock.
type addrMap struct {
	v4 *pageTree
	v6 *xsync.Map[pageKey, *page]
}

func newAddrMap() addrMap {
	return addrMap{new(pageTree), xsync.NewMap[pageKey, *page]()}
}

// pageMap is what holds the pages of a family, as an xsync.Map does.
type pageMap[K comparable] interface {
	Load(key K) (p *page, ok bool)
	Store(key K, p *page)
	Delete(key K)
}

// halves returns an address as two numbers.
func halves(addr netip.Addr) (hi, lo uint64) {
	a := addr.As16()
	return binary.BigEndian.Uint64(a[:8]), binary.BigEndian.Uint64(a[8:])
}

// at returns the record that has addr, nil if none.
func (m addrMap) at(addr netip.Addr) *Record {
	switch {
	case addr.Is4():
		n := number(addr)
		if p, ok := m.v4.Load(n >> pageBits); ok {
			return p.records[n%pageSize].Load()
		}
	case addr.IsValid() && addr.Zone() == "":
		hi, lo := halves(addr)
		if p, ok := m.v6.Load(pageKey{hi: hi, lo: lo >> pageBits}); ok {
			return p.records[lo%pageSize].Load()
		}
	}
	return nil
}

// put makes r the record of addr; nil makes it nobody's. A reader may hold a
// page that has just been dropped: what it misses came after it began.
func (m addrMap) put(addr netip.Addr, r *Record) {
	if addr.Is4() {
		n := number(addr)
		putPage(m.v4, n>>pageBits, n%pageSize, r)
		return
	}
	hi, lo := halves(addr)
	putPage(m.v6, pageKey{hi: hi, lo: lo >> pageBits}, uint32(lo%pageSize), r)
}

func putPage[K comparable](pages pageMap[K], key K, i uint32, r *Record) {
	p, ok := pages.Load(key)
	if !ok {
		if r == nil {
			return
		}
		p = new(page)
	}
	switch old := p.records[i].Swap(r); {
	case old == nil && r != nil:
		p.used++
	case old != nil && r == nil:
		p.used--
	}
	switch {
	case p.used == 0:
		pages.Delete(key)
	case !ok:
		pages.Store(key, p)
	}
}

// eachPage calls f for each page, with the first of its addresses.
func (m addrMap) eachPage(f func(first netip.Addr, p *page)) {
	m.v4.Range(func(key uint32, p *page) bool {
		var octets [4]byte
		binary.BigEndian.PutUint32(octets[:], key<<pageBits)
		f(netip.AddrFrom4(octets), p)
		return true
	})
	m.v6.Range(func(key pageKey, p *page) bool {
		var octets [16]byte
		binary.BigEndian.PutUint64(octets[:8], key.hi)
		binary.BigEndian.PutUint64(octets[8:], key.lo<<pageBits)
		f(netip.AddrFrom16(octets), p)
		return true
	})
}

// inPage returns the i-th address of the page whose first one is given.
func inPage(first netip.Addr, i int) netip.Addr {
	if first.Is4() {
		octets := first.As4()
		octets[3] |= byte(i)
		return netip.AddrFrom4(octets)
	}
	octets := first.As16()
	octets[15] |= byte(i)
	return netip.AddrFrom16(octets)
}

// each calls f for each address and its record.
func (m addrMap) each(f func(addr netip.Addr, r *Record)) {
	m.eachPage(func(first netip.Addr, p *page) {
		for i := range p.records {
			if r := p.records[i].Load(); r != nil {
				f(inPage(first, i), r)
			}
		}
	})
}
