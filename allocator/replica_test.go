package allocator_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// TestAFollowerShowsWhatTheLeaderCommits, and tells of it as the leader does.
func TestAFollowerShowsWhatTheLeaderCommits(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.0.0.0/29", "fd00::/125"), Cooldown: time.Hour, MaxRelease: anyRelease}
	p := newPair(t, cfg)
	apply(t, p.leader, full(set("a", "web", "db"), set("b", "Web")))
	apply(t, p.leader, part(drop("a", "web", "db"), set("c", "new")))
	apply(t, p.leader, part(drop("b", "web")))
	p.catchUp(t)
	wantTable(t, p.follower, table(p.leader))
	if got, want := p.follower.Meshes(), p.leader.Meshes(); !slices.Equal(got, want) {
		t.Errorf("meshes %q, want %q", got, want)
	}
	first := p.told[0]
	if len(p.told) != 3 || first.Allocated != 4 || p.told[1].Released != 2 || fmt.Sprint(first.Meshes, p.told[1].MeshesNew) != "[a b] [c]" {
		t.Errorf("told of %+v", p.told)
	}
}

// TestAFollowerWritesNothing, whatever it is asked to do.
func TestAFollowerWritesNothing(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease}
	p := newPair(t, cfg)
	apply(t, p.leader, full(set("m", "a", "b")))
	apply(t, p.leader, full(set("m", "a")))
	p.catchUp(t)
	p.clock.running += time.Minute // the clock would be written
	f, ctx := p.follower, t.Context()
	_, applyErr := f.Apply(ctx, full(set("m", "x")))
	_, repairErr := f.Repair(ctx)
	_, _, adoptErr := f.Adopt(ctx, nil)
	_, importErr := f.Import(ctx, nil)
	_, confirmErr := f.ConfirmMoves(ctx, "x")
	_, releaseErr := f.ReleaseHeld(ctx, "x")
	for what, err := range map[string]error{
		"Apply": applyErr, "Tick": f.Tick(ctx), "SetOptions": f.SetOptions(ctx, "x"), "Repair": repairErr, "Adopt": adoptErr,
		"Import": importErr, "ConfirmMoves": confirmErr, "ReleaseHeld": releaseErr,
	} {
		if !errors.Is(err, allocator.ErrFollows) {
			t.Errorf("%s of a follower returns %v", what, err)
		}
	}
	if _, ok := f.Due(); ok || !f.Follows() || p.leader.Follows() {
		t.Error("something is due, or the roles are not told")
	}
	if err := f.Configure(allocator.Config{Layout: layout("10.9.0.0/29"), Cooldown: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if got := f.Pools(); len(got) != 1 || got[0].Prefix.String() != "10.0.0.0/29" || got[0].Retired {
		t.Errorf("a follower shows the pools %v", got)
	}
	if err := f.Close(); err != nil || len(p.patches) > 0 {
		t.Errorf("%v, %d commits", err, len(p.patches))
	}
}

// TestAMoveIsToldByEveryReplica: with both addresses, also where the entry has
// none for a while.
func TestAMoveIsToldByEveryReplica(t *testing.T) {
	t.Parallel()
	log, logger := logTo()
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease, Logger: logger}
	p := newPair(t, cfg)
	apply(t, p.leader, full(set("m", "a", "b")))
	cfg.Layout.Statics = []allocator.Static{static("a", "10.0.0.5")}
	configure(t, p.leader, cfg)
	cfg.Confirm = p.leader.Moves().Name
	configure(t, p.leader, cfg)
	p.catchUp(t)
	var moved []string
	for _, c := range p.told {
		moved = append(moved, movesText(c.Moves)...)
	}
	if fmt.Sprint(moved) != "[a 10.0.0.1 10.0.0.5]" {
		t.Errorf("told of %q", moved)
	}
	wantLog(t, log, `moved entry=0:a from=10.0.0.1 to=10.0.0.5 why="another replica moved it"`)

	// What the follower has not seen, it is told when it reads the table again.
	p.told, cfg.Layout.Statics, cfg.Confirm = nil, []allocator.Static{static("a", "10.0.0.6")}, ""
	configure(t, p.leader, cfg)
	cfg.Confirm = p.leader.Moves().Name
	configure(t, p.leader, cfg)
	if err := p.follower.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(p.told) != 1 || fmt.Sprint(movesText(p.told[0].Moves)) != "[a 10.0.0.5 10.0.0.6]" {
		t.Errorf("told of %+v", p.told)
	}
	wantLog(t, log, `moved entry=0:a from=10.0.0.5 to=10.0.0.6 why="the table was read again from the store"`)
}

