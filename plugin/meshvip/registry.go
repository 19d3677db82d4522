package meshvip

import (
	"slices"
	"sync"

	"github.com/coredns/caddy"
	"github.com/meshvip/coredns-meshvip/names"
)

// registry holds the runtimes of the process by the identity of their stores.
//
// When CoreDNS reloads, it starts the new instance before it stops the old
// one, and a store has one writer: so the runtime passes from one to the other.
// The instances that refer to a runtime are its owners, in the order in which
// they came. An owner's settings are in force, and a runtime writes at all,
// only once its instance has taken over: it may still fail, and then it must
// have changed nothing.
//
// An instance that fails to start is told nothing. The old one lets go of it
// (OnRestartFailed), or else the next one that starts; until then it holds
// nothing but a store that is open.
//
// The mutex is held while stores are opened and closed. What a runtime does in
// the background never takes it.
var registry = struct {
	sync.Mutex
	runtimes map[string]*shared
}{runtimes: make(map[string]*shared)}

// shared is a runtime with its owners.
type shared struct {
	*runtime
	owners []*owner
}

// owner is one instance's part in a runtime.
type owner struct {
	instance *instance
	settings settings
	forward  []string      // its blocks' forward zones
	meshes   [][]string    // what each of them shows
	views    []*names.View // in the same order
	handlers []*Handler    // of its blocks
	// notifiers are those of its blocks with secondaries, once it has taken over.
	notifiers []*notifier
}

// hook makes sure that we are told when an instance has started. On SIGUSR1
// CoreDNS forgets who wants to know, and asks again by setting the plugins up.
func hook() {
	if slices.Contains(caddy.ListPlugins()["event_hooks"], pluginName) {
		return
	}
	caddy.RegisterEventHook(pluginName, func(event caddy.EventName, info any) error {
		if inst, ok := info.(*caddy.Instance); ok && event == caddy.InstanceStartupEvent {
			takeOver(instanceIn(inst))
		}
		return nil
	})
}

// takeOver puts the settings of i in force: it has started, and the instance
// before it has gone. i is nil where the new Corefile has no meshvip.
func takeOver(i *instance) {
	registry.Lock()
	defer registry.Unlock()
	release(func(o *instance) bool { return !o.started && o != i })
	if i == nil || i.stopped {
		return
	}
	i.started = true
	for _, s := range registry.runtimes {
		for _, o := range s.owners {
			if o.instance == i {
				o.notify(s.runtime)
				s.use(o.settings)
			}
		}
	}
}

// reloading reports whether some instance is running: what starts now replaces
// it, and should rather fail than serve less.
func reloading() bool { return len(caddy.Instances()) > 1 }

// acquire makes o an owner of the runtime with the given identity, and returns
// it. A runtime that is not there yet is opened; where the store cannot be
// opened, a reload fails, and a first start goes on without it: other zones are
// served, ours are SERVFAIL until it can be opened. The registry is locked.
func acquire(id string, o *owner) (*runtime, error) {
	if s := registry.runtimes[id]; s != nil {
		s.owners = append(s.owners, o)
		s.setZones()
		o.look(s.runtime)
		return s.runtime, nil
	}
	s := &shared{runtime: newRuntime(id, o.settings.cfg), owners: []*owner{o}}
	s.setZones()
	o.look(s.runtime) // while there is nothing to see: a view scans the index
	if err := s.open(); err != nil {
		if reloading() {
			s.close()
			return nil, err
		}
		s.unopened(err)
	}
	registry.runtimes[id] = s
	return s.runtime, nil
}

// setZones tells the index the forward zones of all owners.
func (s *shared) setZones() {
	var zones []string
	for _, o := range s.owners {
		for _, zone := range o.forward {
			if !slices.Contains(zones, zone) {
				zones = append(zones, zone)
			}
		}
	}
	s.zones.Store(&zones)
	s.tell(s.index.SetZones(slices.Sorted(slices.Values(zones))))
}

// release ends the part of the instances for which gone is true. A runtime
// without owners is closed. The registry is locked.
func release(gone func(*instance) bool) {
	for id, s := range registry.runtimes {
		var left []*owner
		for _, o := range s.owners {
			if !gone(o.instance) {
				left = append(left, o)
				continue
			}
			o.hush(s.runtime)
			for _, v := range o.views {
				v.Close()
			}
		}
		switch {
		case len(left) == 0:
			delete(registry.runtimes, id)
			s.close()
		case len(left) < len(s.owners):
			s.owners = left
			s.setZones()
		}
	}
}

// look opens the views of the owner's blocks, which are closed with it.
func (o *owner) look(r *runtime) {
	for _, meshes := range o.meshes {
		o.views = append(o.views, r.index.View(meshes))
	}
}
