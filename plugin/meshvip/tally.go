package meshvip

import (
	"sync"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// tally is what commits did since it was told last.
type tally struct {
	mu sync.Mutex
	sums
}

type sums struct {
	transactions, rows, meshes int
	// In addresses.
	allocated, returned, released int
}

// add adds a commit.
func (t *tally) add(c allocator.Commit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.transactions++
	t.rows += len(c.Rows)
	t.meshes += len(c.Meshes) + len(c.MeshesGone)
	t.allocated += c.Allocated
	t.returned += c.Returned
	t.released += c.Released
}

// take returns the sums, and begins anew.
func (t *tally) take() sums {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sums
	t.sums = sums{}
	return s
}
