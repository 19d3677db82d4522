package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// bounded is a store that takes no more than its limits in one commit, whose
// content can be put back, and whose nth commit from now on fails.
type bounded struct {
	*failNth
	limits allocator.Limits
}

func newBounded(limits allocator.Limits) *bounded {
	return &bounded{&failNth{faulty: &faulty{Store: memstore.New()}}, limits}
}

func (s *bounded) Limits() allocator.Limits { return s.limits }

func (s *bounded) Commit(ctx context.Context, d allocator.Delta) error {
	keys, bytes := d.Cost()
	if s.limits.Keys > 0 && keys > s.limits.Keys || s.limits.Bytes > 0 && bytes > s.limits.Bytes {
		return fmt.Errorf("the commit takes %d keys, %d bytes: %+v", keys, bytes, d)
	}
	return s.failNth.Commit(ctx, d)
}

// someLimits draws what a store takes, as a rule little.
func someLimits() *rapid.Generator[allocator.Limits] {
	return rapid.SampledFrom([]allocator.Limits{{Keys: 8}, {Keys: 11}, {Keys: 20, Bytes: 3000}, {}})
}

// rolledBack is a table whose store has gone back, and what was answered from it.
type rolledBack struct {
	*history
	s      *bounded
	old    allocator.State // what the store went back to
	memory *allocator.Allocator
	known  allocator.State // what that has in memory
	lost   uint64
}

// newRolledBack draws one. unseen: its leader committed what the memory does not
// know, and is gone.
func newRolledBack(t *rapid.T, unseen bool) *rolledBack {
	r := &rolledBack{history: newHistory(t, !unseen), s: newBounded(someLimits().Draw(t, "limits"))}
	r.history.open(r.s)
	r.live(6)
	r.old = r.load()
	r.live(6)
	r.memory = r.a
	if unseen {
		cfg := r.cfg
		cfg.Follows = true
		a, err := allocator.Open(context.Background(), r.s, cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.memory = a
	}
	var err error
	if r.known, err = r.memory.State(context.Background()); err != nil {
		t.Fatal(err)
	}
	if unseen {
		r.backedUp(r.known)
		r.live(4)
		for _, keys := range r.given {
			r.lost += uint64(len(keys))
		}
		if r.passedOn(r.known) {
			t.Skip("an address of those that it knows has come to others")
		}
		r.memory.Lead()
	}
	store := memstore.New()
	fill(t, store, r.old)
	r.s.Store = store
	r.a, r.given = r.memory, nil
	return r
}

func (r *rolledBack) load() allocator.State {
	s, err := r.s.Load(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// reconcile makes the store what the memory knows, and fails a few times on the
// way.
func (r *rolledBack) reconcile() allocator.Restored {
	t := r.t
	for {
		r.s.n, r.s.after = rapid.IntRange(0, 5).Draw(t, "transaction that fails"), rapid.Bool().Draw(t, "after")
		before := r.load().Meta
		done, err := r.memory.Reconcile(context.Background(), r.lost)
		r.s.n = 0
		state := r.load()
		if err := allocator.Check(state); err != nil {
			t.Fatalf("the store: %v", err)
		}
		if m := state.Meta; m.Revision > before.Revision && (m.Revision <= r.known.Meta.Revision || m.Serial <= r.known.Meta.Serial ||
			m.Serial <= before.Serial || m.Clock < r.known.Meta.Clock || m.ID != r.known.Meta.ID || m.Synced) {
			t.Fatalf("the store says %+v of itself, and the memory %+v", m, r.known.Meta)
		}
		if err == nil {
			return done
		}
		if !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		if got, want := rowMap(r.memory.Rows()), rowMap(r.known.Rows); !sameRows(got, want) {
			t.Fatalf("half way the table shows %v, want %v", got, want)
		}
	}
}

// TestAStoreThatWentBackGivesNoAddressTooSoon: entries keep the addresses that the
// one knows which leads, and nobody else gets one that was answered within a
// cooldown, be it by a leader whose last commits it has not seen.
func TestAStoreThatWentBackGivesNoAddressTooSoon(t *testing.T) {
	t.Parallel()
	for _, unseen := range []bool{false, true} {
		t.Run(fmt.Sprintf("unseen %v", unseen), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				r := newRolledBack(t, unseen)
				told := rowMap(r.memory.Rows())
				done := r.reconcile()
				if err := r.memory.Verify(context.Background()); err != nil {
					t.Fatal(err)
				}
				now := rowMap(r.memory.Rows())
				if !sameRows(now, told) || len(done.Displaced) > 0 || done.Serial != r.memory.Stats().Meta.Serial {
					t.Fatalf("the table is %v, want %v; %+v", now, told, done)
				}
				r.answer()
				r.live(8)
			})
		})
	}
}

