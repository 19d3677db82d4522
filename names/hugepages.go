package names

import (
	"net/netip"
	"unsafe"
)

// A lookup among a million names goes to memory that lies anywhere in hundreds of
// megabytes. There the processor not only misses its caches: with pages of 4 KiB it
// also has to look up where each page is, in tables that are as cold. Huge pages
// have a 512th of these tables. Linux gives them to a process that asks.

const (
	hugePage = 2 << 20
	// hugeFrom is the least number of records worth it: fewer lie in so few pages
	// that the processor remembers them.
	hugeFrom = 50_000
	// hugeShare is what of a huge page must be the index's, as a divisor: the rest
	// of it may be memory that nobody uses.
	hugeShare = 4
)

// askForHugePages asks for huge pages where the index lies, once it has twice as
// many records as when it asked last. Nobody writes to the index meanwhile; queries go
// on.
func (x *Index) askForHugePages() {
	n := x.records.Load()
	if n < max(hugeFrom, 2*x.inHugePages) {
		return
	}
	x.inHugePages = n
	for _, page := range x.hugePages() {
		collapse(page)
	}
}

// hugePages returns where the aligned stretches of memory begin, of the size of a
// huge page, of which enough is the index's.
func (x *Index) hugePages() []uintptr {
	held := make(map[uintptr]uintptr) // bytes, by page
	hold := func(at unsafe.Pointer, size uintptr) {
		for begin, end := uintptr(at), uintptr(at)+size; begin < end; {
			page := begin &^ (hugePage - 1)
			next := min(page+hugePage, end)
			held[page] += next - begin
			begin = next
		}
	}
	buckets := *x.relative.buckets.Load()
	hold(unsafe.Pointer(unsafe.SliceData(buckets)), uintptr(len(buckets))*unsafe.Sizeof(bucket{}))
	x.addrs.eachPage(func(_ netip.Addr, p *page) {
		hold(unsafe.Pointer(p), unsafe.Sizeof(*p))
		for i := range p.records {
			if r := p.records[i].Load(); r != nil {
				hold(unsafe.Pointer(r), unsafe.Sizeof(*r)/uintptr(r.size()))
			}
		}
	})
	var pages []uintptr
	for page, bytes := range held {
		if bytes >= hugePage/hugeShare {
			pages = append(pages, page)
		}
	}
	return pages
}
