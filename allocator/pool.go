package allocator

import (
	"net/netip"

	"go4.org/netipx"
)

// Pool is one range that addresses are taken from.
type Pool struct {
	// Prefix is the range, masked.
	Prefix netip.Prefix
	// Next is the lowest address of the pool that was never given out; every
	// one above it was not either, unless a table that was taken over had it.
	// The zero Addr: none is left.
	Next netip.Addr
	// Retired pools are no longer configured: they give out nothing, and stay
	// for as long as somebody has an address in them.
	Retired bool
}

// newPool returns the pool of prefix with nothing given out yet.
func newPool(prefix netip.Prefix) Pool {
	first, _ := Usable(prefix)
	return Pool{Prefix: prefix, Next: first}
}

// Usable returns the first and last address of prefix that may be given out.
// Of v4 prefixes of /30 and shorter, the network and the broadcast address may
// not: hosts and routers treat them as special. Of /31 (RFC 3021), /32 and v6
// prefixes every address may.
func Usable(prefix netip.Prefix) (first, last netip.Addr) {
	r := netipx.RangeOfPrefix(prefix)
	first, last = r.From(), r.To()
	if first.Is4() && prefix.Bits() <= 30 {
		first, last = first.Next(), last.Prev()
	}
	return first, last
}

// after returns the address that follows addr in the pool, the zero Addr at
// its end.
func (p Pool) after(addr netip.Addr) netip.Addr {
	_, last := Usable(p.Prefix)
	if !addr.Less(last) {
		return netip.Addr{}
	}
	return addr.Next()
}

// gives reports whether the pool would ever give addr out.
func (p Pool) gives(addr netip.Addr) bool {
	if p.Retired {
		return false
	}
	first, last := Usable(p.Prefix)
	return addr.BitLen() == first.BitLen() && !addr.Less(first) && !last.Less(addr)
}

// size returns how many addresses the pool can give out without those that are
// excluded, at most 2^63-1.
func (p Pool) size(exclude []netipx.IPRange) uint64 {
	var b netipx.IPSetBuilder
	first, last := Usable(p.Prefix)
	b.AddRange(netipx.IPRangeFrom(first, last))
	for _, r := range exclude {
		b.RemoveRange(r)
	}
	set, _ := b.IPSet() // it fails only on ranges that Layout.Check refuses
	return count(set.Ranges())
}

// count returns how many addresses there are in ranges, at most 2^63-1.
func count(ranges []netipx.IPRange) uint64 {
	const most = 1<<63 - 1
	n := uint64(0)
	for _, r := range ranges {
		d, ok := distance(r.From(), r.To())
		if !ok || most-n <= d {
			return most
		}
		n += d + 1
	}
	return n
}
