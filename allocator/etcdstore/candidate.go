package etcdstore

import "sync"

// candidacy says whether a replica stands for election, and who waits to hear
// that this has changed.
type candidacy struct {
	mu    sync.Mutex
	stand bool
	next  chan struct{} // closed when stand changes
}

// set says whether the replica stands.
func (c *candidacy) set(stand bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stand == stand {
		return
	}
	c.stand = stand
	close(c.channel())
	c.next = nil
}

func (c *candidacy) is() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stand
}

// changed returns a channel that is closed with the next change.
func (c *candidacy) changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.channel()
}

// withdrawn returns a channel that is closed when the replica stands no more.
func (c *candidacy) withdrawn() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stand {
		gone := make(chan struct{})
		close(gone)
		return gone
	}
	return c.channel()
}

// channel returns the channel of the next change. c is locked.
func (c *candidacy) channel() chan struct{} {
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}
