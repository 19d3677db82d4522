package etcdstore

import "sync"

// candidacy says whether a replica stands for election, and who waits to hear
// that this has changed.
type candidacy struct {
	mu sync.Mutex
	// allocates: to allocate. claims: to bring etcd what it has lost.
	allocates, claims bool
	next              chan struct{} // closed when one of them changes
}

// allocate says whether the replica stands in order to allocate.
func (c *candidacy) allocate(is bool) { c.set(&c.allocates, is) }

// claim says whether the replica stands because it knows what etcd has lost.
func (c *candidacy) claim(is bool) { c.set(&c.claims, is) }

func (c *candidacy) set(what *bool, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *what == is {
		return
	}
	*what = is
	close(c.channel())
	c.next = nil
}

// is reports whether the replica stands.
func (c *candidacy) is() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allocates || c.claims
}

// allocating reports whether the replica stands in order to allocate.
func (c *candidacy) allocating() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allocates
}

// changed returns a channel that is closed with the next change.
func (c *candidacy) changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.channel()
}

// channel returns the channel of the next change. c is locked.
func (c *candidacy) channel() chan struct{} {
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}
