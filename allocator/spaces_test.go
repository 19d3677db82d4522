package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// TestAnExcludedAddressIsNeverGivenOut, not to newcomers of an exhausted pool,
// not to those who ask for it, and not to its last owner.
func TestAnExcludedAddressIsNeverGivenOut(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Minute, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "a", "b", "c")))
	apply(t, a, part(drop("m", "b")))
	cfg.Layout.Pools[0].Exclude = ranges("10.0.0.2-10.0.0.2", "10.0.0.4-10.0.0.5")
	configure(t, a, cfg)
	want := map[string]string{"a": "10.0.0.1", "b": "10.0.0.6", "c": "10.0.0.3", "d": "", "e": ""}
	apply(t, a, part(with("m", []vip.Request{asks("e", "10.0.0.4")}, "b", "d")))
	wantTable(t, a, want)
	c.running += time.Hour
	tick(t, a)
	wantTable(t, a, want)
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	wantTable(t, a, want)
	// What is excluded no more goes to those who wait, the owner's not first: it
	// has another by now.
	cfg.Layout = layout("10.0.0.0/29")
	configure(t, a, cfg)
	want["d"], want["e"] = "10.0.0.5", "10.0.0.4"
	wantTable(t, a, want)
}

// TestAReservedAddressIsForStaticsOnly.
func TestAReservedAddressIsForStaticsOnly(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Minute, MaxRelease: anyRelease}
	cfg.Layout.Pools[0].Reserve = ranges("10.0.0.1-10.0.0.4")
	a := open(t, store, c, cfg)
	apply(t, a, full(with("m", []vip.Request{asks("s", "10.0.0.2")}, "a", "b", "c")))
	want := map[string]string{"a": "10.0.0.5", "b": "10.0.0.6", "c": "", "s": "10.0.0.2"}
	wantTable(t, a, want)
	// Without its tag, it stays where it is until somebody confirms its move.
	apply(t, a, part(set("m", "s")))
	wantTable(t, a, want)
	apply(t, a, part(drop("m", "s")))
	delete(want, "s")
	c.running += time.Hour
	tick(t, a)
	wantTable(t, a, want)
	// And comes back to another one, or none.
	apply(t, a, part(set("m", "s")))
	want["s"] = ""
	wantTable(t, a, want)
	apply(t, a, part(with("m", []vip.Request{asks("s", "10.0.0.2")})))
	want["s"] = "10.0.0.2"
	wantTable(t, a, want)
	wantTable(t, restart(t, a, store, c, cfg), want)
}

// TestADrainedPoolGivesNothingNewAndTakesItsOwnersBack.
func TestADrainedPoolGivesNothingNewAndTakesItsOwnersBack(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Minute, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "a", "b")))
	apply(t, a, part(drop("m", "b")))
	cfg.Layout = layout("10.0.0.0/29", "10.1.0.0/31")
	cfg.Layout.Pools[0].Drain = true
	a = restart(t, a, store, c, cfg)
	c.running += time.Hour
	apply(t, a, part(with("m", []vip.Request{asks("s", "10.0.0.6")}, "c", "d", "e")))
	want := map[string]string{"a": "10.0.0.1", "c": "10.1.0.0", "d": "10.1.0.1", "e": "", "s": "10.0.0.6"}
	wantTable(t, a, want)
	apply(t, a, part(set("m", "b")))
	want["b"] = "10.0.0.2"
	wantTable(t, a, want)
	if s := a.Stats(); s.Pending != 0 || len(s.Pools) != 2 || s.Pools[0].Retired {
		t.Errorf("stats %+v", s)
	}
	// Nothing moves out of it, and it stays when it is empty.
	apply(t, a, part(drop("m", "a", "b", "s")))
	c.running += time.Hour
	tick(t, a)
	tick(t, a)
	if got := a.Stats().Pools; len(got) != 2 || got[0].Live != 0 || got[0].Released != 3 {
		t.Errorf("pools %+v", got)
	}
	cfg.Layout.Pools[0].Drain = false
	configure(t, a, cfg)
	wantTable(t, a, map[string]string{"c": "10.1.0.0", "d": "10.1.0.1", "e": "10.0.0.3"})
}

