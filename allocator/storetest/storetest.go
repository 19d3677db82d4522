package storetest

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// Subject is an empty store under test.
type Subject struct {
	Store allocator.Store
	// Reopen opens again what a closed Store was, and fails the test if it
	// cannot. It is nil for a store that is gone when it is closed.
	Reopen func(t *testing.T) allocator.Store
}

// Run tests that stores keep the contract. open makes an empty one for each
// test, which is closed at its end.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, tc := range []struct {
		name string
		test func(t *testing.T, s Subject)
	}{
		{"AnEmptyStoreIsAtRevisionZero", empty},
		{"WhatIsCommittedIsLoaded", everything},
		{"EveryChangeIsLoaded", changes},
		{"CommitBeforeTheFirstLoadIsLoaded", commitFirst},
		{"AnotherBaseIsAConflictAndWritesNothing", wrongBase},
		{"AnAddressThatChangedHandsIsAConflictAndWritesNothing", wrongHolding},
		{"TwoEntriesCannotTakeOneAddress", twoTakers},
		{"MeshesComeAndGoWithTheirListings", meshes},
		{"ALoadedStateIsTheCallers", aliasing},
		{"ALargeDeltaIsCommittedInSoundParts", large},
		{"AnEntryOfManyMeshesComesAndGoesInSoundParts", many},
		{"ADeltaOverTheLimitsIsRefusedAndWritesNothing", overLimits},
		{"AClosedStoreSaysSo", closed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() {
				if err := s.Store.Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
			})
			tc.test(t, s)
		})
	}
}

func load(t *testing.T, s allocator.Store) allocator.State {
	t.Helper()
	state, err := s.Load(context.Background())
	if err != nil {
		t.Fatalf("loading: %v", err)
	}
	return state
}

func commit(t *testing.T, s allocator.Store, d allocator.Delta) {
	t.Helper()
	if err := s.Commit(context.Background(), d); err != nil {
		t.Fatalf("committing on revision %d: %v", d.Base, err)
	}
	if rev := revision(t, s); rev != d.Meta.Revision {
		t.Fatalf("revision %d after the commit, want %d", rev, d.Meta.Revision)
	}
}

func revision(t *testing.T, s allocator.Store) uint64 {
	t.Helper()
	rev, err := s.Revision(context.Background())
	if err != nil {
		t.Fatalf("revision: %v", err)
	}
	return rev
}

// refuse fails the test unless the store refuses d as a conflict and is as it
// was.
func refuse(t *testing.T, s allocator.Store, d allocator.Delta) {
	t.Helper()
	before := load(t, s)
	if err := s.Commit(context.Background(), d); !errors.Is(err, allocator.ErrConflict) {
		t.Errorf("the commit returned %v, want a conflict", err)
	}
	same(t, load(t, s), before)
	if rev := revision(t, s); rev != before.Meta.Revision {
		t.Errorf("revision %d after a refused commit, want %d", rev, before.Meta.Revision)
	}
}

// same compares two states, whatever their order.
func same(t *testing.T, got, want allocator.State) {
	t.Helper()
	byKey := cmpopts.SortSlices(func(a, b *vip.Row) bool { return a.Key().Compare(b.Key()) < 0 })
	byAddr := cmpopts.SortSlices(func(a, b allocator.Held) bool { return a.Addr.Less(b.Addr) })
	byName := cmpopts.SortSlices(strings.Compare)
	addrs := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	ranges := cmp.Comparer(func(a, b netipx.IPRange) bool { return a == b })
	if diff := cmp.Diff(want, got, byKey, byAddr, byName, addrs, prefixes, ranges, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the state differs (-want +got):\n%s", diff)
	}
}

// reopen closes the store and opens it again, if it outlives that.
func (s *Subject) reopen(t *testing.T) {
	t.Helper()
	if s.Reopen == nil {
		return
	}
	if err := s.Store.Close(); err != nil {
		t.Fatalf("closing: %v", err)
	}
	s.Store = s.Reopen(t)
	t.Cleanup(func() { s.Store.Close() })
}

