package meshvip

import (
	"context"
	"fmt"
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
// they came; its configuration is the first one's until that one has gone.
// An instance that fails to start is told nothing: the old one lets go of it
// (OnRestartFailed), or else the next one that starts.
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
	cfg      RuntimeConfig
	options  string   // fingerprint of its blocks' options
	forward  []string // its blocks' forward zones
	views    []*names.View
}

// startedKey marks the storage of an instance that has started.
type startedKey struct{}

func init() {
	caddy.RegisterEventHook(pluginName, func(event caddy.EventName, info any) error {
		if inst, ok := info.(*caddy.Instance); ok && event == caddy.InstanceStartupEvent {
			inst.Storage[startedKey{}] = true
			if i, ok := inst.Storage[instanceKey{}].(*instance); ok {
				registry.Lock()
				i.started = true
				registry.Unlock()
			}
		}
		return nil
	})
}

// reloading reports whether some instance is running: what starts now replaces
// it, and should rather fail than serve less.
func reloading() bool {
	return slices.ContainsFunc(caddy.Instances(), func(i *caddy.Instance) bool { return i.Storage[startedKey{}] != nil })
}

// acquire makes o an owner of the runtime with the given identity, and returns
// it. A runtime that is not there yet is opened; where the store cannot be
// opened, a reload fails, and a first start goes on without it: other zones are
// served, ours are SERVFAIL until it can be opened.
func acquire(id string, o *owner) (*runtime, error) {
	registry.Lock()
	defer registry.Unlock()
	if s := registry.runtimes[id]; s != nil {
		s.owners = append(s.owners, o)
		s.setZones()
		return s.runtime, nil
	}
	r := newRuntime(id, o.cfg)
	r.options = o.options
	s := &shared{runtime: r, owners: []*owner{o}}
	s.setZones()
	if err := r.open(context.Background()); err != nil {
		if reloading() {
			return nil, err
		}
		r.log.Error("the store cannot be opened: our zones are answered with SERVFAIL until it can", "error", err)
		r.openLater()
	}
	registry.runtimes[id] = s
	return r, nil
}

// setZones tells the index the forward zones of all owners.
func (s *shared) setZones() {
	var zones []string
	for _, o := range s.owners {
		zones = append(zones, o.forward...)
	}
	slices.Sort(zones)
	s.tell(s.index.SetZones(slices.Compact(zones)))
}

// release ends the part of the instances for which gone is true. A runtime
// that loses its first owner takes the configuration of the next, and one
// without owners is closed.
func release(gone func(*instance) bool) {
	registry.Lock()
	defer registry.Unlock()
	for id, s := range registry.runtimes {
		first := s.owners[0]
		var left []*owner
		for _, o := range s.owners {
			if !gone(o.instance) {
				left = append(left, o)
				continue
			}
			for _, v := range o.views {
				v.Close()
			}
		}
		if len(left) == len(s.owners) {
			continue
		}
		s.owners = left
		if len(left) == 0 {
			delete(registry.runtimes, id)
			s.close()
			continue
		}
		s.setZones()
		if left[0] != first {
			s.reconfigure(left[0].cfg, left[0].options)
		}
	}
}

// view returns a view of the runtime's index, which is closed with the owner.
func (o *owner) view(r *runtime, meshes []string) *names.View {
	v := r.index.View(meshes)
	o.views = append(o.views, v)
	return v
}

// String names the owner's runtime for errors.
func (o *owner) String() string { return fmt.Sprintf("%v at %s", o.cfg.Store.Value, o.cfg.Place) }
