package allocator_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
)

// TestAStaleTimerNeverFreesAnAddress that was taken back by its owner, or given
// to another, since it was released: the cooldown that counts is that of the
// last release, and none counts while somebody has the address.
func TestAStaleTimerNeverFreesAnAddress(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("restarts: ", again), func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{}
			cfg := allocator.Config{Layout: layout("10.0.0.1/32"), Cooldown: time.Hour, MaxRelease: anyRelease, Forget: 1}
			a := open(t, store, c, cfg)
			after := func(d time.Duration, want map[string]string) {
				t.Helper()
				c.running += d
				tick(t, a)
				wantTable(t, a, want)
				if again {
					a = restart(t, a, store, c, cfg)
					tick(t, a)
					wantTable(t, a, want)
				}
			}
			apply(t, a, full(set("m", "a")))
			apply(t, a, part(drop("m", "a"))) // 0:00
			apply(t, a, part(set("m", "b")))
			after(50*time.Minute, map[string]string{"b": ""})
			apply(t, a, part(set("m", "a"))) // 0:50, it is back
			after(20*time.Minute, map[string]string{"a": "10.0.0.1", "b": ""})
			apply(t, a, part(drop("m", "a"))) // 1:10
			after(50*time.Minute, map[string]string{"b": ""})
			after(9*time.Minute, map[string]string{"b": ""})
			after(2*time.Minute, map[string]string{"b": "10.0.0.1"}) // 2:11
			// It is b's now. Whatever a had left of it is void.
			apply(t, a, part(set("m", "a")))
			after(3*time.Hour, map[string]string{"a": "", "b": "10.0.0.1"})
			apply(t, a, part(drop("m", "b"))) // 5:11
			after(59*time.Minute, map[string]string{"a": ""})
			apply(t, a, part(set("m", "b")))
			after(2*time.Minute, map[string]string{"a": "", "b": "10.0.0.1"})
		})
	}
}

// TestAnOwnerMayLeaveAndReturnAnyNumberOfTimes: it always has the same address,
// and others never get it in between, though old releases of it lie about.
func TestAnOwnerMayLeaveAndReturnAnyNumberOfTimes(t *testing.T) {
	t.Parallel()
	c := &clock{}
	a := open(t, memstore.New(), c, allocator.Config{Layout: layout("10.0.0.0/30"), Cooldown: time.Hour, MaxRelease: anyRelease})
	apply(t, a, full(set("m", "a", "b", "c")))
	for range 100 {
		apply(t, a, part(drop("m", "a")))
		c.running += 59 * time.Minute
		tick(t, a)
		wantTable(t, a, map[string]string{"b": "10.0.0.2", "c": ""})
		apply(t, a, part(set("m", "a")))
		c.running += time.Minute
	}
	wantTable(t, a, map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "c": ""})
}

