package allocator_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
)

// TestTheLongestReleasedAreForgotten: of past owners as many are remembered as
// the configuration says, the last ones.
func TestTheLongestReleasedAreForgotten(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/28"), Cooldown: time.Hour, MaxRelease: anyRelease, Forget: 3}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "a", "b", "c", "d", "e", "f")))
	for _, name := range []string{"c", "a", "f", "b", "d"} {
		c.running += time.Minute
		apply(t, a, part(drop("m", name)))
	}
	all := map[string]string{"10.0.0.1": "a", "10.0.0.2": "b", "10.0.0.3": "c", "10.0.0.4": "d", "10.0.0.6": "f"}
	for range 6 { // none while it cools down
		c.running += 9 * time.Minute
		tick(t, a)
		if got := past(t, store); !maps.Equal(got, all) {
			t.Fatalf("remembered: %v, want %v", got, all)
		}
	}
	c.running += time.Hour
	tick(t, a)
	want := map[string]string{"10.0.0.2": "b", "10.0.0.4": "d", "10.0.0.6": "f"}
	if got := past(t, store); !maps.Equal(got, want) {
		t.Errorf("remembered: %v, want %v", got, want)
	}
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	if got := past(t, store); !maps.Equal(got, want) {
		t.Errorf("remembered: %v, want %v", got, want)
	}
	// Who is remembered gets its own back. What is forgotten is given out when
	// no address is left that was never used, and before what is remembered.
	apply(t, a, part(set("m", "a", "b")))
	if got := table(a); got["b"] != "10.0.0.2" || got["a"] != "10.0.0.7" {
		t.Errorf("the table is %v", got)
	}
	apply(t, a, part(set("m", names(9)...)))
	got := table(a)
	for i, at := range []string{"10.0.0.8", "10.0.0.9", "10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.14", "10.0.0.1", "10.0.0.3"} {
		if name := fmt.Sprintf("n-%03d", i); got[name] != at {
			t.Errorf("%s has %s, want %s", name, got[name], at)
		}
	}
}

// TestAsManyAreRememberedAsThereAreEntries, whatever the configuration says.
func TestAsManyAreRememberedAsThereAreEntries(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	a := open(t, store, c, allocator.Config{Layout: layout("10.0.0.0/24"), Cooldown: time.Minute, MaxRelease: anyRelease, Forget: 1})
	all := names(20)
	apply(t, a, full(set("m", all...)))
	gone := 0
	for _, tc := range []struct{ drop, want int }{{12, 8}, {4, 4}, {4, 1}} {
		apply(t, a, part(drop("m", all[gone:gone+tc.drop]...)))
		gone += tc.drop
		c.running += time.Hour
		tick(t, a)
		if got := len(past(t, store)); got != tc.want {
			t.Errorf("%d are remembered, want %d, with %d entries", got, tc.want, a.Stats().Entries)
		}
	}
}

// TestAForgottenAddressGoesToNobodyTwice, and to nobody's cost: a small pool is
// used up over and over again, and each address can be had each time.
func TestAForgottenAddressGoesToNobodyTwice(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29", "10.0.0.8/31"), Cooldown: time.Minute, MaxRelease: anyRelease, Forget: 1}
	a := open(t, store, c, cfg)
	var want []string
	for _, p := range cfg.Layout.Pools {
		for _, at := range inPool(p.Prefix) {
			want = append(want, at.String())
		}
	}
	slices.Sort(want)
	for round := range 10 {
		var fresh []string
		for i := range 9 {
			fresh = append(fresh, fmt.Sprintf("r%d-%d", round, i))
		}
		apply(t, a, full(set("m", fresh...)))
		c.running += time.Hour
		tick(t, a)
		var got []string
		for _, at := range table(a) {
			got = append(got, at)
		}
		slices.Sort(got)
		if fmt.Sprint(got[1:]) != fmt.Sprint(want) || got[0] != "" {
			t.Fatalf("round %d: got %q, want %q, and one to wait", round, got, want)
		}
		apply(t, a, full(set("m")))
		c.running += time.Hour
		tick(t, a)
		if n := len(past(t, store)); n != 1 {
			t.Fatalf("round %d: %d are remembered", round, n)
		}
		if round%2 == 0 {
			a = restart(t, a, store, c, cfg)
		}
	}
}

// TestForgettingThatFailsForgetsNothingElse.
func TestForgettingThatFailsForgetsNothingElse(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"before", "after"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{}
			a := open(t, store, c, allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Minute, MaxRelease: anyRelease, Forget: 1})
			apply(t, a, full(set("m", "a", "b", "c")))
			apply(t, a, part(drop("m", "c")))
			c.running++
			apply(t, a, part(drop("m", "b", "a")))
			c.running += time.Hour
			store.before, store.after = fault == "before", fault == "after"
			if err := a.Tick(t.Context()); !errors.Is(err, errFault) {
				t.Fatal(err)
			}
			// b and a went together: the lower address is forgotten first.
			want := map[string]string{"10.0.0.2": "b"}
			for range 2 {
				tick(t, a)
				if got := past(t, store); !maps.Equal(got, want) {
					t.Errorf("remembered: %v, want %v", got, want)
				}
			}
		})
	}
}

// TestWhatIsForgottenTakesNoSpace in the table's own count either.
func TestWhatIsForgottenTakesNoSpace(t *testing.T) {
	t.Parallel()
	c := &clock{}
	a := open(t, memstore.New(), c, allocator.Config{Layout: layout("10.0.0.0/24"), Cooldown: time.Minute, MaxRelease: anyRelease, Forget: 5})
	apply(t, a, full(set("m", names(50)...)))
	apply(t, a, full(set("m")))
	if u := a.Stats().Pools[0]; u.Released != 50 || u.Live != 0 {
		t.Errorf("%+v", u)
	}
	c.running += time.Hour
	tick(t, a)
	if u := a.Stats().Pools[0]; u.Released != 5 || u.Live != 0 {
		t.Errorf("%+v", u)
	}
}
