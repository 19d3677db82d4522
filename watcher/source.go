package watcher

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// Source follows one place that desired state comes from.
type Source interface {
	// Run reads the source, then follows it until ctx is done, and tells feed
	// what its places declare. It commits once after its first attempt to read,
	// whether that went well or not: others wait for it.
	//
	// Run returns nil when ctx is done, after all its goroutines have ended and
	// all its watches are closed. It is called once.
	Run(ctx context.Context, feed Feed) error
	// Status may be called at any time from any goroutine.
	Status() Status
}

// Feed is where one source tells what its places declare. It is used by one
// goroutine at a time, and waits for no other source and no store.
type Feed interface {
	// Place returns what place declares, as it was put last. It must not be
	// changed.
	Place(place string) []Resource
	// Put says what place declares now, in its order; nothing is the same as
	// taking the place away. It counts from the next Commit on. resources must
	// not be changed afterwards. A place belongs to one source: sources begin
	// the names of theirs with a directory or a URL that is their own.
	Put(place string, resources []Resource)
	// Commit makes all that was put since the last Commit count, as one change,
	// and says what the source knows of itself.
	Commit(State)
}

// State is what a source knows of itself.
type State struct {
	// Read says that the source could be listed once. Before that nothing is
	// known of it, and no entry is released that it might list.
	Read bool
	// Incomplete says what of the source was never read well, "" where all was.
	// While it is not empty nothing is released, for nobody knows what stands
	// there.
	Incomplete string
}

// Status is how a source fares. Its values are not changed after they have
// been handed out.
type Status struct {
	// Synced says that the source was at least once read completely enough to
	// know what is not listed.
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
