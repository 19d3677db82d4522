package allocator_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// upset is a table of which a new configuration puts something out of place: in
// a pool that it takes away, in an excluded and in a reserved range, at the
// static address of another, and of an entry that is to be elsewhere.
func upset(t *testing.T) (a *allocator.Allocator, store *faulty, c *clock, cfg allocator.Config, before map[string]string) {
	t.Helper()
	store, c = &faulty{Store: memstore.New()}, &clock{}
	cfg = allocator.Config{Layout: layout("10.0.0.0/28", "10.1.0.0/30"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a = open(t, store, c, cfg)
	apply(t, a, full(with("m", []vip.Request{asks("y", "10.1.0.1"), asks("z", "10.1.0.2")}, "a", "b", "c", "d", "e", "f")))
	before = map[string]string{
		"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3", "d": "10.0.0.4", "e": "10.0.0.5", "f": "10.0.0.6", "y": "10.1.0.1", "z": "10.1.0.2",
	}
	wantTable(t, a, before)
	apply(t, a, part(drop("m", "z")))
	delete(before, "z")
	cfg.Layout = layout("10.0.0.0/28")
	cfg.Layout.Pools[0].Exclude, cfg.Layout.Pools[0].Reserve = ranges("10.0.0.2-10.0.0.2"), ranges("10.0.0.3-10.0.0.3")
	cfg.Layout.Statics = []allocator.Static{static("d", "10.0.0.12"), static("later", "10.0.0.5")}
	return a, store, c, cfg, before
}

// wantUpset are the moves that upset's configuration makes right.
var wantUpset = []string{
	"b 10.0.0.2 10.0.0.7", "c 10.0.0.3 10.0.0.8", "d 10.0.0.4 10.0.0.12", "e 10.0.0.5 10.0.0.9", "y 10.1.0.1 10.0.0.10",
}

// TestNothingMovesUntilItIsConfirmed: loading a configuration moves nothing. The
// plan is told, with its name, and is the same after a restart; batches and time
// leave all where it is.
func TestNothingMovesUntilItIsConfirmed(t *testing.T) {
	t.Parallel()
	a, store, c, cfg, before := upset(t)
	log, logger := logTo()
	cfg.Logger = logger
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	wantTable(t, a, before)
	name := wantMoves(t, a, wantUpset...)
	wantLog(t, log, `put the line \"confirm `+name+`\" into the meshvip`, "level=WARN",
		"entry=0:b from=10.0.0.2 to=10.0.0.7", "10.0.0.2-10.0.0.2 is excluded", "10.0.0.3-10.0.0.3 is reserved for static addresses",
		"its static address is 10.0.0.12", "10.0.0.5 is the static address of 0:later", "pool 10.1.0.0/30 is no longer configured")
	if strings.Contains(log.String(), "entry=0:a ") || strings.Contains(log.String(), "entry=0:f ") {
		t.Errorf("one who may stay is told of:\n%s", log)
	}
	log.Reset()
	for range 3 {
		c.running += time.Hour
		tick(t, a)
		apply(t, a, full(with("m", []vip.Request{asks("y", "10.1.0.1")}, "a", "b", "c", "d", "e", "f")))
	}
	wantTable(t, a, before)
	if got := a.Moves().Name; got != name || strings.Contains(log.String(), "would move") {
		t.Errorf("the plan is %s, was %s, and is told again:\n%s", got, name, log)
	}
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	if got := wantMoves(t, a, wantUpset...); got != name {
		t.Errorf("after a restart the plan is %s, was %s", got, name)
	}
	if g := a.Stats().Meta.Generation; g != 0 {
		t.Errorf("generation %d", g)
	}
}

// TestAConfirmedPlanMovesJustItsRows: each is told with both addresses, the old
// ones cool down with their owners, and the pool that was taken away goes.
func TestAConfirmedPlanMovesJustItsRows(t *testing.T) {
	t.Parallel()
	a, store, c, cfg, before := upset(t)
	log, logger := logTo()
	var told []string
	cfg.Logger = logger
	cfg.OnCommit = func(c allocator.Commit) {
		for _, m := range c.Moves {
			if m.Why == "" {
				t.Errorf("%v has no reason", m)
			}
		}
		told = append(told, movesText(c.Moves)...)
	}
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	serial := a.Stats().Meta.Serial
	cfg.Confirm = wantMoves(t, a, wantUpset...)
	configure(t, a, cfg)
	if fmt.Sprint(told) != fmt.Sprint(wantUpset) {
		t.Errorf("told of %q, want %q", told, wantUpset)
	}
	after := maps.Clone(before)
	for _, move := range wantUpset {
		f := strings.Fields(move)
		after[f[0]] = f[2]
		wantLog(t, log, fmt.Sprintf("msg=moved entry=0:%s from=%s to=%s", f[0], f[1], f[2]))
	}
	wantTable(t, a, after)
	wantMoves(t, a)
	if s := a.Stats(); s.Meta.Generation != 1 || len(s.Pools) != 1 || s.Meta.Serial <= serial || s.Pools[0].Live != 7 {
		t.Errorf("stats %+v", s)
	}
	// The old addresses are their owners'. That of e is kept for another.
	s, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	past := make(map[string]string)
	for _, h := range s.Addrs {
		if h.Released {
			past[h.Addr.String()] = h.Owner.Name
		}
	}
	if want := map[string]string{"10.0.0.2": "b", "10.0.0.3": "c", "10.0.0.4": "d", "10.0.0.5": "e", "10.1.0.1": "y", "10.1.0.2": "z"}; !maps.Equal(past, want) {
		t.Errorf("cooling down: %v, want %v", past, want)
	}
	apply(t, a, part(set("m", "later", "new")))
	after["later"], after["new"] = "", "10.0.0.11"
	wantTable(t, a, after)
	a = restart(t, a, store, c, cfg)
	c.running += 2 * time.Hour
	tick(t, a)
	after["later"] = "10.0.0.5"
	wantTable(t, a, after)
	// The word is given once: the same line does nothing the next time.
	cfg.Layout.Pools[0].Exclude = ranges("10.0.0.7-10.0.0.7")
	configure(t, a, cfg)
	wantTable(t, a, after)
	wantMoves(t, a, "b 10.0.0.7 10.0.0.13")
}

// TestAnotherNameMovesNothing: a wrong one, one of yesterday, and one of a plan
// that has become another meanwhile.
func TestAnotherNameMovesNothing(t *testing.T) {
	t.Parallel()
	a, store, c, cfg, before := upset(t)
	log, logger := logTo()
	cfg.Logger = logger
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	name := wantMoves(t, a, wantUpset...)
	for _, wrong := range []string{"0-00000000", "1" + name[1:], name + "0", strings.ToUpper(name) + "x", "yes", "18446744073709551616-0"} {
		log.Reset()
		cfg.Confirm = wrong
		configure(t, a, cfg)
		wantTable(t, a, before)
		wantLog(t, log, "confirm names another plan than the one that waits, and is not followed", "confirm="+wrong, "plan="+name)
		if got := wantMoves(t, a, wantUpset...); got != name {
			t.Errorf("the plan is %s, was %s", got, name)
		}
	}
	// The configuration has changed since the operator read the plan.
	cfg.Confirm = name
	cfg.Layout.Pools[0].Exclude = ranges("10.0.0.1-10.0.0.2")
	configure(t, a, cfg)
	wantTable(t, a, before)
	other := a.Moves().Name
	if other == name || len(a.Moves().List) != 6 {
		t.Errorf("the plan is %v", a.Moves())
	}
	cfg.Confirm = other
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	if moved := table(a); moved["a"] == before["a"] || moved["f"] != before["f"] {
		t.Errorf("the table is %v", moved)
	}
	// An old word that has done its work is not complained of.
	log.Reset()
	cfg.Layout.Statics = append(cfg.Layout.Statics, static("f", "10.0.0.13"))
	configure(t, a, cfg)
	if strings.Contains(log.String(), "is not followed") || len(a.Moves().List) != 1 {
		t.Errorf("would move %v:\n%s", a.Moves().List, log)
	}
}

// TestAPlanKeepsItsNameWhileRowsComeAndGo: what is confirmed is what the
// configuration means, not who happens to be there.
func TestAPlanKeepsItsNameWhileRowsComeAndGo(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/28"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "a", "b", "c")))
	cfg.Layout = layout("10.1.0.0/28")
	configure(t, a, cfg)
	name := wantMoves(t, a, "a 10.0.0.1 10.1.0.1", "b 10.0.0.2 10.1.0.2", "c 10.0.0.3 10.1.0.3")
	apply(t, a, part(drop("m", "b")))
	apply(t, a, part(set("m", "new")))
	tick(t, a)
	if got := wantMoves(t, a, "a 10.0.0.1 10.1.0.2", "c 10.0.0.3 10.1.0.3"); got != name {
		t.Errorf("the plan is %s, was %s", got, name)
	}
	cfg.Confirm = name
	configure(t, a, cfg)
	wantTable(t, a, map[string]string{"a": "10.1.0.2", "c": "10.1.0.3", "new": "10.1.0.1"})
	// All have left: nothing waits.
	configure(t, a, allocator.Config{Layout: layout("10.2.0.0/28"), Cooldown: time.Hour, MaxRelease: anyRelease})
	wantMoves(t, a, "a 10.1.0.2 10.2.0.1", "c 10.1.0.3 10.2.0.2", "new 10.1.0.1 10.2.0.3")
	apply(t, a, full(set("m")))
	tick(t, a)
	wantMoves(t, a)
}

// TestARangeThatShrinksMovesOnlyWhatLiesOutside: a restart with another range,
// and the word for it.
func TestARangeThatShrinksMovesOnlyWhatLiesOutside(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/28"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", names(10)...)))
	before := table(a)
	cfg.Layout = layout("10.0.0.0/29", "10.1.0.0/28")
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	wantTable(t, a, before)
	// .7 is the broadcast address of the new range: who has it keeps it.
	cfg.Confirm = wantMoves(t, a, "n-007 10.0.0.8 10.1.0.1", "n-008 10.0.0.9 10.1.0.2", "n-009 10.0.0.10 10.1.0.3")
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	before["n-007"], before["n-008"], before["n-009"] = "10.1.0.1", "10.1.0.2", "10.1.0.3"
	wantTable(t, a, before)
}

