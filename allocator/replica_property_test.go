package allocator_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// replicas are two over one store, of which one leads at a time.
type replicas struct {
	store *watchedBounded
	clock clock
	cfg   allocator.Config
	// of both: leads says which of them allocates.
	a     [2]*allocator.Allocator
	told  [2]map[vip.Key]*vip.Row
	moves [2][]allocator.Move
	leads int
	// patches are those that the follower has not seen; missed: it lacks some
	// before them.
	patches []allocator.Patch
	missed  bool
	// reread: one has read the table again, and may tell of one move where the other
	// told of two.
	reread bool
}

// watchedBounded tells of each commit that is made, also where its reply is lost.
type watchedBounded struct {
	*bounded
	tell func(allocator.Delta)
}

func (s *watchedBounded) Commit(ctx context.Context, d allocator.Delta) error {
	before := s.commits
	err := s.bounded.Commit(ctx, d)
	if s.commits > before {
		s.tell(d)
	}
	return err
}

func newReplicas(t *rapid.T) *replicas {
	r := &replicas{store: &watchedBounded{bounded: newBounded(someLimits().Draw(t, "limits"))}, clock: clock{wall: time.Unix(1e9, 0)}}
	r.store.tell = func(d allocator.Delta) {
		state, err := r.store.Load(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := allocator.Check(state); err != nil {
			t.Fatalf("after the commit of revision %d: %v", d.Meta.Revision, err)
		}
		r.patches = append(r.patches, patchOf(d))
	}
	r.cfg = allocator.Config{
		Layout: someLayout().Draw(t, "layout"), Cooldown: someCooldown().Draw(t, "cooldown"), MaxRelease: anyRelease,
		Forget:  rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "forget"),
		Now:     func() time.Time { return r.clock.wall },
		Running: func() time.Duration { return r.clock.running },
	}
	for i := range r.a {
		r.told[i] = make(map[vip.Key]*vip.Row)
		cfg := r.cfg
		cfg.Follows = i > 0
		cfg.OnCommit = func(c allocator.Commit) {
			for _, row := range c.Rows {
				if delete(r.told[i], row.Key); row.New != nil {
					r.told[i][row.Key] = row.New
				}
			}
			r.moves[i] = append(r.moves[i], c.Moves...)
		}
		a, err := allocator.Open(context.Background(), r.store, cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.a[i] = a
	}
	return r
}

func (r *replicas) leader() *allocator.Allocator   { return r.a[r.leads] }
func (r *replicas) follower() *allocator.Allocator { return r.a[1-r.leads] }

// change lets the leader write, and perhaps fail on the way; then it stands down,
// or goes on.
func (r *replicas) change(t *rapid.T, write func(a *allocator.Allocator) error) {
	r.store.n, r.store.after = rapid.IntRange(0, 8).Draw(t, "transaction that fails"), rapid.Bool().Draw(t, "after")
	err := write(r.leader())
	r.store.n = 0
	switch {
	case err == nil:
	case !errors.Is(err, errFault):
		t.Fatal(err)
	case rapid.Bool().Draw(t, "stands down"):
		r.fail(t)
	default:
		if err := r.leader().Tick(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// fail lets the leader stand down, and read the table again, and the other lead.
func (r *replicas) fail(t *rapid.T) {
	r.catchUp(t)
	r.leader().StandDown()
	if err := r.leader().Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.leads = 1 - r.leads
	r.leader().Lead()
	if r.leader().Follows() || !r.follower().Follows() {
		t.Fatal("the roles are not what they should be")
	}
	r.configure(t)
}

// catchUp shows the follower what it has not seen, or lets it read the table.
func (r *replicas) catchUp(t *rapid.T) {
	f := r.follower()
	for i, p := range r.patches {
		err := f.Follow(p)
		if r.missed && i == 0 {
			if !errors.Is(err, allocator.ErrConflict) {
				t.Fatalf("follows revision %d without the one before: %v", p.Meta.Revision, err)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if r.missed {
		if err := f.Reload(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	r.patches, r.missed, r.reread = nil, false, r.reread || r.missed
}

// miss lets the follower not see what was committed last.
func (r *replicas) miss(*rapid.T) {
	r.missed = r.missed || len(r.patches) > 0
	r.patches = nil
}

func (r *replicas) configure(t *rapid.T) {
	for _, a := range r.a {
		if err := a.Configure(r.cfg); err != nil {
			t.Fatal(err)
		}
	}
}

// check: the follower shows what the leader does, told of all of it, and of the
// same moves.
func (r *replicas) check(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "lags") == 0 {
		return
	}
	r.catchUp(t)
	var text [2]string
	for i, a := range r.a {
		s, err := a.State(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Verify(context.Background()); err != nil {
			t.Fatalf("replica %d: %v", i, err)
		}
		s.Meta.Clock = 0
		text[i] = describeState(s)
		if now := rowMap(a.Rows()); !sameRows(now, r.told[i]) {
			t.Fatalf("replica %d told of %v, and has %v", i, r.told[i], now)
		}
	}
	if text[0] != text[1] {
		t.Fatalf("the replicas differ:\n%s\n%s", text[0], text[1])
	}
	if got, want := r.follower().Pools(), r.load(t).Meta.Pools; !slices.Equal(got, want) {
		t.Fatalf("a follower shows the pools %v, want %v", got, want)
	}
	if got, want := whither(r.moves[0]), whither(r.moves[1]); !r.reread && !slices.Equal(got, want) {
		t.Fatalf("the replicas told of the moves %v and %v", got, want)
	}
	for _, m := range slices.Concat(r.moves[0], r.moves[1]) {
		if m.Why == "" {
			t.Fatalf("%v is told without a reason", m)
		}
	}
	r.moves = [2][]allocator.Move{}
}

func (r *replicas) load(t *rapid.T) allocator.State {
	s, err := r.store.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEveryReplicaShowsTheSameTable: whichever leads, whatever part of a change
// fails, and whatever a follower misses.
func TestEveryReplicaShowsTheSameTable(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	for i := range rounds {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				r := newReplicas(t)
				apply := func(t *rapid.T) {
					b := someBatch().Draw(t, "batch")
					t.Logf("apply %s", batchText(b))
					r.change(t, func(a *allocator.Allocator) error {
						_, err := a.Apply(context.Background(), b)
						return err
					})
				}
				t.Repeat(map[string]func(*rapid.T){
					"apply": apply, "apply2": apply, "apply3": apply,
					"tick": func(t *rapid.T) {
						r.change(t, func(a *allocator.Allocator) error { return a.Tick(context.Background()) })
					},
					"options": func(t *rapid.T) {
						options := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "options")
						r.change(t, func(a *allocator.Allocator) error { return a.SetOptions(context.Background(), options) })
					},
					"configure": func(t *rapid.T) {
						r.cfg.Layout, r.cfg.Confirm = someLayout().Draw(t, "layout"), ""
						r.configure(t)
					},
					"confirm": func(t *rapid.T) {
						r.cfg.Confirm = r.leader().Moves().Name
						r.configure(t)
						r.change(t, func(a *allocator.Allocator) error { return a.Tick(context.Background()) })
					},
					"advance": func(t *rapid.T) {
						d := rapid.SampledFrom([]time.Duration{1, time.Second, time.Minute, time.Hour}).Draw(t, "time")
						r.clock.running += d
						r.clock.wall = r.clock.wall.Add(d)
					},
					"fail": r.fail, "miss": r.miss, "": r.check,
				})
			})
		})
	}
}