// TestAdjoiningPoolsAreOneAfterTheOther: each gives out its own, to its end, and
// an address between two is in one of them.
func TestAdjoiningPoolsAreOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ pools, want []string }{
		{[]string{"10.0.0.0/30", "10.0.0.4/30"}, []string{"10.0.0.1", "10.0.0.2", "10.0.0.5", "10.0.0.6"}},
		{[]string{"10.0.0.4/30", "10.0.0.0/30"}, []string{"10.0.0.5", "10.0.0.6", "10.0.0.1", "10.0.0.2"}},
		{[]string{"10.0.0.0/31", "10.0.0.2/31"}, []string{"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"}},
		{[]string{"10.0.0.1/32", "10.0.0.2/32", "10.0.0.0/32"}, []string{"10.0.0.1", "10.0.0.2", "10.0.0.0"}},
		{[]string{"fd00::2/127", "fd00::/127"}, []string{"fd00::2", "fd00::3", "fd00::", "fd00::1"}},
		{[]string{"fd00::ffff/128", "fd00::1:0/126"}, []string{"fd00::ffff", "fd00::1:0", "fd00::1:1", "fd00::1:2", "fd00::1:3"}},
		{[]string{"0.0.0.0/1", "128.0.0.0/1"}, nil},
		{[]string{"::/1", "8000::/1"}, nil},
	} {
		t.Run(fmt.Sprint(tc.pools), func(t *testing.T) {
			t.Parallel()
			a := open(t, memstore.New(), nil, allocator.Config{Layout: layout(tc.pools...)})
			n := max(len(tc.want), 3)
			apply(t, a, full(set("m", names(n)...)))
			apply(t, a, part(set("m", "one-too-many")))
			var got []string
			for _, r := range a.Rows() {
				for _, at := range r.Addrs() {
					got = append(got, at.String())
				}
			}
			if tc.want != nil && !slices.Equal(got, tc.want) || tc.want == nil && len(got) != n+1 {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestANewPoolMayOverlapTheOneThatItReplaces: what lies in both is where it
// should be, and nobody gets an address that somebody has in the old one.
func TestANewPoolMayOverlapTheOneThatItReplaces(t *testing.T) {
	t.Parallel()
	for _, pools := range [][2]string{{"10.0.0.0/28", "10.0.0.0/29"}, {"10.0.0.0/29", "10.0.0.0/28"}, {"10.0.0.0/28", "10.0.0.8/29"}} {
		t.Run(fmt.Sprint(pools), func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{}
			cfg := allocator.Config{Layout: layout(pools[0]), Cooldown: time.Minute, MaxRelease: anyRelease}
			a := open(t, store, c, cfg)
			old := names(20)
			apply(t, a, full(set("m", old[:10]...)))
			want := table(a)
			for range 2 {
				cfg.Layout = layout(pools[1])
				configure(t, a, cfg)
				for name, at := range want {
					if got := table(a)[name]; at != "" && got != at {
						t.Errorf("%s moved from %s to %s", name, at, got)
					}
				}
				apply(t, a, part(set("m", old...)))
				apply(t, a, part(drop("m", old[1], old[5])))
				c.running += time.Hour
				tick(t, a)
				a = restart(t, a, store, c, cfg)
				want = table(a)
				pools[0], pools[1] = pools[1], pools[0]
			}
			// In the end all of both that is free has been given out.
			configure(t, a, cfg)
			apply(t, a, part(set("m", names(40)...)))
			had := make(map[string]bool)
			for _, at := range table(a) {
				had[at] = true
			}
			for _, at := range inPool(cfg.Layout.Pools[0].Prefix) {
				if !had[at.String()] {
					t.Errorf("nobody has %v", at)
				}
			}
		})
	}
}

// TestAReloadGivesThoseWhoWaitTheirOwn, whatever else it changes: the options
// that answers depend on, which are written first, or the cooldown.
func TestAReloadGivesThoseWhoWaitTheirOwn(t *testing.T) {
	t.Parallel()
	for name, reload := range map[string]func(a *allocator.Allocator, cfg *allocator.Config) error{
		"a range is no longer excluded, and options change": func(a *allocator.Allocator, cfg *allocator.Config) error {
			cfg.Layout = layout("10.0.0.0/30")
			return errors.Join(a.Configure(*cfg), a.SetOptions(context.Background(), "others"))
		},
		"the cooldown is longer, and an address is not up for another yet": func(a *allocator.Allocator, cfg *allocator.Config) error {
			cfg.Layout.Pools[0].Exclude = nil
			cfg.Layout.Statics = []allocator.Static{static("late", "10.0.0.2")}
			cfg.Cooldown = 0
			if err := errors.Join(a.Configure(*cfg), a.Tick(context.Background())); err != nil {
				return err
			}
			wantTable(t, a, map[string]string{"a": "10.0.0.1", "b": ""})
			cfg.Cooldown = 2 * time.Hour
			return a.Configure(*cfg)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := allocator.Config{Layout: layout("10.0.0.0/30"), Cooldown: time.Hour, MaxRelease: anyRelease}
			a := open(t, memstore.New(), &clock{}, cfg)
			apply(t, a, full(set("m", "a", "b")))
			apply(t, a, part(drop("m", "b")))
			cfg.Layout.Pools[0].Exclude = ranges("10.0.0.2-10.0.0.2")
			configure(t, a, cfg)
			apply(t, a, part(set("m", "b")))
			wantTable(t, a, map[string]string{"a": "10.0.0.1", "b": ""})
			if err := reload(a, &cfg); err != nil {
				t.Fatal(err)
			}
			tick(t, a)
			wantTable(t, a, map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"})
		})
	}
}

// TestAFullReserveLeavesThePoolExhausted: a pool all of which is reserved or
// excluded gives nothing out, and holds no cursor up.
func TestAFullReserveLeavesThePoolExhausted(t *testing.T) {
	t.Parallel()
	l := layout("10.0.0.0/29", "fd00::/64", "10.0.1.0/30")
	l.Pools[0].Exclude, l.Pools[0].Reserve = ranges("10.0.0.0-10.0.0.3"), ranges("10.0.0.4-10.0.0.7")
	l.Pools[1].Exclude = ranges("fd00::-fd00::ffff:ffff:ffff:fffe")
	a := open(t, memstore.New(), nil, allocator.Config{Layout: l})
	apply(t, a, full(with("m", []vip.Request{asks("s", "10.0.0.6")}, "a", "b", "c")))
	wantTable(t, a, map[string]string{"a": "10.0.1.1 fd00::ffff:ffff:ffff:ffff", "b": "10.0.1.2", "c": "", "s": "10.0.0.6"})
}

// TestAHugeRangeThatIsExcludedNoMoreIsGivenOut, from its beginning, in this
// process as in the next, though the pool's cursor is at the end of the world.
func TestAHugeRangeThatIsExcludedNoMoreIsGivenOut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ pool, last string }{
		{"fd00::/64", "fd00::ffff:ffff:ffff:ffff"},
		{"::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"fd00::/65", "fd00::7fff:ffff:ffff:ffff"},
		{"10.0.0.0/8", "10.255.255.254"},
	} {
		t.Run(tc.pool, func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{}
			cfg := allocator.Config{Layout: layout(tc.pool), Cooldown: time.Hour, MaxRelease: anyRelease}
			pool, last := cfg.Layout.Pools[0].Prefix, addr(tc.last)
			first := pool.Addr()
			if first.Is4() {
				first = first.Next()
			}
			cfg.Layout.Pools[0].Exclude = []netipx.IPRange{netipx.IPRangeFrom(pool.Addr(), last.Prev())}
			a := open(t, store, c, cfg)
			apply(t, a, full(set("m", "a", "b")))
			want := map[string]string{"a": last.String(), "b": ""}
			wantTable(t, a, want)
			// All but one address in the middle, too.
			middle := first.Next().Next()
			cfg.Layout.Pools[0].Exclude = []netipx.IPRange{netipx.IPRangeFrom(middle, middle)}
			configure(t, a, cfg)
			apply(t, a, part(set("m", "c")))
			want["b"], want["c"] = first.String(), first.Next().String()
			wantTable(t, a, want)
			a = restart(t, a, store, c, cfg)
			apply(t, a, part(set("m", "d")))
			want["d"] = middle.Next().String()
			wantTable(t, a, want)
			cfg.Layout.Pools[0].Exclude = nil
			configure(t, a, cfg)
			apply(t, a, part(set("m", "e", "f")))
			want["e"], want["f"] = middle.String(), middle.Next().Next().String()
			wantTable(t, a, want)
		})
	}
}

// TestRangesThatCannotBeAreNamed.
func TestRangesThatCannotBeAreNamed(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(r *allocator.Range){
		"range 10.0.0.6-10.0.0.9 does not lie in pool 10.0.0.0/29": func(r *allocator.Range) { r.Exclude = ranges("10.0.0.6-10.0.0.9") },
		"range 10.1.0.1-10.1.0.1 does not lie in pool 10.0.0.0/29": func(r *allocator.Range) { r.Reserve = ranges("10.1.0.1-10.1.0.1") },
		"range fd00::-fd00::1 does not lie in pool 10.0.0.0/29":    func(r *allocator.Range) { r.Exclude = ranges("fd00::-fd00::1") },
		"excludes 10.0.0.1-10.0.0.3 and reserves 10.0.0.3-10.0.0.4, which overlap": func(r *allocator.Range) {
			r.Exclude, r.Reserve = ranges("10.0.0.1-10.0.0.3"), ranges("10.0.0.3-10.0.0.4")
		},
		"": func(r *allocator.Range) {
			r.Exclude, r.Reserve = ranges("10.0.0.0-10.0.0.3", "10.0.0.2-10.0.0.2"), ranges("10.0.0.4-10.0.0.7")
		},
	} {
		l := layout("10.0.0.0/29")
		spoil(&l.Pools[0])
		wantErr(t, l.Check(), want)
	}
}
