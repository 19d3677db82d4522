package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// ledger has the services that are gone, in the order in which they went.
type ledger struct{ list []departure }

type departure struct {
	id   uint32
	back bool
	at   time.Duration
}

func (l *ledger) add(id uint32, at time.Duration) { l.list = append(l.list, departure{id: id, at: at}) }

// since is the place in the list of the first that went after at.
func (l *ledger) since(at time.Duration) int {
	i, _ := slices.BinarySearchFunc(l.list, at, func(d departure, at time.Duration) int {
		if d.at <= at {
			return -1
		}
		return 1
	})
	return i
}

// take lets one come back that went after at, or one that went by then. It finds
// none where there are few.
func (l *ledger) take(r *rand.Rand, at time.Duration, after bool) (id uint32, ok bool) {
	first, end := 0, l.since(at)
	if after {
		first, end = end, len(l.list)
	}
	const tries = 10
	for n := 0; n < tries && first < end; n++ {
		d := &l.list[first+r.IntN(end-first)]
		if !d.back {
			d.back = true
			return d.id, true
		}
	}
	return 0, false
}

// after counts those that went after at and have not come back.
func (l *ledger) after(at time.Duration) int {
	n := 0
	for _, d := range l.list[l.since(at):] {
		if !d.back {
			n++
		}
	}
	return n
}

// bytes is what the ledger takes of the heap.
func (l *ledger) bytes() int { return 16 * cap(l.list) }
