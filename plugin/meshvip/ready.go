package meshvip

import (
	"sync"

	"github.com/coredns/caddy"
)

// blocks are the handlers of all server blocks of one CoreDNS instance. Plugin
// ready keeps one handler by plugin's name, the last block's, so each handler
// answers for all. They belong to the instance, not to the process: an instance
// that fails to start is told nothing, and its handlers must not keep the
// running one from being ready.
type blocks struct {
	mu       sync.Mutex
	expected int // how many do not answer yet
	handlers []*Handler
}

// blocksKey is the key of the blocks in an instance's storage.
type blocksKey struct{}

// blocksOf returns the blocks of the instance that c sets up.
func blocksOf(c *caddy.Controller) *blocks {
	if b, ok := c.Get(blocksKey{}).(*blocks); ok {
		return b
	}
	b := new(blocks)
	c.Set(blocksKey{}, b)
	return b
}

// expect makes h, which does not answer yet, one of the blocks. It is called
// before anybody asks h: plugin ready asks as soon as its own OnStartup ran.
func (b *blocks) expect(h *Handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected++
	h.blocks = b
}

// add says that h answers from now on. It need not have been expected.
func (b *blocks) add(h *Handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.blocks == nil {
		h.blocks = b
	} else {
		b.expected--
	}
	b.handlers = append(b.handlers, h)
}

// ready reports whether every block is.
func (b *blocks) ready() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expected > 0 {
		return false
	}
	for _, h := range b.handlers {
		if !h.isReady() {
			return false
		}
	}
	return true
}

// Ready implements ready.Readiness, for all server blocks: each has a table
// with entries, or a source that has been read. A block that was ready once
// stays ready.
func (h *Handler) Ready() bool {
	if h.blocks == nil {
		return h.isReady()
	}
	return h.blocks.ready()
}

// isReady reports whether this block is ready or was. A table with entries is
// enough: after a reboot, a source that is down must not take DNS away.
func (h *Handler) isReady() bool {
	if !h.ready.Load() && h.table.Loaded() && (h.table.Synced() || h.entries() > 0) {
		h.ready.Store(true)
	}
	return h.ready.Load()
}
