package allocator_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

func TestAStaticIsNeverStolen(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	log, logger := logTo()
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease, Logger: logger}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "b")))
	want := map[string]string{"a": "10.0.0.2", "b": "10.0.0.1"}
	apply(t, a, part(with("m", []vip.Request{asks("a", "10.0.0.1")})))
	wantTable(t, a, want)
	wantLog(t, log, "entry=0:a", "static address 10.0.0.1 is refused: 0:b has it")
	if s := a.Stats(); s.Refused != 1 || s.Waiting != 0 || s.Pending != 0 {
		t.Errorf("stats %+v", s)
	}
	// The Corefile has no more right to it than a tag.
	log.Reset()
	cfg.Layout.Statics = []allocator.Static{static("a", "10.0.0.1")}
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	wantTable(t, a, want)
	wantLog(t, log, "static address 10.0.0.1 is refused: 0:b has it")
	// It goes, and the address is free: a has another by now, and to move it
	// there is the operator's decision.
	apply(t, a, part(drop("m", "b")))
	delete(want, "b")
	c.running += 2 * time.Hour
	tick(t, a)
	wantTable(t, a, want)
	if m := a.Moves(); len(m.List) != 1 || m.List[0].To != addr("10.0.0.1") {
		t.Errorf("would move %v", m.List)
	}
	if s := a.Stats(); s.Refused != 0 || s.Pending != 1 {
		t.Errorf("stats %+v", s)
	}
}

// TestAStaticThatCoolsDownIsWaitedFor: the entry has no address meanwhile, which
// is told, and gets its own when that is nobody else's any more, even if no
// batch names it. Its last owner may come back until then.
func TestAStaticThatCoolsDownIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		t.Run(fmt.Sprint("owner comes back: ", back), func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{}
			log, logger := logTo()
			cfg := allocator.Config{Layout: layout("10.0.0.0/29", "fd00::/64"), Cooldown: time.Hour, MaxRelease: anyRelease, Logger: logger}
			a := open(t, store, c, cfg)
			apply(t, a, full(set("m", "old")))
			apply(t, a, part(drop("m", "old")))
			r := apply(t, a, part(with("m", []vip.Request{asks("web", "10.0.0.1")}, "other")))
			wantTable(t, a, map[string]string{"web": "fd00::2", "other": "10.0.0.2 fd00::1"})
			wantLog(t, log, "static address 10.0.0.1 is waited for: 0:old had it, and it cools down")
			if len(r.Exhausted) > 0 || a.Stats().Waiting != 1 {
				t.Errorf("exhausted: %v, stats %+v", r.Exhausted, a.Stats())
			}
			c.running += 59 * time.Minute
			tick(t, a)
			if a = restart(t, a, store, c, cfg); back {
				apply(t, a, part(set("m", "old")))
				wantTable(t, a, map[string]string{"old": "10.0.0.1 fd00::", "web": "fd00::2", "other": "10.0.0.2 fd00::1"})
				tick(t, a)
				wantTable(t, a, map[string]string{"old": "10.0.0.1 fd00::", "web": "10.0.0.3 fd00::2", "other": "10.0.0.2 fd00::1"})
				return
			}
			tick(t, a)
			wantTable(t, a, map[string]string{"web": "fd00::2", "other": "10.0.0.2 fd00::1"})
			c.running += 2 * time.Minute
			tick(t, a)
			wantTable(t, a, map[string]string{"web": "10.0.0.1 fd00::2", "other": "10.0.0.2 fd00::1"})
		})
	}
}

