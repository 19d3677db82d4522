package meshvip

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/publish"
	"github.com/meshvip/coredns-meshvip/vip"
)

// publisher writes the tables of meshes that changed to a directory, in a
// goroutine of its own: proxies must not hold up DNS. What it could not write
// it writes later.
type publisher struct {
	alloc *allocator.Allocator
	log   *slog.Logger

	mu    sync.Mutex
	dir   string              // "" publishes nothing
	dirty map[string]struct{} // meshes to look at
	wake  chan struct{}
}

// newPublisher returns a publisher to dir.
func newPublisher(dir string, alloc *allocator.Allocator, log *slog.Logger) *publisher {
	return &publisher{dir: dir, alloc: alloc, log: log, dirty: make(map[string]struct{}), wake: make(chan struct{}, 1)}
}

// published reads what stands in the directory, for a table that is new.
func (p *publisher) published() (rows []*vip.Row, bad []error) {
	dir, err := publish.Open(p.dir)
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
	p.mu.Lock()
	for _, m := range slices.Concat(meshes...) {
		p.dirty[m] = struct{}{}
	}
	p.mu.Unlock()
	p.signal()
}

func (p *publisher) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// all notes every mesh.
func (p *publisher) all() { p.changed(p.alloc.Meshes()) }

// move changes the directory, and fills the new one.
func (p *publisher) move(dir string) {
	p.mu.Lock()
	same := p.dir == dir
	p.dir = dir
	p.mu.Unlock()
	if !same {
		p.all()
	}
}

// take returns the meshes to write, and where to.
func (p *publisher) take() (dir string, meshes []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for m := range p.dirty {
		meshes = append(meshes, m)
	}
	clear(p.dirty)
	slices.Sort(meshes)
	return p.dir, meshes
}

// run writes until ctx is done, and then what is left once more.
func (p *publisher) run(ctx context.Context) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = time.Second, 30*time.Second
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			p.write()
			return
		case <-p.wake:
		case <-again:
		}
		again = nil
		if p.write() {
			pause.Reset()
		} else {
			again = time.After(pause.NextBackOff())
		}
	}
}

// write writes what is noted, and reports whether all of it could be written.
func (p *publisher) write() bool {
	path, meshes := p.take()
	if path == "" || len(meshes) == 0 {
		return true
	}
	dir, err := publish.Open(path)
	var failed []string
	for i, m := range meshes {
		if err == nil {
			if rows, ok := p.alloc.MeshRows(m); ok {
				err = dir.Write(m, rows)
			} else {
				err = dir.Remove(m)
			}
		}
		if err != nil {
			failed = meshes[i:]
			break
		}
	}
	if err != nil {
		p.log.Error("tables are not published; trying again", "publish", path, "meshes", len(failed), "error", err)
		p.mu.Lock()
		for _, m := range failed {
			p.dirty[m] = struct{}{}
		}
		p.mu.Unlock()
	}
	return err == nil
}