// TestWhatAnotherGaveAfterTheStoreWentBackStaysTheirs: one that knew nothing led
// for a while.
func TestWhatAnotherGaveAfterTheStoreWentBackStaysTheirs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRolledBack(t, false)
		// Nobody answers for so long that nothing of before counts.
		r.clock.running += r.cfg.Cooldown
		r.clock.wall = r.clock.wall.Add(r.cfg.Cooldown)
		cfg := r.cfg
		cfg.Confirm = ""
		other, err := allocator.Open(context.Background(), r.s, cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.a = other
		r.live(5)
		r.step(vip.Batch{Meshes: []vip.MeshUpdate{{Mesh: "m", Set: requests("newcomer")}}})
		if got := rowMap(other.Rows())[vip.Key{Name: "newcomer"}]; len(got.Addrs()) == 0 {
			t.Skip("nobody can tell that it was there")
		}
		theirs := make(map[netip.Addr]vip.Key)
		for _, h := range r.load().Addrs {
			theirs[h.Addr] = h.Owner
		}
		r.a = r.memory
		done := r.reconcile()
		now := rowMap(r.memory.Rows())
		for _, d := range done.Displaced {
			if d.Why == "" || now[d.Key].Has(d.From) {
				t.Fatalf("%+v, and it has %v", d, now[d.Key].Addrs())
			}
		}
		for _, row := range r.known.Rows {
			for _, a := range row.Addrs() {
				displaced := slices.ContainsFunc(done.Displaced, func(d allocator.Displaced) bool { return d.Key == row.Key() && d.From == a })
				if other, had := theirs[a]; displaced && (!had || other == row.Key()) {
					t.Fatalf("%v does not have %v, which nobody had: %+v", row.Key(), a, done.Displaced)
				}
			}
		}
		r.answer()
		r.live(8)
	})
}

// TestHalfOfAReconciledTableGivesNothingToNewcomers: who finds it after a crash
// knows no more what is missing.
func TestHalfOfAReconciledTableGivesNothingToNewcomers(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.0.0.0/24"), Cooldown: time.Hour, MaxRelease: anyRelease}
	c := &clock{wall: time.Unix(1e9, 0)}
	store := newBounded(allocator.Limits{Keys: 8})
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "a")))
	old, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	apply(t, a, full(set("m", names(40)...)))
	answered := make(map[string]string) // by address
	for name, at := range table(a) {
		answered[at] = name
	}
	inner := memstore.New()
	d := allocator.Delta{Meta: old.Meta, MeshesNew: old.Meshes, Rows: []allocator.RowChange{{Key: old.Rows[0].Key(), New: old.Rows[0]}}}
	for _, h := range old.Addrs {
		d.Addrs = append(d.Addrs, allocator.AddrChange{Addr: h.Addr, New: &h.Holding})
	}
	if err := inner.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	store.Store = inner
	store.n = 4
	if _, err := a.Reconcile(t.Context(), 0); !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	fresh := open(t, store, c, cfg)
	r := apply(t, fresh, part(set("n", "x", "y", "z")))
	if len(r.Exhausted) != 3 {
		t.Errorf("%v: newcomers have %v", r, table(fresh))
	}
	for name, at := range table(fresh) {
		if other := answered[at]; at != "" && other != name {
			t.Errorf("%s has %s, which was answered for %s", name, at, other)
		}
	}
	c.running += time.Hour
	tick(t, fresh)
	if s := fresh.Stats(); s.Waiting != 0 || len(s.Meta.Quarantine) != 0 {
		t.Errorf("stats %+v", s)
	}
	if err := a.Close(); err == nil {
		t.Error("what is half way writes")
	}
}
