package watcher

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Source follows one place that desired state comes from.
type Source interface {
	// Run reads the source, then follows it until ctx is done, and calls out
	// with what changed: first a full batch as soon as the source could be
	// read once, then deltas. out blocks while the batch is applied. When it
	// returns an error the source keeps the state and hands over a full batch
	// later, after a second, doubling to 30 s, or with the next change.
	//
	// Run returns nil when ctx is done, after all its goroutines have ended
	// and all its watches are closed. It is called once.
	Run(ctx context.Context, out func(vip.Batch) error) error
	// Status may be called at any time from any goroutine.
	Status() Status
}

// Status is how a source fares. Its values are not changed after they have
// been handed out.
type Status struct {
	// Synced says that the source was at least once read completely enough to
	// know what is not listed, and that this was handed over.
	Synced bool
	// LastSync is when the source was last read without an error that
	// concerns all of it.
	LastSync time.Time
	// Errors counts the problems that have come up since the start. One that
	// stays is counted once.
	Errors uint64
	// Problems are what is wrong now, sorted by place.
	Problems []Problem
}

// Problem is something that an operator should put right.
type Problem struct {
	// Place is a file, a file and line, or what else the source is made of.
	Place string
	// What says what is wrong and what to do about it.
	What string
}

// Compare orders problems by place, then by what they say.
func (p Problem) Compare(o Problem) int {
	return cmp.Or(strings.Compare(p.Place, o.Place), strings.Compare(p.What, o.What))
}
