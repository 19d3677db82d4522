package meshvip

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/failpoint"
	"github.com/meshvip/coredns-meshvip/publish"
	"github.com/meshvip/coredns-meshvip/vip"
)

const (
	// publishRetry bounds the pause between attempts to write.
	publishRetry = 30 * time.Second
	// lastWrites bounds what is written when the server ends. The next start
	// writes the rest.
	lastWrites = 3 * time.Second
)

// publisher writes the tables of meshes that changed to a directory, in a
// goroutine of its own: proxies must not hold up DNS. What it could not write
// it writes later.
type publisher struct {
	alloc *allocator.Allocator
	log   *slog.Logger

	mu     sync.Mutex
	to     PublishConfig       // without a directory nothing is published
	dirty  map[string]struct{} // meshes to look at
	sweeps bool                // look for meshes that went unseen, once the source is read
	wake   chan struct{}

	// These belong to the goroutine that writes.
	dir    *publish.Dir // what opened says; nil if it has to be opened
	opened PublishConfig
	told   string // the error that was logged last
}

// newPublisher returns a publisher.
func newPublisher(to PublishConfig, alloc *allocator.Allocator, log *slog.Logger) *publisher {
	return &publisher{to: to, alloc: alloc, log: log, dirty: make(map[string]struct{}), wake: make(chan struct{}, 1)}
}

// published reads what stands in the directory, for a table that is new.
func (p *publisher) published() (rows []*vip.Row, bad []error) {
	if _, err := os.Stat(p.to.Dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	dir, err := publish.Open(p.to.Dir)
	if err != nil {
		return nil, []error{err}
	}
	tables, bad, err := dir.Read()
	if err != nil {
		return nil, []error{err}
	}
	for _, t := range tables {
		rows = append(rows, t...)
	}
	return rows, bad
}

// changed notes meshes whose tables changed or went. It does not block.
func (p *publisher) changed(meshes ...[]string) {
	p.note(slices.Concat(meshes...))
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// note notes meshes and wakes nobody.
func (p *publisher) note(meshes []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range meshes {
		p.dirty[m] = struct{}{}
	}
}

// all notes every mesh.
func (p *publisher) all() { p.changed(p.alloc.Meshes()) }

// move changes the directory, or the form of what is in it, and fills it.
func (p *publisher) move(to PublishConfig) {
	p.mu.Lock()
	same := p.to == to
	p.to = to
	p.mu.Unlock()
	if !same {
		p.all()
	}
}

// sweepLater lets the next sweep do its work.
func (p *publisher) sweepLater() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweeps = p.to.Dir != ""
}

// sweep notes the meshes that stand in the directory and not in the table: a
// server that was killed between a commit and the removal of the files has left
// them. It is for when the source has been read; what was published is needed
// before. It works once.
func (p *publisher) sweep() {
	p.mu.Lock()
	path, sweeps := p.to.Dir, p.sweeps
	p.sweeps = false
	p.mu.Unlock()
	if !sweeps || path == "" {
		return
	}
	dir, err := publish.Open(path)
	if err != nil {
		return // write meets it too, and says so
	}
	meshes, err := dir.Meshes()
	if err != nil {
		return
	}
	p.changed(slices.DeleteFunc(meshes, func(m string) bool {
		// The table's name, NAME.json, might be that of a file of others.
		_, err := os.Stat(filepath.Join(path, m+".outbounds.yaml"))
		return err != nil
	}))
}

// take returns the meshes to write, sorted, and where to.
func (p *publisher) take() (to PublishConfig, meshes []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for m := range p.dirty {
		meshes = append(meshes, m)
	}
	clear(p.dirty)
	slices.Sort(meshes)
	return p.to, meshes
}

// run writes until ctx is done, and then what is left.
func (p *publisher) run(ctx context.Context) {
	pause := newPause(publishRetry)
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
			defer cancel()
			p.write(last)
			return
		case <-p.wake:
		case <-again:
		}
		again = nil
		if p.write(ctx) {
			pause.Reset()
		} else {
			again = time.After(pause.NextBackOff())
		}
	}
}

// write writes what is noted, until ctx is done, and reports whether all of it
// could be written. What could not is noted again.
func (p *publisher) write(ctx context.Context) bool {
	to, meshes := p.take()
	if to.Dir == "" || len(meshes) == 0 {
		return true
	}
	failpoint.Hit("publish")
	failed, err := p.writeTo(ctx, to, meshes)
	if len(failed) == 0 {
		p.told = ""
		return true
	}
	p.note(failed)
	if err != nil && err.Error() != p.told {
		p.told = err.Error()
		p.log.Error("tables are not published; trying again", "publish", to.Dir, "meshes", len(failed), "error", err)
	}
	if err != nil {
		p.dir = nil // it may be another directory by now
	}
	return false
}

// writeTo writes meshes where to says. It returns those that could
// not be written, and the first error.
func (p *publisher) writeTo(ctx context.Context, to PublishConfig, meshes []string) (failed []string, first error) {
	if p.dir == nil || p.opened != to {
		dir, err := publish.Open(to.Dir, publish.Options{Tags: to.Tags, BackendRefs: to.BackendRefs})
		if err != nil {
			return meshes, err
		}
		p.dir, p.opened = dir, to
	}
	for i, m := range meshes {
		if ctx.Err() != nil {
			return append(failed, meshes[i:]...), first
		}
		err := p.writeMesh(m)
		failpoint.Hit("published")
		var aside publish.SetAside
		switch {
		case errors.As(err, &aside):
			p.log.Warn("a table is published without some of its entries", "publish", to.Dir, "error", err)
		case err != nil:
			failed = append(failed, m)
			if first == nil {
				first = err
			}
		}
	}
	return failed, first
}

// writeMesh makes the files of one mesh what its table is.
func (p *publisher) writeMesh(mesh string) error {
	if rows, ok := p.alloc.MeshRows(mesh); ok {
		return p.dir.Write(mesh, rows)
	}
	return p.dir.Remove(mesh)
}
