package meshvip

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns/caddy"
)

// instance is what one loading of the Corefile says of meshvip: the blocks, and
// the runtimes that they refer to. Its methods are called by one goroutine at a
// time: CoreDNS starts, stops and reloads from one.
type instance struct {
	configs  []Config
	handlers []*Handler
	ran      bool  // start has been called
	err      error // what it returned
	stopped  bool
	started  bool // all of CoreDNS has started; belongs to registry's mutex
}

// instanceKey is the key of the instance in CoreDNS's storage.
type instanceKey struct{}

// instanceOf returns the instance that c sets up.
func instanceOf(c *caddy.Controller) *instance {
	if i, ok := c.Get(instanceKey{}).(*instance); ok {
		return i
	}
	i := new(instance)
	c.Set(instanceKey{}, i)
	return i
}

// add adds a server block and returns its handler, which start makes answer.
func (i *instance) add(cfg Config) *Handler {
	h := new(Handler)
	i.configs = append(i.configs, cfg)
	i.handlers = append(i.handlers, h)
	return h
}

// start joins the blocks to runtimes and lets their handlers answer. It is
// called once a block and works once.
func (i *instance) start() error {
	if i.ran {
		return i.err
	}
	i.ran = true
	groups, err := group(i.configs)
	if err != nil {
		i.err = err
		return err
	}
	// Instances that failed to start, of which nobody was left to let go.
	release(func(o *instance) bool { return !o.started && o != i })
	for _, g := range groups {
		if err := i.join(g); err != nil {
			release(func(o *instance) bool { return o == i })
			i.err = err
			return err
		}
	}
	return nil
}

// join acquires the runtime of one group of blocks.
func (i *instance) join(g blockGroup) error {
	o := &owner{instance: i, cfg: g.cfg, options: g.options(i.configs)}
	for _, b := range g.blocks {
		o.forward = append(o.forward, i.configs[b].Block.Forward...)
	}
	r, err := acquire(g.cfg.Store.Value.identity(), o)
	if err != nil {
		return err
	}
	for _, b := range g.blocks {
		block := i.configs[b].Block
		i.handlers[b].serve(block, g.cfg.Cooldown.Value, g.suffixes(i.configs), r, r.index, o.view(r, block.Meshes.Value))
	}
	return nil
}

// stop lets go of the runtimes. The handlers go on answering from the index
// while listeners are up.
func (i *instance) stop() error {
	if !i.stopped {
		i.stopped = true
		release(func(o *instance) bool { return o == i })
	}
	return nil
}

// keep lets go of every other instance: a reload has failed, and this one stays.
func (i *instance) keep() error {
	release(func(o *instance) bool { return o != i && !o.started })
	return nil
}

// blockGroup is the blocks of an instance that share a runtime.
type blockGroup struct {
	cfg    RuntimeConfig
	blocks []int // indexes
}

// group joins blocks by the identity of their stores. A block that states no
// store belongs to the one that others state, if there is only one; if nobody
// states one, all share the default.
func group(configs []Config) ([]blockGroup, error) {
	var stated []string // identities
	for _, c := range configs {
		if c.Runtime.Store.Stated() {
			if id := c.Runtime.Store.Value.identity(); !slices.Contains(stated, id) {
				stated = append(stated, id)
			}
		}
	}
	var ids []string
	byID := make(map[string]*blockGroup)
	for b, c := range configs {
		var id string
		switch {
		case c.Runtime.Store.Stated():
			id = c.Runtime.Store.Value.identity()
		case len(stated) == 1:
			id = stated[0]
		case len(stated) == 0:
			// One runtime, at the default path of the first block.
			id = configs[0].Runtime.Store.Value.identity()
		default:
			return nil, fmt.Errorf("%s: meshvip states no store, and other server blocks state %d of them: "+
				"add the \"store\" line of the one that this block belongs to", c.Place, len(stated))
		}
		g := byID[id]
		if g == nil {
			g = &blockGroup{cfg: c.Runtime}
			byID[id] = g
			ids = append(ids, id)
		} else {
			var err error
			if g.cfg, err = merge(g.cfg, c.Runtime); err != nil {
				return nil, err
			}
		}
		g.blocks = append(g.blocks, b)
	}
	var groups []blockGroup
	for _, id := range ids {
		g := byID[id]
		if err := g.check(configs); err != nil {
			return nil, err
		}
		groups = append(groups, *g)
	}
	return groups, nil
}

// check verifies that the merged configuration is whole and fits every block.
func (g *blockGroup) check(configs []Config) error {
	if err := complete(g.cfg); err != nil {
		return err
	}
	for _, b := range g.blocks {
		if err := fits(g.cfg, configs[b]); err != nil {
			return err
		}
	}
	if len(g.suffixes(configs)) == 0 {
		return errors.New(configs[g.blocks[0]].Place + ": meshvip has reverse zones only, and no other server block of its store " +
			"has a zone for the names: add a zone such as \"mesh\"")
	}
	return nil
}

// suffixes returns the forward zones of the first block that has any.
func (g *blockGroup) suffixes(configs []Config) []string {
	for _, b := range g.blocks {
		if f := configs[b].Block.Forward; len(f) > 0 {
			return f
		}
	}
	return nil
}

// options returns a fingerprint of what answers depend on beside the table: a
// secondary must see that they have changed.
func (g *blockGroup) options(configs []Config) string {
	var all []string
	for _, b := range g.blocks {
		c := configs[b].Block
		all = append(all, fmt.Sprintf("%q %v %d %d %q %v %q", c.Forward, c.Reverse, c.TTL.Value, c.NegativeTTL.Value,
			c.Meshes.Value, c.NS.Value, c.Fall.Zones))
	}
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:8])
}
