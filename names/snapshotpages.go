package names

import (
	"iter"
	"math/bits"
	"net/netip"
	"slices"
	"sort"
)

// frozenPage is a copy of a page: the records that it had, and which of its
// addresses these are at.
type frozenPage struct {
	first   netip.Addr
	used    uint64    // a bit for each address, that of the first the lowest
	records []*Record // those of the bits that are set
}

// frozenPages are the copies of all pages, sorted by address, v4 first.
type frozenPages []frozenPage

// freezer has the room that copies of pages want, so that none is made while they
// are taken.
type freezer struct {
	pages frozenPages
	block []*Record // what is left of it
}

// freezeBlock is how many more pointers there is room for when the room that was
// made does not do.
const freezeBlock = 1 << 14

func newFreezer(x *Index) *freezer {
	return &freezer{
		pages: make(frozenPages, 0, x.addrs.v4.Size()+x.addrs.v6.Size()+8),
		block: make([]*Record, 2*x.records.Load()+freezeBlock), // one a family
	}
}

// freeze copies the pointers of m. Nobody may write to it meanwhile.
func (f *freezer) freeze(m addrMap) frozenPages {
	m.eachPage(f.add)
	return f.pages
}

func (f *freezer) add(first netip.Addr, p *page) {
	if len(f.block) < pageSize {
		f.block = make([]*Record, freezeBlock)
	}
	c, n := frozenPage{first: first}, 0
	for i := range p.records {
		if r := p.records[i].Load(); r != nil {
			f.block[n] = r
			c.used |= 1 << i
			n++
		}
	}
	c.records, f.block = f.block[:n:n], f.block[n:]
	f.pages = append(f.pages, c)
}

func (f frozenPages) sort() {
	slices.SortFunc(f, func(a, b frozenPage) int { return a.first.Compare(b.first) })
}

// all returns the addresses of the page that have a record, in their order.
func (p *frozenPage) all() iter.Seq2[netip.Addr, *Record] {
	return func(yield func(netip.Addr, *Record) bool) {
		left := p.used
		for _, r := range p.records {
			if !yield(inPage(p.first, bits.TrailingZeros64(left)), r) {
				return
			}
			left &= left - 1
		}
	}
}

// at returns the record that has addr, nil if none.
func (f frozenPages) at(addr netip.Addr) *Record {
	i := sort.Search(len(f), func(i int) bool { return f[i].first.Compare(addr) > 0 }) - 1
	if i < 0 || f[i].first.BitLen() != addr.BitLen() {
		return nil
	}
	last := inPage(f[i].first, pageSize-1)
	if last.Compare(addr) < 0 {
		return nil
	}
	bit := slot(addr)
	if f[i].used&(1<<bit) == 0 {
		return nil
	}
	return f[i].records[bits.OnesCount64(f[i].used&(1<<bit-1))]
}

// slot returns the place of an address in its page.
func slot(addr netip.Addr) int {
	octets := addr.As16()
	return int(octets[15] % pageSize)
}

// within returns the pages that have addresses in p, and perhaps others.
func (f frozenPages) within(p netip.Prefix) frozenPages {
	p = p.Masked()
	low := sort.Search(len(f), func(i int) bool { return f[i].first.Compare(p.Addr()) > 0 })
	if low > 0 { // the page that it begins in
		low--
	}
	n := sort.Search(len(f)-low, func(i int) bool {
		first := f[low+i].first
		return first.Compare(p.Addr()) > 0 && !p.Contains(first)
	})
	return f[low : low+n]
}

// first returns the first of a record's addresses.
func (r *Record) first() netip.Addr {
	if r.families&hasV4 != 0 {
		return netip.AddrFrom4(r.v4)
	}
	return netip.AddrFrom16(r.v6)
}
