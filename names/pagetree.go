package names

import "sync/atomic"

// pageTree finds the page of a v4 address: by its first octet, by nine bits more, and
// by nine more. A branch has 4 KiB, so that the branches over a million neighbours
// stay in the processor's caches, where a hash table of their pages would not. One
// writer, readers without a lock: who holds a branch that has just been dropped misses
// only what came after it began.
type pageTree struct {
	branches [1 << firstBits]atomic.Pointer[branch[branch[page]]]
	size     atomic.Int64 // of pages
}

const (
	firstBits = 8
	levelBits = 9 // twice, and pageBits: 32
	levelSize = 1 << levelBits
)

// branch is a level of the tree.
type branch[T any] struct {
	to   [levelSize]atomic.Pointer[T]
	used int // the writer's
}

// put makes p the i-th of the branch; nil makes it nothing.
func (b *branch[T]) put(i uint32, p *T) {
	switch old := b.to[i].Swap(p); {
	case old == nil && p != nil:
		b.used++
	case old != nil && p == nil:
		b.used--
	}
}

// indices returns where a key's page is in each level.
func indices(key uint32) (first, second, third uint32) {
	return key >> (2 * levelBits), key >> levelBits % levelSize, key % levelSize
}

// Load returns the page of key, the first 26 bits of its addresses.
func (t *pageTree) Load(key uint32) (p *page, ok bool) {
	first, second, third := indices(key)
	if b := t.branches[first].Load(); b != nil {
		if b := b.to[second].Load(); b != nil {
			p = b.to[third].Load()
		}
	}
	return p, p != nil
}

// Store makes p the page of key.
func (t *pageTree) Store(key uint32, p *page) {
	first, second, third := indices(key)
	upper := t.branches[first].Load()
	if upper == nil {
		upper = new(branch[branch[page]])
		t.branches[first].Store(upper)
	}
	lower := upper.to[second].Load()
	if lower == nil {
		lower = new(branch[page])
		upper.put(second, lower)
	}
	before := lower.used
	lower.put(third, p)
	t.size.Add(int64(lower.used - before))
}

// Delete drops the page of key, and what has no page any more.
func (t *pageTree) Delete(key uint32) {
	if _, ok := t.Load(key); !ok {
		return
	}
	first, second, third := indices(key)
	upper := t.branches[first].Load()
	lower := upper.to[second].Load()
	lower.put(third, nil)
	t.size.Add(-1)
	if lower.used > 0 {
		return
	}
	upper.put(second, nil)
	if upper.used == 0 {
		t.branches[first].Store(nil)
	}
}

// Range calls f for each page, in the order of addresses, until it returns false.
func (t *pageTree) Range(f func(key uint32, p *page) bool) {
	for first := range t.branches {
		upper := t.branches[first].Load()
		if upper == nil {
			continue
		}
		for second := range upper.to {
			lower := upper.to[second].Load()
			if lower == nil {
				continue
			}
			for third := range lower.to {
				p := lower.to[third].Load()
				if p != nil && !f(uint32(first)<<(2*levelBits)|uint32(second)<<levelBits|uint32(third), p) {
					return
				}
			}
		}
	}
}

// Size returns the number of pages.
func (t *pageTree) Size() int { return int(t.size.Load()) }
