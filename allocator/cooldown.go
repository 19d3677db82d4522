package allocator

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// released holds the addresses that nobody has, and who had them last: by
// address, by owner, and for each pool in the order of their release.
type released struct {
	byAddr  map[netip.Addr]Holding
	byOwner map[vip.Key][]netip.Addr // the last released last, once queued
	queues  map[netip.Prefix]*queue
	// lone are those that no newcomer may have: they lie in no pool, or are
	// blocked in theirs.
	lone map[netip.Addr]struct{}
	// loneAt is when one of them was released last, or later.
	loneAt time.Duration
}

// queue holds the released addresses of a pool, the longest released first. It
// is appended to and read from its head. An address that is taken back stays
// in it as a stale element until it is passed, so that every operation is O(1),
// amortised.
type queue struct {
	items []queued
	head  int
	stale int // stale elements at or behind head
}

type queued struct {
	addr netip.Addr
	at   time.Duration
}

// newReleased returns an empty set.
func newReleased() *released {
	return &released{
		byAddr:  make(map[netip.Addr]Holding),
		byOwner: make(map[vip.Key][]netip.Addr),
		queues:  make(map[netip.Prefix]*queue),
		lone:    make(map[netip.Addr]struct{}),
	}
}

// compareReleased orders holdings as they are reused: the longest released
// first, then by address. Last come those that are not released, whose row
// could not be read: of its addresses an owner gets the last one back.
func compareReleased(a, b Held) int {
	switch {
	case a.Released && !b.Released:
		return -1
	case b.Released && !a.Released:
		return 1
	}
	return cmp.Or(cmp.Compare(a.At, b.At), a.Addr.Compare(b.Addr))
}

// note says that h.Addr was given back. It is in no queue yet.
func (r *released) note(h Held) {
	r.byAddr[h.Addr] = h.Holding
	r.byOwner[h.Owner] = append(r.byOwner[h.Owner], h.Addr)
}

// enqueue puts an address that was given back into the queue of its pool.
// Additions come in the order of compareReleased.
func (r *released) enqueue(t *table, h Held) {
	s := t.spaceOf(h.Addr)
	if s == nil || !h.Released || s.blocks(h.Addr) {
		r.lone[h.Addr] = struct{}{}
		r.loneAt = max(r.loneAt, h.At)
		return
	}
	q := r.queues[s.prefix]
	q.items = append(q.items, queued{h.Addr, h.At})
}

// queue puts all that was noted into the queues of the table's pools, as they
// are now.
func (r *released) queue(t *table) {
	clear(r.queues)
	clear(r.lone)
	r.loneAt = 0
	clear(r.byOwner)
	for _, s := range t.spaces {
		r.queues[s.prefix] = &queue{}
	}
	held := make([]Held, 0, len(r.byAddr))
	for a, h := range r.byAddr {
		held = append(held, Held{a, h})
	}
	slices.SortFunc(held, compareReleased)
	for _, h := range held {
		r.byOwner[h.Owner] = append(r.byOwner[h.Owner], h.Addr)
		r.enqueue(t, h)
	}
}

// remove notes that somebody has addr now, or that it is forgotten who had it.
func (r *released) remove(t *table, addr netip.Addr) {
	h, ok := r.byAddr[addr]
	if !ok {
		return
	}
	delete(r.byAddr, addr)
	own := r.byOwner[h.Owner]
	if i := slices.Index(own, addr); len(own) > 1 {
		r.byOwner[h.Owner] = slices.Delete(own, i, i+1)
	} else {
		delete(r.byOwner, h.Owner)
	}
	if _, lone := r.lone[addr]; lone {
		delete(r.lone, addr)
		return
	}
	q := r.queues[t.spaceOf(addr).prefix]
	q.stale++
	q.trim(r.byAddr)
}

// trim drops stale elements at the head, and all of them once they and the
// passed ones are more than half.
func (q *queue) trim(byAddr map[netip.Addr]Holding) {
	for q.head < len(q.items) && !q.items[q.head].current(byAddr) {
		q.head++
		q.stale--
	}
	if q.head+q.stale <= len(q.items)/2 {
		return
	}
	kept := make([]queued, 0, len(q.items)-q.head-q.stale)
	for _, i := range q.items[q.head:] {
		if i.current(byAddr) {
			kept = append(kept, i)
		}
	}
	*q = queue{items: kept}
}

// current reports whether i is still the release that it was queued for.
func (i queued) current(byAddr map[netip.Addr]Holding) bool {
	h, ok := byAddr[i.addr]
	return ok && h.Released && h.At == i.at
}

// available yields the addresses of pool that were released at or before the
// given time of the table's clock, the longest released first.
func (r *released) available(pool netip.Prefix, before time.Duration) iter.Seq2[netip.Addr, Holding] {
	return func(yield func(netip.Addr, Holding) bool) {
		q := r.queues[pool]
		for _, i := range q.items[q.head:] {
			if i.at > before {
				return
			}
			if i.current(r.byAddr) && !yield(i.addr, r.byAddr[i.addr]) {
				return
			}
		}
	}
}

// of yields the addresses that owner has given back and nobody has taken since,
// the last released first.
func (r *released) of(owner vip.Key) iter.Seq2[netip.Addr, Holding] {
	return func(yield func(netip.Addr, Holding) bool) {
		for _, addr := range slices.Backward(r.byOwner[owner]) {
			if !yield(addr, r.byAddr[addr]) {
				return
			}
		}
	}
}

// size returns how many addresses of pool are released.
func (r *released) size(pool netip.Prefix) int {
	q := r.queues[pool]
	return len(q.items) - q.head - q.stale
}

// latest returns when an address of pool was released last.
func (r *released) latest(pool netip.Prefix) (at time.Duration, ok bool) {
	q := r.queues[pool]
	if q.head < len(q.items) {
		return q.items[len(q.items)-1].at, true
	}
	return 0, false
}