// TestALeaderFollowsNobody.
func TestALeaderFollowsNobody(t *testing.T) {
	t.Parallel()
	p := newPair(t, allocator.Config{Layout: layout("10.0.0.0/29")})
	apply(t, p.leader, full(set("m", "a")))
	if err := p.leader.Follow(p.patches[0]); err == nil || errors.Is(err, allocator.ErrConflict) {
		t.Errorf("it follows, with %v", err)
	}
	p.catchUp(t)
}

// TestTheCooldownOutlivesAFailover: what was released while one led is kept for a
// cooldown by the next, which counts from when it saw it, and not longer.
func TestTheCooldownOutlivesAFailover(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.0.0.1/32"), Cooldown: time.Hour, MaxRelease: anyRelease}
	p := newPair(t, cfg)
	apply(t, p.leader, full(set("m", "a")))
	apply(t, p.leader, full(set("m", "b")))
	p.catchUp(t)
	p.clock.running += 59 * time.Minute
	p.leader.StandDown()
	p.follower.Lead()
	if d, ok := p.follower.Due(); !ok || d != 0 {
		t.Errorf("due in %v, %v", d, ok)
	}
	tick(t, p.follower)
	wantTable(t, p.follower, map[string]string{"b": ""})
	p.clock.running += 2 * time.Minute
	tick(t, p.follower)
	wantTable(t, p.follower, map[string]string{"b": "10.0.0.1"})
	if err := p.leader.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantTable(t, p.leader, map[string]string{"b": "10.0.0.1"})
}

