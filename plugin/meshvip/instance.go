package meshvip

import (
	"errors"
	"slices"

	"github.com/coredns/caddy"
)

// instance is what one loading of the Corefile says of meshvip: the blocks, and
// the runtimes that they refer to. CoreDNS sets it up in one goroutine; what
// comes after, it calls from the one that reloads and from the one that shuts
// the process down, which may be at the same time.
type instance struct {
	configs  []Config
	handlers []*Handler

	// These belong to the registry's mutex.
	ran     bool  // start has been called
	err     error // what it returned
	started bool  // all of CoreDNS has started, and no instance before it runs
	stopped bool
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

// instanceIn returns what inst has of meshvip, nil if its Corefile has none.
func instanceIn(inst *caddy.Instance) *instance {
	inst.StorageMu.RLock()
	defer inst.StorageMu.RUnlock()
	i, _ := inst.Storage[instanceKey{}].(*instance)
	return i
}

// add adds a server block and returns its handler, which start makes answer.
func (i *instance) add(cfg Config) *Handler {
	h := &Handler{begin: i.start}
	i.configs = append(i.configs, cfg)
	i.handlers = append(i.handlers, h)
	return h
}

// start joins the blocks to runtimes and lets their handlers answer. It is
// called once a block and works once. It writes to no store and follows no
// source: an instance before this one may have to go on.
func (i *instance) start() error {
	registry.Lock()
	defer registry.Unlock()
	if i.ran {
		return i.err
	}
	i.ran = true
	// Instances that failed to start, of which nobody was left to let go.
	release(func(o *instance) bool { return !o.started && o != i })
	if i.err = i.join(); i.err != nil {
		release(func(o *instance) bool { return o == i })
	}
	return i.err
}

// join acquires the runtime of each group of blocks.
func (i *instance) join() error {
	if i.stopped {
		return errors.New("the server is shutting down")
	}
	groups, err := group(i.configs)
	if err != nil {
		return err
	}
	for _, g := range groups {
		o := &owner{instance: i, settings: settings{cfg: g.cfg, options: g.options(i.configs)}}
		for _, b := range g.blocks {
			o.forward = append(o.forward, i.configs[b].Block.Forward...)
			o.meshes = append(o.meshes, i.configs[b].Block.Meshes.Value)
		}
		r, err := acquire(g.id, o)
		if err != nil {
			return err
		}
		for n, b := range g.blocks {
			block, h := i.configs[b].Block, i.handlers[b]
			h.configured = g.cfg.Prefixes()
			o.handlers = append(o.handlers, h)
			h.serve(block, g.cfg.Cooldown.Value, g.suffixes(i.configs), r, r.index, o.views[n])
			if h.blocks != nil {
				h.blocks.add(h)
			}
		}
	}
	return nil
}

// stop lets go of the runtimes. The handlers go on answering from the index
// while listeners are up.
func (i *instance) stop() error {
	registry.Lock()
	defer registry.Unlock()
	i.stopped = true
	release(func(o *instance) bool { return o == i })
	return nil
}

// keep lets go of the instances that failed to start: a reload has failed, and
// this one stays. CoreDNS also calls it a failure when the new instance runs,
// this one has been stopped, and some plugin's OnShutdown returned an error;
// then the new one takes over.
func (i *instance) keep() error {
	running := caddy.Instances()
	if !slices.ContainsFunc(running, func(inst *caddy.Instance) bool { return instanceIn(inst) == i }) {
		_ = i.stop()
		for _, inst := range running {
			takeOver(instanceIn(inst))
		}
		return nil
	}
	registry.Lock()
	defer registry.Unlock()
	release(func(o *instance) bool { return o != i && !o.started })
	return nil
}
