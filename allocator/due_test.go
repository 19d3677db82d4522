package allocator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// wantDue fails the test unless something is due in d, as near as a clock is
// that never stands still; "never": nothing is.
func wantDue(t testing.TB, a *allocator.Allocator, want any) {
	t.Helper()
	d, ok := a.Due()
	if w, is := want.(time.Duration); is && ok && (w-d).Abs() < time.Millisecond {
		return
	}
	if want == "never" && !ok {
		return
	}
	t.Errorf("due in %v, %v; want %v", d, ok, want)
}

// elapse lets time pass until what is due is done: when Tick is called then, and
// not before, table is want.
func elapse(t testing.TB, a *allocator.Allocator, c *clock, before, after map[string]string) {
	t.Helper()
	d, ok := a.Due()
	if !ok {
		t.Error("nothing is due")
	}
	c.running += d - time.Millisecond
	tick(t, a)
	wantTable(t, a, before)
	d, _ = a.Due()
	c.running += d + time.Microsecond // the table's clock is ahead by its commits
	tick(t, a)
	wantTable(t, a, after)
}

// TestWhoWaitsIsServedWhenItIsDue: what is due is the rest of the cooldown, in
// this process as in the next, and nothing is when nobody waits.
func TestWhoWaitsIsServedWhenItIsDue(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/30"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	wantDue(t, a, time.Duration(0)) // nobody has looked yet
	tick(t, a)
	wantDue(t, a, "never")
	apply(t, a, full(set("m", "a", "b", "c")))
	wantDue(t, a, "never") // c waits, and time alone does nothing for it
	c.running += time.Minute
	apply(t, a, part(drop("m", "a")))
	c.running += 10 * time.Minute
	apply(t, a, part(drop("m", "b")))
	wantDue(t, a, 50*time.Minute)
	c.running += 10 * time.Minute
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	wantDue(t, a, 40*time.Minute)
	elapse(t, a, c, map[string]string{"c": ""}, map[string]string{"c": "10.0.0.1"})
	wantDue(t, a, "never") // b's cools on, for nobody
	apply(t, a, part(set("m", "d")))
	wantDue(t, a, 10*time.Minute)
	elapse(t, a, c, map[string]string{"c": "10.0.0.1", "d": ""}, map[string]string{"c": "10.0.0.1", "d": "10.0.0.2"})
	// A longer cooldown, and a shorter one.
	apply(t, a, part(drop("m", "d")))
	apply(t, a, part(set("m", "e")))
	for _, d := range []time.Duration{2 * time.Hour, 5 * time.Minute} {
		cfg.Cooldown = d
		configure(t, a, cfg)
		wantDue(t, a, d)
	}
	elapse(t, a, c, map[string]string{"c": "10.0.0.1", "e": ""}, map[string]string{"c": "10.0.0.1", "e": "10.0.0.2"})
}

// TestEachFamilyIsDueByItself.
func TestEachFamilyIsDueByItself(t *testing.T) {
	t.Parallel()
	c := &clock{}
	a := open(t, memstore.New(), c, allocator.Config{Layout: layout("10.0.0.0/29", "fd00::/128"), Cooldown: time.Hour, MaxRelease: anyRelease})
	apply(t, a, full(set("m", "a", "b")))
	apply(t, a, part(drop("m", "a")))
	tick(t, a)
	wantDue(t, a, time.Hour)
	elapse(t, a, c, map[string]string{"b": "10.0.0.2"}, map[string]string{"b": "10.0.0.2 fd00::"})
	wantDue(t, a, "never")
}

// TestAStaticIsDueWhenItHasCooledDown, though all others of the pool are free.
func TestAStaticIsDueWhenItHasCooledDown(t *testing.T) {
	t.Parallel()
	c := &clock{}
	a := open(t, memstore.New(), c, allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease})
	apply(t, a, full(set("m", "old")))
	apply(t, a, part(drop("m", "old")))
	tick(t, a)
	wantDue(t, a, "never")
	apply(t, a, part(with("m", []vip.Request{asks("web", "10.0.0.1")})))
	wantDue(t, a, time.Hour)
	c.running += 30 * time.Minute
	wantDue(t, a, 30*time.Minute)
	elapse(t, a, c, map[string]string{"web": ""}, map[string]string{"web": "10.0.0.1"})
	wantDue(t, a, "never")
}

// TestWhoseStaticIsRefusedWaitsForAnyAddress: that it asks for one by name is no
// reason to let it wait longer.
func TestWhoseStaticIsRefusedWaitsForAnyAddress(t *testing.T) {
	t.Parallel()
	c := &clock{}
	a := open(t, memstore.New(), c, allocator.Config{Layout: layout("10.0.0.0/30"), Cooldown: time.Hour, MaxRelease: anyRelease})
	apply(t, a, full(set("m", "a", "b")))
	apply(t, a, part(drop("m", "b")))
	apply(t, a, part(with("m", []vip.Request{asks("web", "10.0.0.1")})))
	tick(t, a)
	wantDue(t, a, time.Hour)
	elapse(t, a, c, map[string]string{"a": "10.0.0.1", "web": ""}, map[string]string{"a": "10.0.0.1", "web": "10.0.0.2"})
}

// TestAMoveIsDueWhenItsAddressHasCooledDown: an entry that has an address waits
// for the one of its operator's choice; the plan to move it there is made by
// time alone.
func TestAMoveIsDueWhenItsAddressHasCooledDown(t *testing.T) {
	t.Parallel()
	c := &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a := open(t, memstore.New(), c, cfg)
	apply(t, a, full(set("m", "old", "web")))
	apply(t, a, part(drop("m", "old")))
	cfg.Layout.Statics = []allocator.Static{static("web", "10.0.0.1")}
	configure(t, a, cfg)
	wantMoves(t, a)
	wantDue(t, a, time.Hour)
	same := map[string]string{"web": "10.0.0.2"}
	elapse(t, a, c, same, same)
	cfg.Confirm = wantMoves(t, a, "web 10.0.0.2 10.0.0.1")
	wantDue(t, a, "never")
	configure(t, a, cfg)
	wantTable(t, a, map[string]string{"web": "10.0.0.1"})
	wantDue(t, a, "never")
}

