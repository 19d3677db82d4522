package watcher

import (
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Bounds of the wait before a batch that could not be applied is handed over
// again.
const (
	minBackoff = time.Second
	maxBackoff = 30 * time.Second
)

// delivery decides which batch comes next.
type delivery struct {
	// full says that the next batch has to be a full one: the first, and the
	// one after a failure, of which it is not known what was applied.
	full bool
	// owed says that a batch was incomplete, so that releases may have been
	// withheld that a full batch has to bring.
	owed bool
	// unread says that some source was never read when the last batch was handed
	// over.
	unread  bool
	synced  bool
	backoff time.Duration
	retry   time.Time // zero unless a batch failed
	refused string    // why it did
}

// next returns the batch to hand over, and whether there is one.
//
// A source that is read for the first time, when others were handed over already, may
// change nothing: that all were read is told all the same, by a full batch.
func (d *delivery) next(now time.Time, desired *Desired, incomplete string, unread bool) (vip.Batch, bool) {
	if now.Before(d.retry) && !desired.Touched() {
		return vip.Batch{}, false
	}
	var b vip.Batch
	if d.full || d.owed && incomplete == "" || d.unread && !unread {
		b = desired.All()
	} else if b = desired.Changes(); len(b.Meshes) == 0 {
		return vip.Batch{}, false
	}
	b.Incomplete, b.Unread = incomplete, unread
	return b, true
}

// ended says how the handing over of b ended.
func (d *delivery) ended(now time.Time, b vip.Batch, err error) {
	if err != nil {
		d.full = true
		d.backoff = min(max(2*d.backoff, minBackoff), maxBackoff)
		d.retry, d.refused = now.Add(d.backoff), err.Error()
		return
	}
	d.backoff, d.retry, d.refused = 0, time.Time{}, ""
	d.full, d.unread = false, b.Unread
	switch {
	case b.Incomplete != "":
		d.owed = true
	case b.Full:
		d.owed, d.synced = false, true
	}
}
