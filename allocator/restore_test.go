package allocator_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// stateOf returns a sound state of mesh m at an hour of its clock: entries with
// their addresses, and who gave which address back when.
func stateOf(revision uint64, live map[string]string, past map[string]release, pools ...allocator.Pool) allocator.State {
	s := allocator.State{Meta: allocator.Meta{ID: "x", Serial: 7, Revision: revision, Clock: time.Hour, Synced: true, Pools: pools}, Meshes: []string{"m"}}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		r := published("m", name)
		if live[name] != "" {
			r = published("m", name, live[name])
			s.Addrs = append(s.Addrs, allocator.Held{Addr: addr(live[name]), Holding: allocator.Holding{Owner: r.Key(), Since: 5}})
		}
		s.Rows = append(s.Rows, r)
	}
	for _, a := range slices.Sorted(maps.Keys(past)) {
		s.Addrs = append(s.Addrs, allocator.Held{Addr: addr(a), Holding: allocator.Holding{Owner: past[a].owner, Released: true, At: past[a].at, Mesh: "m", Since: 6}})
	}
	return s
}

func pool(prefix, next string) allocator.Pool {
	return allocator.Pool{Prefix: netip.MustParsePrefix(prefix), Next: addr(next)}
}

func gaveBack(name string, at time.Duration) release {
	return release{vip.Entry{Name: name}.Key(), at}
}

func restored(t *testing.T, backup allocator.State, present *allocator.State, o allocator.Restoration) (allocator.State, allocator.Restored) {
	t.Helper()
	if o.Cooldown == 0 {
		o.Cooldown = 30 * time.Minute
	}
	o.Now = time.Unix(1000, 0)
	s, done := allocator.Restore(backup, present, o)
	if err := allocator.Check(s); err != nil {
		t.Error(err)
	}
	return s, done
}

// wantHeld fails the test unless a state says just that of its addresses: "web"
// for one that is live, "web gone 1h0m0s" for one that was released.
func wantHeld(t *testing.T, s allocator.State, want map[string]string) {
	t.Helper()
	got := make(map[string]string)
	for _, h := range s.Addrs {
		text := h.Owner.Name
		if h.Released {
			text += fmt.Sprintf(" gone %v", h.At)
		}
		got[h.Addr.String()] = text + fmt.Sprintf(" %d", h.Since)
	}
	if !maps.Equal(got, want) {
		t.Errorf("it holds\n%v, want\n%v", got, want)
	}
}

// TestARestoreWithThePresentTableIsExact: what can be given back is, and what
// cannot is told.
func TestARestoreWithThePresentTableIsExact(t *testing.T) {
	t.Parallel()
	backup := stateOf(3, map[string]string{
		"same": "10.0.0.1", "deleted": "10.0.0.2", "forgotten": "10.0.0.3", "robbed": "10.0.0.4", "moved": "10.0.0.5", "late": "10.0.0.6", "waited": "",
	}, map[string]release{"10.0.0.9": gaveBack("old", time.Minute)}, pool("10.0.0.0/24", "10.0.0.10"))
	present := stateOf(8, map[string]string{
		"same": "10.0.0.1", "thief": "10.0.0.4", "moved": "10.0.0.20", "new": "10.0.0.21", "waited": "10.0.0.22",
	}, map[string]release{
		"10.0.0.2": gaveBack("deleted", time.Hour), "10.0.0.5": gaveBack("other", 50*time.Minute), "10.0.0.6": gaveBack("other", time.Minute),
	}, pool("10.0.0.0/24", "10.0.0.23"), pool("10.1.0.0/24", "10.1.0.1"))
	present.Meta.Serial, present.Meta.Generation = 2000, 4
	s, done := restored(t, backup, &present, allocator.Restoration{Layout: layout("10.0.0.0/24")})
	wantHeld(t, s, map[string]string{
		"10.0.0.1": "same 5", "10.0.0.2": "deleted 1000", "10.0.0.3": "forgotten 1000", "10.0.0.4": "thief gone 1h0m0s 1000",
		"10.0.0.5": "other gone 50m0s 6", "10.0.0.6": "late 1000", "10.0.0.20": "moved 5", "10.0.0.21": "new gone 1h0m0s 1000", "10.0.0.22": "waited 5",
	})
	want := "[{0:moved 10.0.0.5 10.0.0.20 0:other had it last, and it cools down} {0:robbed 10.0.0.4 invalid IP 0:thief has it in the present table}]"
	if got := fmt.Sprint(done.Displaced); got != want || !done.Exact || done.Entries != 7 || done.Released != 2 || done.Serial != 2002 {
		t.Errorf("%+v, want %s", done, want)
	}
	if m := s.Meta; len(m.Pools) != 2 || m.Pools[0].Next != addr("10.0.0.23") || m.Revision != 9 || m.Generation != 4 || m.ID != "x" || m.Synced || m.Quarantine != nil {
		t.Errorf("it says %+v of itself", m)
	}
}

