package meshvip

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// secondary notes which zones it is told of, and when.
type secondary struct {
	mu    sync.Mutex
	began time.Time
	told  []string // "zone@seconds"
	err   error
	hangs chan struct{} // zones called so are waited for until it is closed
	stuck string
}

func (s *secondary) notify(zone string) error {
	if zone == s.stuck {
		<-s.hangs
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprintf("%s@%v", strings.TrimSuffix(zone, "."), time.Since(s.began).Round(time.Millisecond).Seconds()))
	return s.err
}

// heard returns what it was told since the last time, sorted.
func (s *secondary) heard() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.told
	s.told = nil
	slices.Sort(told)
	return strings.Join(told, " ")
}

// notifying is a block over the world, with a secondary, in a bubble.
type notifying struct {
	*Handler
	*secondary
	n   *notifier
	tab *fakeTable
	x   *names.Index
}

func (f fixture) notifies(t *testing.T) *notifying {
	h, tab, x := f.handler(t)
	s := &secondary{began: time.Now(), hangs: make(chan struct{})}
	h.notify = s.notify
	n := newNotifier(h, logger())
	t.Cleanup(n.close)
	return &notifying{h, s, n, tab, x}
}

// commit makes a change as the runtime does, and tells of it.
func (n *notifying) commit(rows ...allocator.RowChange) {
	var changes []names.Change
	for _, r := range rows {
		changes = append(changes, names.Change{Old: r.Old, New: r.New})
	}
	events := n.x.Apply(changes)
	serial := n.tab.serial.Add(1)
	n.n.committed(allocator.Commit{Rows: rows, Meta: allocator.Meta{Serial: serial}}, events)
}

func wantHeard(t *testing.T, s *secondary, want string) {
	t.Helper()
	if got := s.heard(); got != want {
		t.Errorf("the secondary heard %q, want %q", got, want)
	}
}

func TestNotifyIsSentAtOnceAndThenEveryFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := fixture{zones: "mesh 240.0.0.0/16", pools: []string{"240.0.0.0/16"}}.notifies(t)
		wantHeard(t, n.secondary, "0.240.in-addr.arpa@0 mesh@0") // the start
		time.Sleep(time.Minute)
		wantHeard(t, n.secondary, "")

		a := row("0:new", "240.0.0.100", "east")
		n.commit(allocator.RowChange{New: a})
		wantHeard(t, n.secondary, "0.240.in-addr.arpa@60 mesh@60")
		for i := range 40 { // four seconds of changes
			time.Sleep(100 * time.Millisecond)
			n.commit(allocator.RowChange{New: row(fmt.Sprintf("0:s%d", i), fmt.Sprintf("240.1.0.%d", i), "east")}) // a PTR of no zone here
		}
		wantHeard(t, n.secondary, "")
		time.Sleep(time.Hour)
		wantHeard(t, n.secondary, "mesh@65")
		n.commit(allocator.RowChange{Old: a})
		wantHeard(t, n.secondary, "0.240.in-addr.arpa@3664 mesh@3664")
	})
}

func TestASecondaryThatDoesNotAnswerHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := fixture{zones: "mesh other.example"}.notifies(t)
		n.heard()
		n.secondary.stuck = "mesh."
		for i := range 30 {
			time.Sleep(time.Second)
			n.commit(allocator.RowChange{New: row(fmt.Sprintf("0:s%d", i), "240.77.0."+fmt.Sprint(i), "east")})
		}
		if got := n.heard(); strings.Contains(got, "@1 mesh") || !strings.Contains(got, "other.example@5") || !strings.Contains(got, "other.example@30") {
			t.Errorf("the secondary heard %q", got)
		}
		close(n.hangs)
		time.Sleep(time.Minute)
		if got := n.heard(); strings.Count(got, "mesh@") != 2 { // the one that hung, and one for all since
			t.Errorf("the secondary heard %q", got)
		}
	})
}

func TestNotifyWaitsUntilZonesAreTransferred(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := fixture{pools: []string{"240.0.0.0/16"}, loading: true, syncing: true}.notifies(t)
		n.commit(allocator.RowChange{New: row("0:new", "240.0.0.100", "east")})
		time.Sleep(time.Minute)
		n.tab.loading.Store(false)
		n.n.look()
		wantHeard(t, n.secondary, "")
		n.tab.syncing.Store(false)
		n.n.look()
		wantHeard(t, n.secondary, "0.240.in-addr.arpa@60 mesh@60")
	})
}

func TestARefusedNotifyIsNoReasonToStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := fixture{pools: []string{"240.0.0.0/16"}}.notifies(t)
		n.heard()
		for i, err := range []error{errors.New("refused"), errors.New("refused"), nil} {
			n.mu.Lock()
			n.err = err
			n.mu.Unlock()
			time.Sleep(10 * time.Second)
			n.commit(allocator.RowChange{New: row(fmt.Sprintf("0:s%d", i), "240.0.0."+fmt.Sprint(100+i), "east")})
			wantHeard(t, n.secondary, fmt.Sprintf("0.240.in-addr.arpa@%d mesh@%[1]d", 10*(i+1)))
		}
	})
}

func TestANewPoolsZoneIsToldOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := fixture{pools: []string{"240.0.0.0/16"}}.notifies(t)
		n.heard()
		time.Sleep(time.Minute)
		n.tab.setPools("240.0.0.0/16", "241.0.0.0/16")
		n.commit(allocator.RowChange{New: row("0:new", "240.0.0.100", "nowhere"), Old: row("0:new", "240.0.0.100", "nowhere")})
		wantHeard(t, n.secondary, "0.241.in-addr.arpa@60")
	})
}

// Block options count, and pools that go.
func TestASerialThatRisesForNoRowIsToldOfEverywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := fixture{pools: []string{"240.0.0.0/16"}}.notifies(t)
		n.heard()
		time.Sleep(time.Minute)
		n.commit()
		wantHeard(t, n.secondary, "0.240.in-addr.arpa@60 mesh@60")
		time.Sleep(time.Minute)
		n.n.committed(allocator.Commit{Meta: allocator.Meta{Serial: n.tab.Serial()}}, nil) // the clock was made durable
		wantHeard(t, n.secondary, "")
	})
}

func TestAClosedNotifierSendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := fixture{}.notifies(t)
		n.heard()
		n.n.close()
		time.Sleep(time.Minute)
		n.commit(allocator.RowChange{New: row("0:new", "240.0.0.100", "east")})
		time.Sleep(time.Minute)
		wantHeard(t, n.secondary, "")
	})
}

// Zone names in the order of their names, of a block that shows mesh east only.
func TestOnlyZonesThatChangeAreToldOf(t *testing.T) {
	t.Parallel()
	with := func(r *vip.Row, port uint16) *vip.Row {
		c := *r
		c.Listings = slices.Clone(r.Listings)
		c.Listings[len(c.Listings)-1].Outbounds = []vip.Outbound{{Port: port}}
		return &c
	}
	told := func(entry, hosts, given string, mesh string) *vip.Row {
		r := row(entry, "", mesh)
		r.Listings[0].Terms = &vip.Terms{Hostnames: strings.Fields(hosts)}
		for _, a := range strings.Fields(given) {
			r.Listings[0].Terms.Given = append(r.Listings[0].Terms.Given, netip.MustParseAddr(a))
		}
		return r
	}
	both := row("0:a", "240.0.0.1", "east", "west")
	for _, tc := range []struct {
		name     string
		old, new *vip.Row
		want     string
	}{
		{"a service comes", nil, row("0:a", "240.0.0.1 fd00::1", "east"), "0.240.in-addr.arpa. d.f.ip6.arpa. example. mesh. svc.mesh."},
		{"a service goes", row("0:a", "240.1.0.1", "east"), nil, "1.240.in-addr.arpa. example. mesh. svc.mesh."},
		{"a service moves", row("0:a", "240.0.0.1 fd00::1", "east"), row("0:a", "240.1.0.1 fd00::1", "east"), "0.240.in-addr.arpa. 1.240.in-addr.arpa. example. mesh. svc.mesh."},
		{"a hidden one", row("0:a", "240.0.0.1", "west"), row("0:a", "240.1.0.1", "west"), ""},
		{"one comes into sight", row("0:a", "240.0.0.1", "west"), both, "0.240.in-addr.arpa. example. mesh. svc.mesh."},
		{"another mesh lists it too", row("0:a", "240.0.0.1", "east"), both, ""},
		{"a port that is shown", row("0:a", "240.0.0.1", "east"), with(row("0:a", "240.0.0.1", "east"), 9), "example. mesh. svc.mesh."},
		{"a port that is hidden", both, with(both, 9), ""},
		{"one that waits", nil, row("0:a", "", "east"), ""},
		{"one that waited", row("0:a", "", "east"), row("0:a", "240.0.0.1", "east"), "0.240.in-addr.arpa. example. mesh. svc.mesh."},
		{"a host", nil, row("1:x.svc.mesh", "240.0.0.1", "east"), "0.240.in-addr.arpa. svc.mesh."},
		{"a host in upper case", nil, row("1:X.SVC.Mesh.", "240.0.0.1", "east"), "0.240.in-addr.arpa. svc.mesh."},
		{"a host of nowhere else", nil, row("1:x.org", "240.0.0.1", "east"), ". 0.240.in-addr.arpa."},
		{"a host in the reverse trees", nil, row("1:9.0.0.240.in-addr.arpa", "241.0.0.1", "east"), ""},
		{"an address outside", nil, row("2:x.mesh", "10.0.0.1", "east"), "mesh."},
		{"another hostname", told("3:east/a", "a.mesh b.example", "240.0.0.1", "east"), told("3:east/a", "a.mesh c.svc.mesh", "240.0.0.1", "east"), "0.240.in-addr.arpa. example. mesh. svc.mesh."},
		{"another given address", told("3:east/a", "a.mesh", "240.0.0.1 240.1.0.1", "east"), told("3:east/a", "a.mesh", "240.0.0.1", "east"), "1.240.in-addr.arpa. mesh."},
		{"a name with another form", nil, row("2:ü.mesh", "10.0.0.1", "east"), ". example. mesh. svc.mesh."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h, _, _ := fixture{zones: "mesh svc.mesh . example 240.0.0.0/8 fd00::/8", lines: "meshes east", pools: []string{"240.0.0.0/15", "fd00::/8"}}.handler(t)
			c := newZoneChanges(h.zones(), h.view)
			c.rows([]allocator.RowChange{{Old: tc.old, New: tc.new}}, nil)
			var got []string
			for z := range c.changed {
				got = append(got, z.name)
			}
			slices.Sort(got)
			if s := strings.Join(got, " "); s != tc.want {
				t.Errorf("%q change, want %q", s, tc.want)
			}
		})
	}
}

