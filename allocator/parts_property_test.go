package allocator_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// failNth fails the nth commit from now on, before or after it is applied.
type failNth struct {
	*faulty
	n     int
	after bool
}

func (s *failNth) Commit(ctx context.Context, d allocator.Delta) error {
	s.n--
	s.before, s.faulty.after = s.n == 0 && !s.after, s.n == 0 && s.after
	return s.faulty.Commit(ctx, d)
}

// TestWhateverPartOfAChangeFailsLeaksNothing: changes are written a few rows at
// a time, and any of the transactions may fail, or only its answer. The table is
// sound after each, nobody moves whose move was not confirmed, no cooldown is cut
// short, and in the end every address can be had.
func TestWhateverPartOfAChangeFailsLeaksNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		store := &failNth{faulty: m.store}
		chunk := rapid.IntRange(1, 4).Draw(t, "rows of a transaction")
		var may []string // who may move in the step at hand
		reopen := func() {
			a, err := allocator.Open(context.Background(), store, m.cfg)
			if err != nil {
				t.Fatalf("opening: %v", err)
			}
			a.SetChunk(chunk)
			m.a, m.lost = a, false
		}
		reopen()
		do := func(t *rapid.T, change func() error) {
			store.n, store.after = rapid.IntRange(0, 6).Draw(t, "transaction that fails"), rapid.Bool().Draw(t, "after")
			err := change()
			store.n = 0
			if err != nil && !errors.Is(err, errFault) {
				t.Fatal(err)
			}
			m.lost = err != nil
		}
		tick := func() error { return m.a.Tick(context.Background()) }
		t.Repeat(map[string]func(*rapid.T){
			"apply": func(t *rapid.T) {
				b := someBatch().Draw(t, "batch")
				t.Logf("apply %s", batchText(b))
				do(t, func() error {
					_, err := m.a.Apply(context.Background(), b)
					return err
				})
			},
			"tick":    func(t *rapid.T) { do(t, tick) },
			"advance": m.advance,
			"configure": func(t *rapid.T) {
				m.cfg.Layout = someLayout().Draw(t, "layout")
				if err := m.a.Configure(m.cfg); err != nil {
					t.Fatal(err)
				}
			},
			"confirm": func(t *rapid.T) {
				// Let the plan be what it is when nothing is confirmed.
				m.cfg.Confirm = ""
				if err := m.a.Configure(m.cfg); err != nil {
					t.Fatal(err)
				}
				for range 2 { // the first may find out about a commit in doubt
					if err := tick(); err != nil {
						t.Fatal(err)
					}
				}
				may, m.cfg.Confirm = who(m.a.Moves().List, m.a.Moves().Stuck), m.a.Moves().Name
				if err := m.a.Configure(m.cfg); err != nil {
					t.Fatal(err)
				}
				do(t, tick)
				// A word that stands also moves who comes for the same reason later.
				m.cfg.Confirm = ""
				if err := m.a.Configure(m.cfg); err != nil {
					t.Fatal(err)
				}
			},
			"restart": func(*rapid.T) { reopen() },
			"": func(t *rapid.T) {
				before := m.all
				m.all = m.load(t)
				if err := allocator.Check(m.all); err != nil {
					t.Fatalf("the store: %v", err)
				}
				now := rowMap(m.all.Rows)
				for _, r := range before.Rows {
					s := now[r.Key()]
					if s == nil || len(s.Given()) > 0 {
						continue
					}
					for _, from := range r.Addrs() {
						if to := has(s, from.Is4()); to != from && !slices.Contains(may, r.Key().String()+" "+from.String()) {
							t.Fatalf("entry %v moved from %v to %v", r.Key(), from, to)
						}
					}
				}
				m.cooled(t, before)
				m.serialGrows(t, before)
				if !m.lost {
					if err := m.a.Verify(context.Background()); err != nil {
						t.Fatalf("Verify: %v", err)
					}
				}
			},
		})
		m.nothingLeaked(t)
	})
}

// TestAPartThatFailsLeavesNoHole: what the cursor has passed for the sake of a
// part that was never written can be had, in the process that saw it fail, too.
func TestAPartThatFailsLeavesNoHole(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]vip.Request{"a static": asks("z", "10.0.0.1"), "a gift": meshService("z", "10.0.0.1")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &failNth{faulty: &faulty{Store: memstore.New()}, n: 2}
			a, err := allocator.Open(t.Context(), store, allocator.Config{Layout: layout("10.0.0.0/30")})
			if err != nil {
				t.Fatal(err)
			}
			a.SetChunk(1)
			if _, err := a.Apply(t.Context(), full(with("m", []vip.Request{first}, "a"))); !errors.Is(err, errFault) {
				t.Fatal(err)
			}
			apply(t, a, part(set("m", "b")))
			wantTable(t, a, map[string]string{"a": "10.0.0.2", "b": "10.0.0.1"})
		})
	}
}
