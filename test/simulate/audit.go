package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// audit holds the counts of the table to what the fleet knows. Where somebody had
// to wait, the fleet does not know who had an address.
func (s *simulation) audit() error {
	if s.meter.early != nil {
		return s.meter.early
	}
	stats := s.alloc.Stats()
	pool := stats.Pools[0]
	if stats.Entries != s.fleet.live {
		return fmt.Errorf("the table has %d entries, the fleet %d", stats.Entries, s.fleet.live)
	}
	if pool.Live+stats.Waiting != stats.Entries {
		return fmt.Errorf("%d have an address and %d wait, of %d entries", pool.Live, stats.Waiting, stats.Entries)
	}
	if s.waited {
		return nil
	}
	from := s.now - s.Cooldown
	if got, want := s.meter.cooling.after(from), s.fleet.gone.after(from); got != want {
		return fmt.Errorf("%d addresses cool, and %d services went within the cooldown", got, want)
	}
	if s.returned < s.sum.soon {
		return fmt.Errorf("%d came back within the cooldown, and %d were given back their address", s.sum.soon, s.returned)
	}
	return nil
}

// auditStore holds what the store has to the invariants, and to the fleet.
func (s *simulation) auditStore(ctx context.Context, store allocator.Store) error {
	state, err := store.Load(ctx)
	if err != nil {
		return err
	}
	errs := []error{allocator.Check(state)}
	if len(state.Damaged) > 0 {
		errs = append(errs, fmt.Errorf("%d records are damaged", len(state.Damaged)))
	}
	rows := make(map[vip.Key]*vip.Row, len(state.Rows))
	for _, r := range state.Rows {
		rows[r.Key()] = r
	}
	missing := 0
	for _, m := range s.fleet.meshes {
		for _, id := range m.live {
			r := rows[request(id).Entry.Key()]
			if r == nil || len(r.Listings) != 1 || r.Listings[0].Mesh != m.name {
				missing++
			}
		}
	}
	if missing > 0 || len(rows) != s.fleet.live || len(state.Meshes) != len(s.fleet.meshes) {
		errs = append(errs, fmt.Errorf("the store has %d entries in %d meshes and lacks %d of the fleet's %d in %d",
			len(rows), len(state.Meshes), missing, s.fleet.live, len(s.fleet.meshes)))
	}
	from, cooling := s.now-s.Cooldown, 0
	for _, h := range state.Addrs {
		if h.Released && h.At > from {
			cooling++
		}
	}
	if want := s.meter.cooling.after(from); cooling != want {
		errs = append(errs, fmt.Errorf("%d addresses cool in the store, and %d were seen to", cooling, want))
	}
	return errors.Join(errs...)
}