// TestNothingIsDueAgainAndAgain: where Tick has done what it can, it is not
// called for at once. Each of these is a thing that looks as if it were free.
func TestNothingIsDueAgainAndAgain(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(a *allocator.Allocator, cfg allocator.Config){
		"one has an address, and another than it is to have": func(a *allocator.Allocator, _ allocator.Config) {
			apply(t, a, full(set("m", "a", "b", "c")))
			apply(t, a, part(with("m", []vip.Request{asks("b", "10.0.0.1")})))
			apply(t, a, part(drop("m", "c"))) // each Tick has the clock to write
		},
		"one waits for what is excluded": func(a *allocator.Allocator, cfg allocator.Config) {
			apply(t, a, full(set("m", names(6)...)))
			apply(t, a, part(drop("m", "n-000")))
			cfg.Layout.Pools[0].Exclude = ranges("10.0.0.1-10.0.0.1")
			configure(t, a, cfg)
			apply(t, a, part(with("m", []vip.Request{asks("b", "10.0.0.1")})))
		},
		"one waits for what the Corefile keeps for another": func(a *allocator.Allocator, cfg allocator.Config) {
			apply(t, a, full(set("m", names(6)...)))
			apply(t, a, part(drop("m", "n-000")))
			cfg.Layout.Statics = []allocator.Static{static("late", "10.0.0.1")}
			configure(t, a, cfg)
			apply(t, a, part(with("m", []vip.Request{asks("b", "10.0.0.1")})))
		},
		"one waits for what Kuma gives": func(a *allocator.Allocator, _ allocator.Config) {
			apply(t, a, full(set("m", names(6)...)))
			apply(t, a, part(drop("m", "n-000")))
			apply(t, a, part(with("m", []vip.Request{meshService("g", "10.0.0.1"), asks("b", "10.0.0.1")})))
		},
		"one waits, and the broadcast address of the pool is free": func(a *allocator.Allocator, cfg allocator.Config) {
			apply(t, a, full(set("m", names(6)...)))
			apply(t, a, part(drop("m", "n-002")))
			cfg.Layout = layout("10.0.0.0/30")
			configure(t, a, cfg)
			apply(t, a, part(set("m", "b")))
		},
		"one waits, and what is free is drained": func(a *allocator.Allocator, cfg allocator.Config) {
			apply(t, a, full(set("m", names(6)...)))
			apply(t, a, part(drop("m", "n-002")))
			cfg.Layout.Pools[0].Drain = true
			configure(t, a, cfg)
			apply(t, a, part(set("m", "b")))
		},
		"one should move, and has nowhere to go": func(a *allocator.Allocator, cfg allocator.Config) {
			apply(t, a, full(set("m", names(6)...)))
			cfg.Layout = layout("10.1.0.0/32")
			configure(t, a, cfg)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{}
			cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease}
			a := open(t, store, c, cfg)
			prepare(a, cfg)
			configured := a.Pools()[0].Prefix
			for i := range 130 {
				c.running += time.Minute
				tick(t, a)
				if d, ok := a.Due(); ok && d == 0 {
					t.Fatalf("after %d minutes a Tick is followed by the next: pool %v, table %v", i+1, configured, table(a))
				}
			}
			if d, ok := a.Due(); ok {
				t.Errorf("in the end something is still due, in %v", d)
			}
			commits := store.commits
			tick(t, a)
			if store.commits != commits {
				t.Error("in the end a Tick still writes")
			}
		})
	}
}

// TestWhatIsOverdueIsDueNow: the moment has passed, and nobody has ticked.
func TestWhatIsOverdueIsDueNow(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]vip.Request{"any": requests("web")[0], "static": asks("web", "10.0.0.1")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			a := open(t, memstore.New(), c, allocator.Config{Layout: layout("10.0.0.1/32"), Cooldown: time.Hour, MaxRelease: anyRelease})
			apply(t, a, full(set("m", "old")))
			apply(t, a, part(drop("m", "old")))
			apply(t, a, part(with("m", []vip.Request{r})))
			tick(t, a)
			for _, d := range []time.Duration{time.Hour, 30 * time.Minute, 0, 0} {
				wantDue(t, a, d)
				c.running += 30 * time.Minute
			}
			tick(t, a)
			wantTable(t, a, map[string]string{"web": "10.0.0.1"})
			wantDue(t, a, "never")
		})
	}
}

// TestWhatIsDueIsTheSameAfterARestart, whoever waits for whatever.
func TestWhatIsDueIsTheSameAfterARestart(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/30", "fd00::/127"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "a", "b")))
	for i, gone := range []string{"a", "b"} {
		c.running += time.Duration(i+1) * time.Minute
		apply(t, a, part(drop("m", gone)))
		apply(t, a, part(with("m", []vip.Request{asks("want-"+gone, "10.0.0.1", "fd00::1")}, "any-"+gone)))
		c.running += time.Minute
		tick(t, a)
		d, ok := a.Due()
		a = restart(t, a, store, c, cfg)
		tick(t, a)
		if e, still := a.Due(); !ok || !still || fmt.Sprint(d.Round(time.Second)) != fmt.Sprint(e.Round(time.Second)) {
			t.Errorf("due in %v, %v, and after a restart in %v, %v", d, ok, e, still)
		}
	}
}
