package allocator_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// watched is a store that tells of each commit as a watch would: what was written,
// and nothing of what was there before.
type watched struct {
	allocator.Store
	tell func(allocator.Patch)
}

func (s *watched) Commit(ctx context.Context, d allocator.Delta) error {
	if err := s.Store.Commit(ctx, d); err != nil {
		return err
	}
	if s.tell != nil {
		s.tell(patchOf(d))
	}
	return nil
}

func (s *watched) Close() error { return nil }

// patchOf returns the keys that a delta writes, with their values, in an order
// that is not that of the delta.
func patchOf(d allocator.Delta) allocator.Patch {
	p := allocator.Patch{Base: d.Base, Meta: d.Meta, MeshesNew: slices.Clone(d.MeshesNew), MeshesGone: slices.Clone(d.MeshesGone)}
	p.Meta.Pools, p.Meta.Quarantine = slices.Clone(d.Meta.Pools), slices.Clone(d.Meta.Quarantine)
	for _, c := range slices.Backward(d.Addrs) {
		a := allocator.AddrPatch{Addr: c.Addr}
		if c.New != nil {
			h := *c.New
			a.Holding = &h
		}
		p.Addrs = append(p.Addrs, a)
	}
	for _, c := range slices.Backward(d.Rows) {
		switch {
		case c.New == nil:
			p.Rows = append(p.Rows, allocator.RowPatch{Key: c.Key, Gone: true})
		case c.Old == nil || c.Old.V4 != c.New.V4 || c.Old.V6 != c.New.V6:
			p.Rows = append(p.Rows, allocator.RowPatch{Key: c.Key, V4: c.New.V4, V6: c.New.V6})
		}
		p.Listings = append(p.Listings, listingPatches(c)...)
	}
	return p
}

func listingPatches(c allocator.RowChange) (patches []allocator.ListingPatch) {
	old, now := &vip.Row{}, &vip.Row{}
	if c.Old != nil {
		old = c.Old
	}
	if c.New != nil {
		now = c.New
	}
	for _, l := range slices.Backward(now.Listings) {
		if was, ok := old.Listing(l.Mesh); !ok || !was.Equal(l) {
			patches = append(patches, allocator.ListingPatch{Key: c.Key, Mesh: l.Mesh, Listing: &l})
		}
	}
	for _, l := range old.Listings {
		if _, ok := now.Listing(l.Mesh); !ok {
			patches = append(patches, allocator.ListingPatch{Key: c.Key, Mesh: l.Mesh})
		}
	}
	return patches
}

// pair is a replica that leads and one that follows it, over one store.
type pair struct {
	store            *watched
	leader, follower *allocator.Allocator
	patches          []allocator.Patch // that the follower has not seen
	told             []allocator.Commit
	clock            clock
}

func newPair(t testing.TB, cfg allocator.Config) *pair {
	p := &pair{clock: clock{wall: time.Unix(1e9, 0)}, store: &watched{Store: memstore.New()}}
	p.store.tell = func(patch allocator.Patch) { p.patches = append(p.patches, patch) }
	p.leader = open(t, p.store, &p.clock, cfg)
	cfg.Follows, cfg.OnCommit = true, func(c allocator.Commit) { p.told = append(p.told, c) }
	p.follower = open(t, p.store, &p.clock, cfg)
	return p
}

// catchUp shows the follower what it has not seen.
func (p *pair) catchUp(t testing.TB) {
	t.Helper()
	for _, patch := range p.patches {
		if err := p.follower.Follow(patch); err != nil {
			t.Fatal(err)
		}
	}
	p.patches = nil
}