// TestWhatThePresentTableCannotTellIsQuarantined: a record that cannot be read,
// and what it does not know itself.
func TestWhatThePresentTableCannotTellIsQuarantined(t *testing.T) {
	t.Parallel()
	backup := stateOf(3, map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3", "d": "10.0.0.4"}, nil, pool("10.0.0.0/24", "10.0.0.10"))
	present := stateOf(8, map[string]string{"b": "10.0.0.2", "kept": "10.0.0.9"}, map[string]release{"10.0.0.4": gaveBack("d", 0)}, pool("10.0.0.0/24", "10.0.0.10"))
	present.Addrs = append(present.Addrs[1:], allocator.Held{Addr: addr("10.0.0.7"), Holding: allocator.Holding{Owner: gaveBack("aside", 0).owner}})
	present.Damaged = []allocator.Damage{{Place: "addresses/10.0.0.1", Addr: addr("10.0.0.1")}, {Place: "addresses/10.0.0.2", Addr: addr("10.0.0.2")}, {Place: "entries/0:aside"}}
	present.Meta.Quarantine = []allocator.Quarantine{
		{Range: netipx.MustParseIPRange("10.0.0.3-10.0.0.5"), Until: 2 * time.Hour}, {Range: netipx.MustParseIPRange("10.0.0.6-10.0.0.6"), Until: time.Minute},
	}
	present.Meta.Clock, backup.Meta.Clock = 90*time.Minute, 2*time.Hour // the clock of the backup is ahead
	s, done := restored(t, backup, &present, allocator.Restoration{})
	wantHeld(t, s, map[string]string{
		"10.0.0.2": "b 0", "10.0.0.4": "d 1000", "10.0.0.7": "aside gone 2h0m0s 1000", "10.0.0.9": "kept gone 2h0m0s 1000",
	})
	if got := fmt.Sprint(s.Meta.Quarantine); got != "[{10.0.0.3-10.0.0.5 2h30m0s} {10.0.0.1-10.0.0.1 2h30m0s}]" || len(done.Displaced) != 2 || len(s.Damaged) != 0 {
		t.Errorf("quarantined %v, %+v", got, done)
	}
}

// TestALostTableIsAllowedFor: what it may have given out is quarantined, and the
// cursor goes behind it.
func TestALostTableIsAllowedFor(t *testing.T) {
	t.Parallel()
	bound := func(n uint64) *uint64 { return &n }
	excluding := layout("10.0.0.0/24")
	excluding.Pools[0].Exclude = ranges("10.0.0.12-10.0.0.14")
	for name, tc := range map[string]struct {
		pool  allocator.Pool
		l     allocator.Layout
		bound *uint64
		want  string // what is quarantined, and the cursor
		old   string // who is remembered
	}{
		"a large pool":             {pool("240.0.0.0/4", "240.0.0.101"), allocator.Layout{}, nil, "240.0.0.101-244.0.0.74 244.0.0.75", "old"},
		"a pool of middling size":  {pool("10.0.0.0/14", "10.0.0.101"), allocator.Layout{}, nil, "10.0.0.101-10.1.0.100 10.1.0.101", "old"},
		"a small pool":             {pool("10.0.0.0/24", "10.0.0.101"), allocator.Layout{}, nil, "10.0.0.1-10.0.0.254 invalid IP", ""},
		"a pool of IPv6":           {pool("fd00::/64", "fd00::65"), allocator.Layout{}, nil, "fd00::65-fd00::2000:0:0:63 fd00::2000:0:0:64", "old"},
		"a bound":                  {pool("10.0.0.0/24", "10.0.0.101"), allocator.Layout{}, bound(10), "10.0.0.101-10.0.0.110 10.0.0.111", "old"},
		"a bound and an exclude":   {pool("10.0.0.0/24", "10.0.0.11"), excluding, bound(3), "10.0.0.11-10.0.0.16 10.0.0.17", "old"},
		"a bound and what is past": {pool("10.0.0.0/24", "10.0.0.1"), allocator.Layout{}, bound(3), "10.0.0.1-10.0.0.5 10.0.0.6", "old"},
		"all that is left":         {pool("10.0.0.0/24", "10.0.0.250"), allocator.Layout{}, bound(5), "10.0.0.250-10.0.0.254 invalid IP", "old"},
		"more than is left":        {pool("10.0.0.0/24", "10.0.0.250"), allocator.Layout{}, bound(6), "10.0.0.1-10.0.0.254 invalid IP", ""},
		"nothing":                  {pool("10.0.0.0/24", "10.0.0.101"), allocator.Layout{}, bound(0), " 10.0.0.101", "old"},
		"a pool that is new since": {
			pool("10.0.0.0/24", "10.0.0.101"), layout("10.0.0.0/24", "10.1.0.0/24"), bound(2),
			"10.0.0.101-10.0.0.102 10.1.0.1-10.1.0.2 10.0.0.103 10.1.0.3", "old",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, _ := allocator.Usable(tc.pool.Prefix)
			backup := stateOf(3, map[string]string{"web": first.Next().String()}, map[string]release{first.Next().Next().String(): gaveBack("old", time.Minute)}, tc.pool)
			s, done := restored(t, backup, nil, allocator.Restoration{Layout: tc.l, GivenSince: tc.bound})
			text, old := "", ""
			for _, q := range s.Meta.Quarantine {
				text += q.Range.String() + " "
				if q.Until != 90*time.Minute {
					t.Errorf("until %v", q.Until)
				}
			}
			for _, p := range s.Meta.Pools {
				text += " " + p.Next.String()
			}
			for _, h := range s.Addrs {
				if h.Released {
					old = h.Owner.Name
					if h.At != time.Hour {
						t.Errorf("%v counts as released at %v", h.Addr, h.At)
					}
				}
			}
			if got := strings.Join(strings.Fields(text), " "); got != strings.TrimSpace(tc.want) || old != tc.old || done.Exact || len(done.Displaced) != 0 {
				t.Errorf("quarantine and cursor %s, remembered %q; want %s, %q", got, old, tc.want, tc.old)
			}
		})
	}
}