// TestOneWhoWaitedInVainGetsItsOwnBack: the static address that it waits for is
// its last owner's again; it has an address from before, which is still free.
func TestOneWhoWaitedInVainGetsItsOwnBack(t *testing.T) {
	t.Parallel()
	c := &clock{}
	a := open(t, memstore.New(), c, allocator.Config{Layout: layout("10.0.0.0/28"), Cooldown: time.Hour, MaxRelease: anyRelease})
	apply(t, a, full(set("m", "a", "b")))
	apply(t, a, full(set("m")))
	apply(t, a, full(with("m", []vip.Request{asks("b", "10.0.0.1")}, "a")))
	wantTable(t, a, map[string]string{"a": "10.0.0.1", "b": ""})
	apply(t, a, part(set("m", "c")))
	wantTable(t, a, map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"})
}

func TestTheCorefileWinsOverATag(t *testing.T) {
	t.Parallel()
	l := layout("10.0.0.0/29", "fd00::/64")
	l.Statics = []allocator.Static{static("a", "10.0.0.5"), static("c", "10.0.0.3")}
	log, logger := logTo()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: l, Logger: logger})
	apply(t, a, full(with("m", []vip.Request{asks("a", "10.0.0.4", "fd00::9"), asks("b", "10.0.0.3")})))
	// Where the Corefile says nothing of a family, the tag does.
	wantTable(t, a, map[string]string{"a": "10.0.0.5 fd00::9", "b": "10.0.0.1 fd00::"})
	wantLog(t, log, "entry=0:b", "static address 10.0.0.3 is refused: the Corefile keeps it for 0:c")
}

// TestACorefileStaticIsKeptForItsEntry: nobody else gets the address, though the
// entry is not there and others go without.
func TestACorefileStaticIsKeptForItsEntry(t *testing.T) {
	t.Parallel()
	l := layout("10.0.0.0/30")
	l.Statics = []allocator.Static{static("late", "10.0.0.1")}
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: l, Cooldown: time.Minute, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "a", "b")))
	wantTable(t, a, map[string]string{"a": "10.0.0.2", "b": ""})
	a = restart(t, a, store, c, cfg)
	apply(t, a, part(set("m", "c", "late")))
	want := map[string]string{"a": "10.0.0.2", "b": "", "c": "", "late": "10.0.0.1"}
	wantTable(t, a, want)
	apply(t, a, part(drop("m", "late")))
	delete(want, "late")
	c.running += time.Hour
	tick(t, a)
	wantTable(t, a, want)
	// Taken out of the Corefile, it is for those who wait.
	cfg.Layout = layout("10.0.0.0/30")
	if err := a.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	tick(t, a)
	want["b"] = "10.0.0.1"
	wantTable(t, a, want)
}

// TestOfTwoThatAskForOneAddressTheSmallerKeyHasIt, of those that come in one
// batch; and who is there already keeps it.
func TestOfTwoThatAskForOneAddressTheSmallerKeyHasIt(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29")})
	apply(t, a, full(with("m", []vip.Request{asks("c", "10.0.0.2"), asks("b", "10.0.0.2")})))
	want := map[string]string{"b": "10.0.0.2", "c": "10.0.0.1"}
	wantTable(t, a, want)
	apply(t, a, part(with("n", []vip.Request{asks("a", "10.0.0.2")})))
	want["a"] = "10.0.0.3"
	wantTable(t, a, want)
	if n := a.Stats().Refused; n != 2 {
		t.Errorf("%d statics are refused, want 2", n)
	}
}

// TestStaticsComeFirst: a newcomer of the same batch, though its key is smaller,
// does not take an address that another asks for by name.
func TestStaticsComeFirst(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29")})
	apply(t, a, full(with("m", []vip.Request{asks("z", "10.0.0.1")}, "a", "b")))
	wantTable(t, a, map[string]string{"a": "10.0.0.2", "b": "10.0.0.3", "z": "10.0.0.1"})
}

