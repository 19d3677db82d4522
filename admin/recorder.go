package admin

import (
	"slices"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
)

const (
	// ringRows and ringBytes bound what is remembered, but for the last commit,
	// which always is.
	ringRows  = 10_000
	ringBytes = 16 << 20
)

// Recorder remembers recent commits and tells whoever follows them. Its methods
// may be called by any goroutine.
type Recorder struct {
	now func() time.Time

	mu sync.Mutex
	// ring are the commits after start, the oldest first; rows and bytes are
	// their size.
	ring        []recorded
	rows, bytes int
	// start is where memory begins, last where it ends. begun: they are known.
	start, last cursor
	begun       bool
	// news is closed when there is something new, and replaced.
	news   chan struct{}
	closed bool
}

// recorded is a commit as it is remembered: what it did is worked out when
// somebody asks.
type recorded struct {
	allocator.Commit
	at          time.Time
	rows, bytes int
}

func (r recorded) cursor() cursor { return cursor{r.Meta.Serial, r.Meta.Revision} }

// NewRecorder returns a recorder that remembers nothing yet.
func NewRecorder() *Recorder { return &Recorder{now: time.Now, news: make(chan struct{})} }

// Begin says where the table stands, before the first commit: all that comes
// after it is remembered.
func (r *Recorder) Begin(m allocator.Meta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun, r.start = true, cursor{m.Serial, m.Revision}
		r.last = r.start
	}
}

// Record remembers a commit. It is for [allocator.Config.OnCommit]: it is quick,
// waits for nobody and calls nobody back. The commit's rows are kept, and not
// changed.
func (r *Recorder) Record(c allocator.Commit) {
	// Of a large change, a commit's rows are a part of one array.
	c.Rows = slices.Clone(c.Rows)
	rec := recorded{Commit: c, at: r.now()}
	rec.rows, rec.bytes = size(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun, r.start = true, cursor{c.Meta.Serial, c.Meta.Revision - 1}
	}
	r.last = rec.cursor()
	if rec.rows == 0 {
		return // the clock, or options: nothing that has a name
	}
	r.ring = append(r.ring, rec)
	r.rows, r.bytes = r.rows+rec.rows, r.bytes+rec.bytes
	for len(r.ring) > 1 && (r.rows > ringRows || r.bytes > ringBytes) {
		r.rows, r.bytes = r.rows-r.ring[0].rows, r.bytes-r.ring[0].bytes
		r.start = r.ring[0].cursor()
		r.ring[0] = recorded{} // or its rows would be kept
		r.ring = r.ring[1:]
	}
	close(r.news)
	r.news = make(chan struct{})
}

// size returns how much there is to remember of a commit, roughly.
func size(c allocator.Commit) (rows, bytes int) {
	rows = len(c.Rows) + len(c.Addrs) + len(c.MeshesNew) + len(c.MeshesGone)
	bytes = 128 * rows
	for _, change := range c.Rows {
		if change.Old != nil { // nobody else keeps it; the new one is in the table
			bytes += 256
			for _, l := range change.Old.Listings {
				bytes += 64 + 128*len(l.Outbounds)
			}
		}
	}
	return rows, bytes
}

// Close ends all streams. What is remembered can still be asked for.
func (r *Recorder) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		close(r.news)
	}
}

// position returns where memory ends.
func (r *Recorder) position() cursor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// part is what is remembered after a place, or the first of it.
type part struct {
	commits []recorded
	// complete: nothing is missing between the place and the commits. from is
	// where they begin, to where they end; more: there are others after it.
	complete bool
	from, to cursor
	more     bool
	// news is closed when there is more. closed: there will be none.
	news   <-chan struct{}
	closed bool
}

// after returns the first commits after c, whole ones with some n rows in all.
func (r *Recorder) after(c cursor, n int) part {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := part{to: r.last, from: c, news: r.news, closed: r.closed, complete: r.begun}
	ahead := c.revision != anyRevision && c.revision > r.last.revision || c.serial > r.last.serial
	if ahead || c.before(r.start) {
		// It is of another table, or too long ago.
		p.complete, p.from = false, r.start
		c = r.start
	}
	i, _ := slices.BinarySearchFunc(r.ring, c, func(rec recorded, c cursor) int {
		if c.before(rec.cursor()) {
			return 1
		}
		return -1
	})
	j := i
	for ; j < len(r.ring) && n > 0; j++ {
		n -= r.ring[j].rows
	}
	p.commits = slices.Clone(r.ring[i:j])
	if p.more = j < len(r.ring); p.more {
		p.to = r.ring[j-1].cursor()
	}
	return p
}

// beginning returns where memory begins.
func (r *Recorder) beginning() cursor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.start
}