// TestWhatThePoolsCannotTakeStaysAndIsTold.
func TestWhatThePoolsCannotTakeStaysAndIsTold(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	log, logger := logTo()
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease, Logger: logger}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "a", "b", "c")))
	cfg.Layout = layout("10.1.0.0/31")
	configure(t, a, cfg)
	cfg.Confirm = wantMoves(t, a, "a 10.0.0.1 10.1.0.0", "b 10.0.0.2 10.1.0.1")
	wantLog(t, log, "the pools have no address for them: add a pool", "entries=1", "first=0:c")
	configure(t, a, cfg)
	want := map[string]string{"a": "10.1.0.0", "b": "10.1.0.1", "c": "10.0.0.3"}
	wantTable(t, a, want)
	if m := a.Moves(); len(m.Stuck) != 1 || m.Stuck[0].Key.Name != "c" || len(a.Pools()) != 2 {
		t.Errorf("stuck: %v, pools %v", m.Stuck, a.Pools())
	}
	cfg.Layout = layout("10.1.0.0/31", "10.2.0.0/31")
	configure(t, a, cfg)
	cfg.Confirm = wantMoves(t, a, "c 10.0.0.3 10.2.0.0")
	configure(t, a, cfg)
	want["c"] = "10.2.0.0"
	wantTable(t, a, want)
	if len(a.Pools()) != 2 {
		t.Errorf("pools %v", a.Pools())
	}
}

