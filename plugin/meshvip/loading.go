package meshvip

import (
	"runtime/debug"
	"sync"
)

// loadingGarbage is by how much more the heap may grow from one collection to the
// next while a table is loaded. What is loaded stays, so that collections on the way
// find little; and when all is there, the heap may be twice as large as what is live,
// which is about what loading needs without them.
const loadingGarbage = 4

// collector has the garbage collector's setting from before the first of the loads
// that are under way.
var collector struct {
	mu      sync.Mutex
	loads   int
	percent int
}

// loading collects garbage more seldom until the function that it returns is called.
// A memory limit (GOMEMLIMIT) holds all the while, and a collector that is off stays
// off.
func loading() (loaded func()) {
	c := &collector
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loads++; c.loads == 1 {
		if c.percent = debug.SetGCPercent(-1); c.percent >= 0 {
			debug.SetGCPercent(loadingGarbage * c.percent)
		}
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.loads--; c.loads == 0 {
			debug.SetGCPercent(c.percent)
		}
	})
}