// TestEachFamilyIsExhaustedByItself: where one is, entries have addresses of the
// other; what one of them gives back serves who lacks just that.
func TestEachFamilyIsExhaustedByItself(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pools []string
		want  map[string]string
		after map[string]string // with a gone for longer than its cooldown
	}{
		{
			[]string{"10.0.0.0/30", "fd00::/64"},
			map[string]string{"a": "10.0.0.1 fd00::", "b": "10.0.0.2 fd00::1", "c": "fd00::2", "d": "fd00::3"},
			map[string]string{"b": "10.0.0.2 fd00::1", "c": "10.0.0.1 fd00::2", "d": "fd00::3"},
		},
		{
			[]string{"10.0.0.0/24", "fd00::/127"},
			map[string]string{"a": "10.0.0.1 fd00::", "b": "10.0.0.2 fd00::1", "c": "10.0.0.3", "d": "10.0.0.4"},
			map[string]string{"b": "10.0.0.2 fd00::1", "c": "10.0.0.3 fd00::", "d": "10.0.0.4"},
		},
		{
			[]string{"10.0.0.0/31", "fd00::/128"},
			map[string]string{"a": "10.0.0.0 fd00::", "b": "10.0.0.1", "c": "", "d": ""},
			map[string]string{"b": "10.0.0.1 fd00::", "c": "10.0.0.0", "d": ""},
		},
	} {
		t.Run(fmt.Sprint(tc.pools), func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{}
			cfg := allocator.Config{Layout: layout(tc.pools...), Cooldown: time.Hour, MaxRelease: anyRelease}
			a := open(t, store, c, cfg)
			r := apply(t, a, full(set("m", "a", "b", "c", "d")))
			wantTable(t, a, tc.want)
			lacking := 0
			for _, row := range a.Rows() {
				if len(row.Addrs()) < 2 {
					lacking++
				}
			}
			if n := a.Stats().Waiting; n != lacking || len(r.Exhausted) < lacking {
				t.Errorf("%d wait, want %d; exhausted: %v", n, lacking, r.Exhausted)
			}
			apply(t, a, part(drop("m", "a")))
			a = restart(t, a, store, c, cfg)
			c.running += 2 * time.Hour
			tick(t, a)
			wantTable(t, a, tc.after)
		})
	}
}

// TestAHundredFailuresLeakNothing: commits that fail, before or after they are
// durable, and batches that ask in vain, take no address out of the world.
func TestAHundredFailuresLeakNothing(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/28", "fd00::/125"), Cooldown: time.Minute, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	for i := range 100 {
		store.before, store.after = i%3 != 0, i%3 == 0
		_, err := a.Apply(t.Context(), part(set("m", fmt.Sprintf("try-%03d", i), "again")))
		if !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		if i%10 == 0 {
			store.before, store.after = false, false
			a = restart(t, a, store, c, cfg)
		}
	}
	store.before, store.after = false, false
	apply(t, a, full(set("m")))
	c.running += time.Hour
	all := names(20)
	r := apply(t, a, part(set("m", all...)))
	var v4, v6 int
	for _, row := range a.Rows() {
		if row.V4.IsValid() {
			v4++
		}
		if row.V6.IsValid() {
			v6++
		}
	}
	if v4 != 14 || v6 != 8 || len(r.Exhausted) != 6+12 {
		t.Errorf("%d of 14 and %d of 8 addresses could be had, %d in vain", v4, v6, len(r.Exhausted))
	}
}

// TestTheCooldownOfWhatIsBlockedIsWrittenToo: the table's clock is made durable
// each minute, whatever it is that cools down, or a server which is killed every
// hour would let an entry wait for ever.
func TestTheCooldownOfWhatIsBlockedIsWrittenToo(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(l *allocator.Layout){
		"reserved":               func(l *allocator.Layout) { l.Pools[0].Reserve = ranges("10.0.0.0-10.0.0.3") },
		"static in the Corefile": func(l *allocator.Layout) { l.Statics = []allocator.Static{static("web", "10.0.0.1")} },
		"in no pool any more":    func(l *allocator.Layout) { *l = layout("10.1.0.0/29") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{}
			cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease}
			cfg.Now, cfg.Running = func() time.Time { return c.wall }, func() time.Duration { return c.running }
			start := func() *allocator.Allocator { // the one before was killed
				a, err := allocator.Open(t.Context(), store, cfg)
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			a := start()
			apply(t, a, full(set("m", "old")))
			if name != "in no pool any more" {
				apply(t, a, part(drop("m", "old")))
			}
			change(&cfg.Layout)
			configure(t, a, cfg)
			cfg.Confirm = a.Moves().Name
			configure(t, a, cfg)
			since := a.Stats().Meta.Clock
			for range 5 {
				a = start()
				for range 10 {
					c.running += time.Minute
					tick(t, a)
				}
			}
			if d := a.Stats().Meta.Clock - since; d < 49*time.Minute {
				t.Errorf("of 50 minutes %v are on record", d)
			}
		})
	}
}