// TestEveryZoneThatChangesIsToldOf changes random tables, and compares what is
// transferred before and after.
func TestEveryZoneThatChangesIsToldOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := drawBlock(rt)
		h, _, x := f.handler(t)
		was := zoneTexts(h)
		next := drawRows(rt)
		var changes []names.Change
		var rows []allocator.RowChange
		change := func(old, new *vip.Row) {
			changes = append(changes, names.Change{Old: old, New: new})
			rows = append(rows, allocator.RowChange{Old: old, New: new})
		}
		for _, old := range f.rows {
			i := slices.IndexFunc(next, func(r *vip.Row) bool { return r.Key() == old.Key() })
			switch {
			case i < 0 && rapid.Bool().Draw(rt, "stays"):
			case i < 0:
				change(old, nil)
			default:
				change(old, next[i])
			}
		}
		for _, r := range next {
			if !slices.ContainsFunc(f.rows, func(old *vip.Row) bool { return r.Key() == old.Key() }) {
				change(nil, r)
			}
		}
		c := newZoneChanges(h.zones(), h.view)
		c.rows(rows, x.Apply(changes))
		is := zoneTexts(h)
		for z, before := range was {
			if _, told := c.changed[z]; !told && before != is[z] {
				rt.Fatalf("zone %s of %q, %s, changed, and nobody is told:\n%s\nand now\n%s", z.name, f.zones, f.lines, before, is[z])
			}
		}
	})
}

// zoneTexts returns the contents of all zones of h.
func zoneTexts(h *Handler) map[*zone]string {
	zones := h.zones()
	all := make(map[*zone]string)
	for _, z := range slices.Concat(zones.forward, zones.reverse) {
		rrs := slices.Collect(h.contents(z, zones, 1))
		all[z] = strings.Join(slices.Sorted(slices.Values(texts(rrs))), "\n")
	}
	return all
}

func TestPacesTellOfAZoneOnceAtATime(t *testing.T) {
	t.Parallel()
	p := make(paces)
	now := time.Now()
	p.change("a.")
	p.change("b.")
	if zones, next := p.due(now); !slices.Equal(zones, []string{"a.", "b."}) || !next.IsZero() {
		t.Fatalf("%v and %v are due", zones, next)
	}
	p.change("a.")
	p.told("b.")
	p.change("b.")
	zones, next := p.due(now.Add(notifyEvery - 1))
	if len(zones) != 0 || !next.Equal(now.Add(notifyEvery)) {
		t.Errorf("%v and then, in %v, others are due too soon", zones, next.Sub(now))
	}
	if zones, _ = p.due(now.Add(notifyEvery)); !slices.Equal(zones, []string{"b."}) {
		t.Errorf("%v are due while a. is told of", zones)
	}
	p.told("a.")
	if zones, next = p.due(now.Add(notifyEvery)); !slices.Equal(zones, []string{"a."}) || !next.IsZero() {
		t.Errorf("%v are due when a. has been told of, of %v", zones, slices.Collect(maps.Keys(p)))
	}
}