// TestTheClockIsTheLeaders: one that started again counts from what was durable,
// and its followers with it, however long they have been running.
func TestTheClockIsTheLeaders(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.0.0.1/32"), Cooldown: time.Hour, MaxRelease: anyRelease}
	p := newPair(t, cfg)
	apply(t, p.leader, full(set("m", "a")))
	p.catchUp(t)
	p.clock.running += 2 * time.Hour // nothing cools, and nothing is written
	again := open(t, p.store, &p.clock, cfg)
	apply(t, again, full(set("m", "b")))
	p.catchUp(t)
	if c := p.follower.Address(addr("10.0.0.1")).Cooldown; c < time.Hour-time.Second {
		t.Errorf("it cools down for %v", c)
	}
	p.follower.Lead()
	p.clock.running += 59 * time.Minute
	tick(t, p.follower)
	wantTable(t, p.follower, map[string]string{"b": ""})
	// To read the table again takes nothing away from what was counted.
	if err := p.follower.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.clock.running += 2 * time.Minute
	tick(t, p.follower)
	wantTable(t, p.follower, map[string]string{"b": "10.0.0.1"})
	p.leader.StandDown()
	again.StandDown()
	for _, a := range []*allocator.Allocator{p.leader, again} {
		if err := a.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatWasReleasedLongAgoComesBeforeTheRest, also where a follower hears of it
// later: as after a restore.
func TestWhatWasReleasedLongAgoComesBeforeTheRest(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Minute, MaxRelease: anyRelease}
	p := newPair(t, cfg)
	apply(t, p.leader, full(set("m", "a", "b")))
	p.clock.running += time.Hour
	apply(t, p.leader, full(set("m", "a")))
	state, err := p.leader.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := allocator.Delta{Base: state.Meta.Revision, Meta: state.Meta}
	d.Meta.Revision++
	for i, at := range []string{"10.0.0.6", "10.0.0.5", "10.0.0.4"} {
		d.Addrs = append(d.Addrs, allocator.AddrChange{Addr: addr(at), New: &allocator.Holding{
			Owner: vip.Key{Name: "x"}, Released: true, At: time.Duration(i+1) * time.Second, Mesh: "m",
		}})
	}
	if err := p.store.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	p.catchUp(t)
	if s := p.follower.PoolStates()[0]; s.Cooling != 1 || s.Released != 4 {
		t.Errorf("%d of %d released addresses cool down, want 1 of 4", s.Cooling, s.Released)
	}
	p.leader.StandDown()
	if err := p.leader.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestOneThatStandsDownForgetsWhatItHeld: it is the next one's business, which
// judges by what the sources say to it.
func TestOneThatStandsDownForgetsWhatItHeld(t *testing.T) {
	t.Parallel()
	p := newPair(t, allocator.Config{Layout: layout("10.0.0.0/24")})
	apply(t, p.leader, full(set("m", names(30)...)))
	apply(t, p.leader, full(with("m", []vip.Request{asks("x", "10.0.0.1")})))
	p.catchUp(t)
	if s := p.leader.Stats(); s.Held != 30 || s.Refused != 1 {
		t.Fatalf("stats %+v", s)
	}
	p.leader.StandDown()
	p.follower.Lead()
	if s := p.leader.Stats(); s.Held != 0 || s.Refused != 0 || s.Pending != 0 {
		t.Errorf("stats %+v", s)
	}
	tick(t, p.follower)
	if s := p.follower.Stats(); s.Held != 0 || s.Entries != 31 {
		t.Errorf("stats %+v", s)
	}
}

// TestACommitInDoubtIsTheStoresToTell when one stands down with it.
func TestACommitInDoubtIsTheStoresToTell(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{true, false} {
		store := &faulty{Store: memstore.New()}
		a := open(t, store, nil, allocator.Config{Layout: layout("10.0.0.0/29")})
		store.before, store.after = !there, there
		if _, err := a.Apply(t.Context(), full(set("m", "a"))); !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		store.before, store.after = false, false
		a.StandDown()
		if err := a.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(a.Rows()); n == 1 != there {
			t.Errorf("%d rows, committed: %v", n, there)
		}
		a.Lead()
		apply(t, a, full(set("m", "a")))
		wantTable(t, a, map[string]string{"a": "10.0.0.1"})
	}
}

// TestABrokenTableIsRepairedByTheOneThatLeads: the other shows what will come of
// it, and follows no patch of it.
func TestABrokenTableIsRepairedByTheOneThatLeads(t *testing.T) {
	t.Parallel()
	for _, report := range []bool{false, true} {
		store := memstore.New()
		d := allocator.Delta{
			Meta: allocator.Meta{Revision: 1, Serial: 1, Pools: []allocator.Pool{
				{Prefix: prefixes("10.0.0.0/29")[0], Next: addr("10.0.0.2")},
			}},
			Addrs:     []allocator.AddrChange{{Addr: addr("10.0.0.1"), New: &allocator.Holding{Owner: vip.Key{Name: "b"}}}},
			MeshesNew: []string{"m"},
		}
		for _, name := range []string{"a", "b"} {
			d.Rows = append(d.Rows, allocator.RowChange{Key: vip.Key{Name: name}, New: &vip.Row{
				Entry: vip.Entry{Name: name}, V4: addr("10.0.0.1"), Listings: []vip.Listing{{Mesh: "m", Name: name}},
			}})
		}
		if err := store.Commit(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		log, logger := logTo()
		cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, ReportOnly: report, Logger: logger, Follows: true}
		a, err := allocator.Open(t.Context(), store, cfg)
		if err != nil {
			t.Fatal(err)
		}
		wantTable(t, a, map[string]string{"a": "", "b": "10.0.0.1"})
		wantLog(t, log, "the replica that allocates repairs it", "done=false")
		if err := a.Follow(allocator.Patch{Base: 1}); !errors.Is(err, allocator.ErrConflict) {
			t.Error(err)
		}
		a.Lead()
		tick(t, a)
		if report {
			wantTable(t, a, map[string]string{"a": "10.0.0.1", "b": "10.0.0.1"})
			continue
		}
		wantTable(t, a, map[string]string{"a": "10.0.0.2", "b": "10.0.0.1"})
		if err := a.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
