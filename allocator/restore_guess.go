package allocator

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// givenAtLeast is how many addresses of a pool are taken to be given out since a
// backup, where nobody knows.
const givenAtLeast = 65_536

// guess allows for what the table may have done since the backup, where there is
// nothing that tells.
func (r *restorer) guess() {
	live, known := make(map[netip.Addr]bool, len(r.backup.Addrs)), make([]netip.Addr, 0, len(r.backup.Addrs))
	for _, h := range r.backup.Addrs {
		known = append(known, h.Addr)
	}
	for _, row := range r.backup.Rows {
		for _, a := range row.Addrs() {
			live[a] = true
		}
	}
	r.guessPools(known)
	clock := r.out.Meta.Clock
	for _, q := range r.backup.Meta.Quarantine {
		r.quarantine(Quarantine{q.Range, clock + max(q.Until-r.backup.Meta.Clock, r.Cooldown)})
	}
	for _, h := range r.backup.Addrs {
		unowned := slices.ContainsFunc(r.unowned, func(p netip.Prefix) bool { return p.Contains(h.Addr) })
		if _, known := r.had[h.Addr]; known || live[h.Addr] || unowned {
			continue
		}
		if !h.Released { // its row cannot be read
			h.Since = r.Now.Unix()
		}
		h.Released, h.At = true, clock
		r.had[h.Addr] = h.Holding
		r.done.Released++
	}
	r.setAside(r.backup)
}

// unused is what a pool has not given out at the time of a backup.
type unused struct {
	Pool
	ranges []netipx.IPRange
	left   uint64
}

// guessPools quarantines what the pools may have given out since the backup, and
// puts their cursors behind it. known are the addresses that somebody has, or
// had, in the backup: a cursor passes them over.
func (r *restorer) guessPools(known []netip.Addr) {
	pools := slices.DeleteFunc(slices.Clone(r.backup.Meta.Pools), func(p Pool) bool { return p.Retired })
	for _, l := range r.Layout.Pools { // one that is new since
		if !slices.ContainsFunc(r.backup.Meta.Pools, func(p Pool) bool { return p.Prefix == l.Prefix }) {
			pools = append(pools, newPool(l.Prefix))
			r.addPool(l.Prefix)
		}
	}
	var left [2]uint64 // of each family
	all := make([]unused, len(pools))
	for i, s := range newSpaces(pools, r.Layout, nil) {
		all[i] = unusedOf(pools[i], s.blocked, known)
		if f := family(pools[i]); !s.closed {
			left[f] = min(left[f]+all[i].left, 1<<63-1)
		}
	}
	for _, u := range all {
		n := max(givenAtLeast, u.left/4)
		if r.GivenSince != nil {
			n = *r.GivenSince
		}
		r.guessPool(u, n, n > left[family(u.Pool)])
	}
}

func family(p Pool) int {
	if p.Prefix.Addr().Is4() {
		return 0
	}
	return 1
}

// guessPool allows for n addresses that a pool may have given out; any says that
// they may be any of it.
func (r *restorer) guessPool(u unused, n uint64, any bool) {
	until := r.out.Meta.Clock + r.Cooldown
	first, last := Usable(u.Prefix)
	switch {
	case n == 0:
		return
	case any:
		r.unowned = append(r.unowned, u.Prefix)
		r.quarantine(Quarantine{netipx.IPRangeFrom(first, last), until})
		r.cursor(u.Prefix, netip.Addr{})
	case !u.Next.IsValid():
	case n >= u.left:
		r.quarantine(Quarantine{netipx.IPRangeFrom(u.Next, last), until})
		r.cursor(u.Prefix, netip.Addr{})
	default:
		end := nth(u.ranges, n)
		r.quarantine(Quarantine{netipx.IPRangeFrom(u.Next, end), until})
		r.cursor(u.Prefix, u.after(end))
	}
}

// addPool adds a pool that the table does not have.
func (r *restorer) addPool(prefix netip.Prefix) {
	if !slices.ContainsFunc(r.out.Meta.Pools, func(p Pool) bool { return p.Prefix == prefix }) {
		r.out.Meta.Pools = append(r.out.Meta.Pools, newPool(prefix))
	}
}

// cursor puts the cursor of a pool at next, unless it is there or behind already.
func (r *restorer) cursor(prefix netip.Prefix, next netip.Addr) {
	for i := range r.out.Meta.Pools {
		p := &r.out.Meta.Pools[i]
		if p.Prefix == prefix && p.Next.IsValid() && (!next.IsValid() || p.Next.Less(next)) {
			p.Next = next
		}
	}
}

// unusedOf returns what a pool has left from its cursor on.
func unusedOf(p Pool, blocked []netipx.IPRange, known []netip.Addr) unused {
	_, last := Usable(p.Prefix)
	if !p.Next.IsValid() || last.Less(p.Next) {
		p.Next = netip.Addr{}
		return unused{Pool: p}
	}
	var b netipx.IPSetBuilder
	b.AddRange(netipx.IPRangeFrom(p.Next, last))
	for _, r := range blocked {
		b.RemoveRange(r)
	}
	for _, a := range known {
		if p.Prefix.Contains(a) {
			b.Remove(a)
		}
	}
	set, _ := b.IPSet() // it fails only on ranges that Layout.Check refuses
	ranges := set.Ranges()
	return unused{p, ranges, count(ranges)}
}

// nth returns the n-th address of sorted ranges, which have as many.
func nth(ranges []netipx.IPRange, n uint64) netip.Addr {
	for _, r := range ranges {
		d, ok := distance(r.From(), r.To())
		if !ok || n <= d+1 {
			return plus(r.From(), n-1)
		}
		n -= d + 1
	}
	return netip.Addr{}
}

// plus returns addr + n, which is an address of its family.
func plus(addr netip.Addr, n uint64) netip.Addr {
	b := addr.As16()
	lo, carry := bits.Add64(binary.BigEndian.Uint64(b[8:]), n, 0)
	binary.BigEndian.PutUint64(b[8:], lo)
	binary.BigEndian.PutUint64(b[:8], binary.BigEndian.Uint64(b[:8])+carry)
	if addr.Is4() {
		return netip.AddrFrom16(b).Unmap()
	}
	return netip.AddrFrom16(b)
}
