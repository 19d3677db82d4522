package meshvip

import (
	"context"
	"errors"
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
	p.note(slices.Concat(meshes...))
	p.signal()
}

// note marks meshes to be looked at by the next write.
func (p *publisher) note(meshes []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range meshes {
		p.dirty[m] = struct{}{}
	}
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
	for i, m := range meshes {
		if err == nil {
			err = p.writeMesh(dir, m)
		}
		if err != nil {
			p.log.Error("tables are not published; trying again", "publish", path, "meshes", len(meshes)-i, "error", err)
			p.note(meshes[i:])
			return false
		}
	}
	return true
}

// writeMesh writes one mesh, or removes its files where it is gone.
func (p *publisher) writeMesh(dir *publish.Dir, mesh string) error {
	rows, ok := p.alloc.MeshRows(mesh)
	if !ok {
		return dir.Remove(mesh)
	}
	err := dir.Write(mesh, rows)
	if aside := (publish.SetAside)(nil); errors.As(err, &aside) {
		// The rest of the mesh is written, and these will not be until they
		// change.
		p.log.Warn("entries are not published", "error", err)
		return nil
	}
	return err
}