// TestAStaticThatNobodyCanHaveIsRefusedWithTheRemedy, and the entry goes on with
// an automatic address.
func TestAStaticThatNobodyCanHaveIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	l := layout("10.0.0.0/29", "10.1.0.4/31")
	l.Pools[0].Exclude = ranges("10.0.0.3-10.0.0.4")
	for at, want := range map[string]string{
		"192.0.2.1": `192.0.2.1 lies in no pool: add a pool that has it, such as \"pool 192.0.2.1/32\"`,
		"10.0.0.0":  "10.0.0.0 is the network or the broadcast address of pool 10.0.0.0/29: choose another",
		"10.0.0.7":  "10.0.0.7 is the network or the broadcast address of pool 10.0.0.0/29: choose another",
		"10.0.0.4":  "10.0.0.4 is excluded (10.0.0.3-10.0.0.4) from pool 10.0.0.0/29: choose another, or narrow the exclude",
		"10.1.0.4":  "", // a /31 has neither
		"10.1.0.5":  "",
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			log, logger := logTo()
			a := open(t, memstore.New(), nil, allocator.Config{Layout: l, Logger: logger})
			apply(t, a, full(with("m", []vip.Request{asks("web", at)})))
			got, refused := table(a)["web"], a.Stats().Refused
			if want == "" {
				if got != at || refused != 0 {
					t.Errorf("web has %s, want %s; refused: %d", got, at, refused)
				}
				return
			}
			if got != "10.0.0.1" || refused != 1 {
				t.Errorf("web has %s; refused: %d", got, refused)
			}
			wantLog(t, log, want)
			// In the Corefile it is an error.
			with := l
			with.Statics = []allocator.Static{static("web", at)}
			wantErr(t, with.Check(), strings.ReplaceAll(want, `\"`, `"`))
		})
	}
}

// TestAStaticOfAFamilyWithoutAPoolIsRefused: the entry has no address to do
// without, and yet it is told.
func TestAStaticOfAFamilyWithoutAPoolIsRefused(t *testing.T) {
	t.Parallel()
	log, logger := logTo()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29"), Logger: logger})
	apply(t, a, full(with("m", []vip.Request{asks("web", "fd00::1")})))
	wantTable(t, a, map[string]string{"web": "10.0.0.1"})
	wantLog(t, log, "fd00::1 lies in no pool")
	if n := a.Stats().Refused; n != 1 {
		t.Errorf("%d statics are refused, want 1", n)
	}
}

func TestAStaticThatIsStatedTwiceIsAnError(t *testing.T) {
	t.Parallel()
	for want, statics := range map[string][]allocator.Static{
		"static address 10.0.0.1 is stated for 0:a and for 0:b":    {static("a", "10.0.0.1"), static("b", "10.0.0.1")},
		"0:a has two static addresses of one family, 10.0.0.1":     {static("a", "10.0.0.1"), static("a", "10.0.0.2")},
		"static address of 0:a: 10.9.0.1 lies in no pool: add a p": {static("a", "10.9.0.1")},
		"": {static("a", "10.0.0.1"), static("b", "10.0.0.2"), static("a", "fd00::1")},
	} {
		l := layout("10.0.0.0/29", "fd00::/64")
		l.Statics = statics
		wantErr(t, l.Check(), want)
	}
}

// TestAStaticFitsTheSmallestPools: each has its first and its last address.
func TestAStaticFitsTheSmallestPools(t *testing.T) {
	t.Parallel()
	for pool, ends := range map[string][2]string{
		"10.0.0.4/32":     {"10.0.0.4", "10.0.0.4"},
		"10.0.0.4/31":     {"10.0.0.4", "10.0.0.5"},
		"10.0.0.4/30":     {"10.0.0.5", "10.0.0.6"},
		"fd00::4/128":     {"fd00::4", "fd00::4"},
		"fd00::4/127":     {"fd00::4", "fd00::5"},
		"fd00::/64":       {"fd00::", "fd00::ffff:ffff:ffff:ffff"},
		"::/0":            {"::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		"128.0.0.0/1":     {"128.0.0.1", "255.255.255.254"},
		"fd00:0:0:8::/61": {"fd00:0:0:8::", "fd00::f:ffff:ffff:ffff:ffff"},
	} {
		for _, end := range ends {
			t.Run(pool+" "+end, func(t *testing.T) {
				t.Parallel()
				store, c := &faulty{Store: memstore.New()}, &clock{}
				l := layout(pool)
				l.Statics = []allocator.Static{static("z", end)}
				cfg := allocator.Config{Layout: l}
				a := open(t, store, c, cfg)
				apply(t, a, full(set("m", "a", "z")))
				first := ends[0]
				if first == end {
					first = netip.MustParseAddr(end).Next().String()
				}
				if ends[0] == ends[1] {
					first = ""
				}
				want := map[string]string{"a": first, "z": end}
				wantTable(t, a, want)
				wantTable(t, restart(t, a, store, c, cfg), want)
			})
		}
	}
}
