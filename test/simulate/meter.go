package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// meter is a store that counts what is committed to another, and watches what
// becomes of each address.
type meter struct {
	allocator.Store
	cooldown time.Duration
	counts   counts
	cooling  cooling
	// early names the first address that was given to another within its cooldown.
	early error
}

// counts are sums over commits.
type counts struct {
	commits, keys, bytes int
	reused               int // addresses that went from one owner to another
	took                 time.Duration
}

func (c *counts) add(o counts) {
	c.commits += o.commits
	c.keys += o.keys
	c.bytes += o.bytes
	c.reused += o.reused
	c.took += o.took
}

func newMeter(s allocator.Store, cooldown time.Duration) *meter {
	return &meter{Store: s, cooldown: cooldown, cooling: cooling{back: make(map[parted]struct{})}}
}

// Commit implements [allocator.Store].
func (m *meter) Commit(ctx context.Context, d allocator.Delta) error {
	begun := time.Now()
	if err := m.Store.Commit(ctx, d); err != nil {
		return err
	}
	m.counts.took += time.Since(begun)
	keys, bytes := d.Cost()
	m.counts.commits++
	m.counts.keys += keys
	m.counts.bytes += bytes
	for _, c := range d.Addrs {
		m.watch(c, d.Meta.Clock)
	}
	return nil
}

// watch notes that an address changed hands.
func (m *meter) watch(c allocator.AddrChange, now time.Duration) {
	if c.New != nil && c.New.Released {
		m.cooling.add(parted{c.Addr, c.New.At})
		return
	}
	if c.Old == nil || !c.Old.Released {
		return
	}
	cools := now-c.Old.At < m.cooldown
	if cools {
		m.cooling.remove(parted{c.Addr, c.Old.At})
	}
	if c.New != nil && c.New.Owner == c.Old.Owner {
		return
	}
	if cools && m.early == nil {
		m.early = fmt.Errorf("%v of %v was taken from it %v after it was given back", c.Addr, c.Old.Owner, now-c.Old.At)
	}
	if c.New != nil {
		m.counts.reused++
	}
}

// parted is an address that was given back.
type parted struct {
	addr netip.Addr
	at   time.Duration
}

// cooling has the addresses that were given back within the cooldown and that
// nobody has.
type cooling struct {
	queue []parted // in the order of their times
	back  map[parted]struct{}
}

func (c *cooling) add(p parted)    { c.queue = append(c.queue, p) }
func (c *cooling) remove(p parted) { c.back[p] = struct{}{} }

// after counts those that were given back after at, and forgets the others.
func (c *cooling) after(at time.Duration) int {
	n := 0
	for n < len(c.queue) && c.queue[n].at <= at {
		delete(c.back, c.queue[n])
		n++
	}
	c.queue = append(c.queue[:0], c.queue[n:]...)
	return len(c.queue) - len(c.back)
}

// bytes is about what it takes of the heap.
func (c *cooling) bytes() int { return 32*cap(c.queue) + 80*len(c.back) }