// TestAPlanWhoseCommitFailsIsCarriedOutOnce: before it is durable nobody has
// moved, and after it is nobody moves again.
func TestAPlanWhoseCommitFailsIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"before", "after"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			a, store, c, cfg, before := upset(t)
			a = restart(t, a, store, c, cfg)
			tick(t, a)
			cfg.Confirm = a.Moves().Name
			if err := a.Configure(cfg); err != nil {
				t.Fatal(err)
			}
			store.before, store.after = fault == "before", fault == "after"
			if err := a.Tick(t.Context()); !errors.Is(err, errFault) {
				t.Fatal(err)
			}
			wantTable(t, a, before)
			for range 3 {
				tick(t, a)
			}
			if s := a.Stats(); s.Meta.Generation != 1 || s.Pending != 0 {
				t.Errorf("stats %+v", s)
			}
			if got := table(a); got["b"] != "10.0.0.7" || got["a"] != "10.0.0.1" {
				t.Errorf("the table is %v", got)
			}
		})
	}
}

// TestALargePlanMovesInParts: each is sound, and together they are the plan.
func TestALargePlanMovesInParts(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/24"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", names(100)...)))
	cfg.Layout = layout("10.1.0.0/24")
	configure(t, a, cfg)
	a.SetChunk(7)
	cfg.Confirm = a.Moves().Name
	commits := store.commits
	configure(t, a, cfg)
	for i, name := range names(100) {
		if got, want := table(a)[name], fmt.Sprintf("10.1.0.%d", i+1); got != want {
			t.Fatalf("%s has %s, want %s", name, got, want)
		}
	}
	if s := a.Stats(); s.Meta.Generation != 1 || len(s.Pools) != 1 || store.commits-commits != 15 {
		t.Errorf("%d commits, stats %+v", store.commits-commits, s)
	}
}