// model is what a store should hold, made from the deltas that it was given.
type model struct {
	meta   allocator.Meta
	rows   map[vip.Key]*vip.Row
	addrs  map[netip.Addr]allocator.Holding
	meshes map[string]bool
}

// newModel returns the model of an empty store.
func newModel(t *testing.T, s allocator.Store) *model {
	return &model{
		meta: load(t, s).Meta, rows: make(map[vip.Key]*vip.Row),
		addrs: make(map[netip.Addr]allocator.Holding), meshes: make(map[string]bool),
	}
}

// commit commits the rest of a delta on the model's state to the store.
func (m *model) commit(t *testing.T, s allocator.Store, d allocator.Delta) {
	t.Helper()
	d = m.next(d)
	commit(t, s, d)
	m.follow(d)
	same(t, load(t, s), m.state())
}

// commitAll commits the rest of a delta in as many parts as the store takes it in,
// and looks at the table after each.
func (m *model) commitAll(t *testing.T, s allocator.Store, d allocator.Delta) {
	t.Helper()
	d = m.next(d)
	parts := allocator.Split(d, m.meta, s.Limits())
	if s.Limits() == (allocator.Limits{}) && len(parts) != 1 {
		t.Errorf("%d parts for a store without limits", len(parts))
	}
	for _, part := range parts {
		commit(t, s, part)
		m.follow(part)
		if err := allocator.Check(load(t, s)); err != nil {
			t.Fatalf("after a part: %v", err)
		}
	}
	same(t, load(t, s), m.state())
}

// follow brings a delta into the model.
func (m *model) follow(d allocator.Delta) {
	for _, c := range d.Rows {
		if delete(m.rows, c.Key); c.New != nil {
			m.rows[c.Key] = c.New
		}
	}
	for _, c := range d.Addrs {
		if delete(m.addrs, c.Addr); c.New != nil {
			m.addrs[c.Addr] = *c.New
		}
	}
	for _, name := range d.MeshesNew {
		m.meshes[name] = true
	}
	for _, name := range d.MeshesGone {
		delete(m.meshes, name)
	}
	m.meta = d.Meta
}

// next completes a delta so that it follows the model's state. The meta's
// other fields are the test's, where it names any.
func (m *model) next(d allocator.Delta) allocator.Delta {
	if d.Meta.Clock == 0 {
		d.Meta = m.meta
		d.Meta.Clock++
		d.Meta.Serial++
	}
	d.Base = m.meta.Revision
	d.Meta.ID = m.meta.ID
	d.Meta.Revision = d.Base + 1
	return d
}

func (m *model) state() allocator.State {
	s := allocator.State{Meta: m.meta}
	for _, r := range m.rows {
		s.Rows = append(s.Rows, r)
	}
	for a, h := range m.addrs {
		s.Addrs = append(s.Addrs, allocator.Held{Addr: a, Holding: h})
	}
	for name := range m.meshes {
		s.Meshes = append(s.Meshes, name)
	}
	return s
}

// service returns a row of a service with listings in meshes.
func service(name string, v4 netip.Addr, in ...string) *vip.Row {
	r := &vip.Row{Entry: vip.Entry{Name: name}, V4: v4}
	slices.Sort(in)
	for _, m := range in {
		r.Listings = append(r.Listings, vip.Listing{Mesh: m, Name: name})
	}
	return r
}

// added returns the changes that put a row with its addresses into a table.
func added(r *vip.Row) (allocator.RowChange, []allocator.AddrChange) {
	var addrs []allocator.AddrChange
	for _, a := range r.Addrs() {
		addrs = append(addrs, allocator.AddrChange{Addr: a, New: &allocator.Holding{Owner: r.Key()}, Fresh: true})
	}
	return allocator.RowChange{Key: r.Key(), New: r}, addrs
}

// released returns the holding of an address that owner gave back.
func released(owner vip.Key, at time.Duration, mesh string) *allocator.Holding {
	return &allocator.Holding{Owner: owner, Released: true, At: at, Mesh: mesh}
}