// TestABrokenBackupIsMended, and that is told.
func TestABrokenBackupIsMended(t *testing.T) {
	t.Parallel()
	backup := stateOf(3, map[string]string{"a": "10.0.0.1", "b": "10.0.0.1"}, nil, pool("10.0.0.0/24", "10.0.0.10"))
	backup.Damaged = []allocator.Damage{{Place: "addresses/10.0.0.5", Addr: addr("10.0.0.5")}}
	n := uint64(0)
	s, done := restored(t, backup, nil, allocator.Restoration{GivenSince: &n})
	wantHeld(t, s, map[string]string{"10.0.0.1": "a 5"})
	if len(done.Mended) == 0 || len(s.Damaged) > 0 || fmt.Sprint(s.Meta.Quarantine) != "[{10.0.0.5-10.0.0.5 1h30m0s}]" {
		t.Errorf("mended %v, damaged %v, quarantined %v", done.Mended, s.Damaged, s.Meta.Quarantine)
	}
}

// TestWhoHasAnAddressFromKumaHasNoOtherBack.
func TestWhoHasAnAddressFromKumaHasNoOtherBack(t *testing.T) {
	t.Parallel()
	backup := stateOf(3, map[string]string{"g": ""}, nil, pool("10.0.0.0/24", "10.0.0.10"))
	backup.Rows[0].Listings[0].Terms = &vip.Terms{Given: []netip.Addr{addr("240.0.0.1")}}
	present := stateOf(4, map[string]string{"g": "10.0.0.1"}, nil, pool("10.0.0.0/24", "10.0.0.10"))
	s, _ := restored(t, backup, &present, allocator.Restoration{})
	wantHeld(t, s, map[string]string{"10.0.0.1": "g gone 1h0m0s 1000"})
}