// TestStaticsMoveFirst: who could go anywhere does not take the place that another
// asks for, though its key is smaller.
func TestStaticsMoveFirst(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.1.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a := open(t, memstore.New(), &clock{}, cfg)
	apply(t, a, full(with("m", []vip.Request{asks("y", "10.0.0.2"), asks("z", "10.0.0.1")}, "a", "b")))
	cfg.Layout = layout("10.0.0.0/29")
	configure(t, a, cfg)
	cfg.Confirm = wantMoves(t, a, "a 10.1.0.1 10.0.0.3", "b 10.1.0.2 10.0.0.4", "y 10.1.0.3 10.0.0.2", "z 10.1.0.4 10.0.0.1")
	configure(t, a, cfg)
	wantTable(t, a, map[string]string{"a": "10.0.0.3", "b": "10.0.0.4", "y": "10.0.0.2", "z": "10.0.0.1"})
}

// TestTwoThatWantEachOthersAddress: by their tags they stay, for neither takes
// an address from anybody. By the Corefile they are exchanged in steps, each of
// which is confirmed, and no address goes over without its cooldown.
func TestTwoThatWantEachOthersAddress(t *testing.T) {
	t.Parallel()
	c := &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a := open(t, memstore.New(), c, cfg)
	apply(t, a, full(set("m", "a", "b")))
	apply(t, a, full(with("m", []vip.Request{asks("a", "10.0.0.2"), asks("b", "10.0.0.1")})))
	tick(t, a)
	want := map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"}
	wantTable(t, a, want)
	wantMoves(t, a)
	if n := a.Stats().Refused; n != 2 {
		t.Errorf("%d statics are refused, want 2", n)
	}
	cfg.Layout.Statics = []allocator.Static{static("a", "10.0.0.2"), static("b", "10.0.0.1")}
	configure(t, a, cfg)
	for _, step := range []string{"a 10.0.0.1 10.0.0.3", "b 10.0.0.2 10.0.0.1", "a 10.0.0.3 10.0.0.2"} {
		cfg.Confirm = wantMoves(t, a, step)
		configure(t, a, cfg)
		f := strings.Fields(step)
		want[f[0]] = f[2]
		wantTable(t, a, want)
		wantMoves(t, a)
		c.running += time.Hour + time.Second
		tick(t, a) // nobody asks for it: it is time's doing
	}
	if n := a.Stats().Refused; n != 0 {
		t.Errorf("%d statics are refused", n)
	}
}
