package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// wantTable fails the test unless services have just these addresses.
func wantTable(t testing.TB, a *allocator.Allocator, want map[string]string) {
	t.Helper()
	if got := table(a); !maps.Equal(got, want) {
		t.Errorf("the table is %v, want %v", got, want)
	}
}

// restart opens the table of a store again, as another process would: its
// monotonic time starts anew.
func restart(t testing.TB, a *allocator.Allocator, store *faulty, c *clock, cfg allocator.Config) *allocator.Allocator {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	c.running = 7 * time.Second
	return open(t, store, c, cfg)
}

func TestOneNameHasOneAddressInEveryMesh(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/8", "fd00:1::/64")})
	apply(t, a, full(set("b", "web", "Backend"), set("a", "backend", "db")))
	wantTable(t, a, map[string]string{
		"backend": "240.0.0.1 fd00:1::", "db": "240.0.0.2 fd00:1::1", "web": "240.0.0.3 fd00:1::2",
	})
	rows, ok := a.MeshRows("b")
	if !ok || len(rows) != 2 || rows[0].Entry.Name != "Backend" || len(rows[0].Listings) != 2 {
		t.Errorf("mesh b lists %+v, %v", rows, ok)
	}
}

func TestAHolderKeepsItsAddressWhoeverIsReadFirst(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.1/32"), Cooldown: time.Hour}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "z-first")))
	apply(t, a, part(set("m", "a-later")))
	a = restart(t, a, store, c, cfg)
	// The other's file is read first, and alone.
	r := apply(t, a, vip.Batch{Full: true, Incomplete: "z.yaml is not read yet", Meshes: []vip.MeshUpdate{set("m", "a-later")}})
	wantTable(t, a, map[string]string{"z-first": "10.0.0.1", "a-later": ""})
	if len(r.Exhausted) != 1 || r.Exhausted[0].Name != "a-later" {
		t.Errorf("exhausted: %v", r.Exhausted)
	}
	apply(t, a, full(set("m", "a-later", "z-first")))
	wantTable(t, a, map[string]string{"z-first": "10.0.0.1", "a-later": ""})
}

func TestAnOwnerThatReturnsGetsItsAddressBack(t *testing.T) {
	t.Parallel()
	for _, between := range []string{"nothing", "restart"} {
		t.Run(between, func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{}
			cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour}
			a := open(t, store, c, cfg)
			again := func() {
				if between == "restart" {
					a = restart(t, a, store, c, cfg)
				}
			}
			apply(t, a, full(set("m", "a")))
			again()
			apply(t, a, full(set("m")))
			again()
			apply(t, a, full(set("m", "c")))
			again()
			c.running += 30 * time.Minute
			if r := apply(t, a, full(set("m", "a", "c"))); r.Returned != 1 || r.Allocated != 0 {
				t.Errorf("report %+v", r)
			}
			wantTable(t, a, map[string]string{"a": "10.0.0.1", "c": "10.0.0.2"})
		})
	}
}

// TestTheCooldownOutlivesARestart: it counts the table's running time, as far
// as that is on record, and no wall clock.
func TestTheCooldownOutlivesARestart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		end  string
		left time.Duration // of the cooldown, after four processes of 15 minutes
	}{{"close", 0}, {"kill", 20 * time.Minute}} {
		t.Run(tc.end, func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{wall: time.Unix(1e9, 0)}
			cfg := allocator.Config{
				Layout: layout("10.0.0.1/32"), Cooldown: time.Hour,
				Now: func() time.Time { return c.wall }, Running: func() time.Duration { return c.running },
			}
			start := func() *allocator.Allocator {
				a, err := allocator.Open(t.Context(), store, cfg)
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			a := start()
			apply(t, a, full(set("m", "a")))
			apply(t, a, full(set("m", "b")))
			for range 4 {
				c.running += 10 * time.Minute
				tick(t, a)
				wantTable(t, a, map[string]string{"b": ""})
				c.running += 5 * time.Minute // on record only if the process can still write
				c.wall = c.wall.Add(1000 * time.Hour)
				if tc.end == "close" {
					if err := a.Close(); err != nil {
						t.Fatal(err)
					}
				}
				c.running = 7 * time.Second // another process
				a = start()
			}
			c.running += tc.left - time.Second
			tick(t, a)
			wantTable(t, a, map[string]string{"b": ""})
			c.running += 2 * time.Second
			tick(t, a)
			wantTable(t, a, map[string]string{"b": "10.0.0.1"})
		})
	}
}

func TestARestartAndAnotherMeshChangeNothing(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("240.0.0.0/24")}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("mesh-1", "a", "b"), set("mesh-2", "b", "c")))
	before, commits := table(a), store.commits
	a = restart(t, a, store, c, cfg)
	wantTable(t, a, before)
	apply(t, a, full(set("mesh-1", "a", "b"), set("mesh-2", "b", "c")))
	if store.commits != commits {
		t.Errorf("%d commits for no change", store.commits-commits)
	}
	apply(t, a, part(vip.MeshUpdate{Mesh: "mesh-2", Set: requests("d"), Drop: []vip.Key{{Name: "c"}}}))
	delete(before, "c")
	before["d"] = "240.0.0.4"
	wantTable(t, a, before)
}

func TestEventsOfOneMeshAreUniqueOverAll(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/24")})
	apply(t, a, part(set("mesh-1", "a")))
	apply(t, a, part(set("mesh-2", "b")))
	apply(t, a, part(set("mesh-1", "c"), set("mesh-2", "d")))
	wantTable(t, a, map[string]string{"a": "240.0.0.1", "b": "240.0.0.2", "c": "240.0.0.3", "d": "240.0.0.4"})
}

func TestAShuffledSyncWritesNothingAfterTheFirst(t *testing.T) {
	t.Parallel()
	store := &faulty{Store: memstore.New()}
	a := open(t, store, nil, allocator.Config{Layout: layout("240.0.0.0/24")})
	b := full(set("a", "web", "db", "cache"), set("b", "Web", "queue"), set("c", "WEB", "db"))
	apply(t, a, b)
	before, serial := table(a), a.Stats().Meta.Serial
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		rnd.Shuffle(len(b.Meshes), func(i, j int) { b.Meshes[i], b.Meshes[j] = b.Meshes[j], b.Meshes[i] })
		for _, m := range b.Meshes {
			rnd.Shuffle(len(m.Set), func(i, j int) { m.Set[i], m.Set[j] = m.Set[j], m.Set[i] })
		}
		apply(t, a, b)
		tick(t, a)
	}
	wantTable(t, a, before)
	if name := a.Rows()[3].Entry.Name; store.commits != 1 || name != "WEB" || a.Stats().Meta.Serial != serial {
		t.Errorf("%d commits, the shared entry is shown as %q", store.commits, name)
	}
}

func TestACorruptRowIsSetAsideAndTheRestLoads(t *testing.T) {
	t.Parallel()
	lone := vip.Key{Name: "lone"}
	state := allocator.State{
		Meta:   allocator.Meta{ID: "x", Revision: 1, Serial: 1, Pools: []allocator.Pool{{Prefix: prefixes("10.0.0.0/29")[0], Next: addr("10.0.0.4")}}},
		Rows:   []*vip.Row{{Entry: vip.Entry{Name: "web"}, V4: addr("10.0.0.1"), Listings: []vip.Listing{{Mesh: "m", Name: "web"}}}},
		Addrs:  []allocator.Held{{Addr: addr("10.0.0.1"), Holding: allocator.Holding{Owner: vip.Key{Name: "web"}}}, {Addr: addr("10.0.0.3"), Holding: allocator.Holding{Owner: lone}}},
		Meshes: []string{"m"},
		Damaged: []allocator.Damage{
			{Place: "entries/0:lone", Err: errFault},
			{Place: "addresses/10.0.0.2", Err: errFault, Addr: addr("10.0.0.2")},
		},
	}
	a := open(t, &canned{Store: memstore.New(), state: state}, nil, allocator.Config{Layout: layout("10.0.0.0/29")})
	wantTable(t, a, map[string]string{"web": "10.0.0.1"})
	if n := a.Stats().Damaged; n != 2 {
		t.Errorf("%d records set aside, want 2", n)
	}
	apply(t, a, full(set("m", "web", "new", "lone", "x", "y")))
	wantTable(t, a, map[string]string{"web": "10.0.0.1", "lone": "10.0.0.3", "new": "10.0.0.4", "x": "10.0.0.5", "y": "10.0.0.6"})
}

// canned is a store that holds a given state at first, and takes any commit.
type canned struct {
	*memstore.Store
	state allocator.State
}

func (s *canned) Load(context.Context) (allocator.State, error) { return s.state, nil }

func (s *canned) Commit(_ context.Context, d allocator.Delta) error {
	byAddr := make(map[string]allocator.Held)
	for _, h := range s.state.Addrs {
		byAddr[h.Addr.String()] = h
	}
	for _, c := range d.Addrs {
		byAddr[c.Addr.String()] = allocator.Held{Addr: c.Addr, Holding: *c.New}
	}
	rows := make(map[vip.Key]*vip.Row)
	for _, r := range s.state.Rows {
		rows[r.Key()] = r
	}
	for _, c := range d.Rows {
		if delete(rows, c.Key); c.New != nil {
			rows[c.Key] = c.New
		}
	}
	s.state.Meta, s.state.Addrs, s.state.Rows = d.Meta, nil, nil
	for _, h := range byAddr {
		s.state.Addrs = append(s.state.Addrs, h)
	}
	for _, r := range rows {
		s.state.Rows = append(s.state.Rows, r)
	}
	return nil
}

func TestAnEntryThatNoTableCanHoldIsLeftOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.db")
	openStore := func() allocator.Store {
		s, _, err := boltstore.Open(path, boltstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29")}
	a := open(t, openStore(), nil, cfg)
	long := strings.Repeat("x", vip.MaxName+1)
	r := apply(t, a, full(set("m", "web", "", long), set("", "a"), set(long, "b"), set("n", "db")))
	want := map[string]string{"db": "10.0.0.1", "web": "10.0.0.2"}
	wantTable(t, a, want)
	var refused []string
	for _, x := range r.Refused {
		refused = append(refused, fmt.Sprintf("%.20q %.20q %v", x.Mesh, x.Entry.Name, x.Err != nil && len(x.String()) < 400))
	}
	if got, want := fmt.Sprint(refused), fmt.Sprintf(`["m" "" true "m" %.20q true "" "" true %.20q "" true]`, long, long); got != want {
		t.Errorf("refused %s, want %s", got, want)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	wantTable(t, open(t, openStore(), nil, cfg), want)
}

func TestAFullPoolServesThoseWhoWaitAfterTheCooldown(t *testing.T) {
	t.Parallel()
	c := &clock{}
	a := open(t, memstore.New(), c, allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease})
	want := map[string]string{
		"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3", "d": "10.0.0.4", "e": "10.0.0.5", "f": "10.0.0.6", "x": "", "y": "",
	}
	r := apply(t, a, full(set("m", "y", "x", "f", "e", "d", "c", "b", "a")))
	if fmt.Sprint(r.Exhausted) != "[0:x 0:y]" {
		t.Errorf("exhausted: %v", r.Exhausted)
	}
	wantTable(t, a, want)
	if s := a.Stats(); s.Waiting != 2 || s.Pools[0].Size != 6 || s.Pools[0].Live != 6 || s.Pools[0].Released != 0 {
		t.Errorf("stats %+v", s)
	}
	apply(t, a, part(drop("m", "c")))
	delete(want, "c")
	c.running += time.Hour - time.Second
	tick(t, a)
	wantTable(t, a, want)
	c.running += 2 * time.Second
	tick(t, a)
	want["x"] = "10.0.0.3"
	wantTable(t, a, want)
	// A newcomer does not come before those who have waited.
	apply(t, a, part(drop("m", "a")))
	c.running += 2 * time.Hour
	apply(t, a, part(set("m", "a-newcomer")))
	delete(want, "a")
	want["a-newcomer"], want["y"] = "", "10.0.0.1"
	wantTable(t, a, want)
	want["z"], want["zz"] = "", ""
	apply(t, a, part(set("m", "z", "zz")))
	if s := a.Stats(); s.Waiting != 3 || s.Pools[0].Live != 6 {
		t.Errorf("stats %+v", s)
	}
	// The one that went gets none back: another has it.
	apply(t, a, part(set("m", "c")))
	want["c"] = ""
	wantTable(t, a, want)
}

func TestNoOtherAddressChangesWhenOneOfManyGoes(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/16"), Cooldown: time.Hour})
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("svc-%03d", i))
	}
	apply(t, a, full(set("m", names...)))
	want := table(a)
	for i := 0; i < 500; i += 50 { // one goes, another is renamed
		gone, renamed := names[i], names[i+1]
		apply(t, a, part(vip.MeshUpdate{Mesh: "m", Set: requests(renamed + "-new"), Drop: []vip.Key{{Name: gone}, {Name: renamed}}}))
		delete(want, gone)
		delete(want, renamed)
		want[renamed+"-new"] = table(a)[renamed+"-new"]
		wantTable(t, a, want)
	}
}

func TestAClosedAllocatorSaysSo(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29")})
	apply(t, a, full(set("m", "web")))
	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, applyErr := a.Apply(context.Background(), full())
	_, _, adoptErr := a.Adopt(context.Background(), nil)
	for what, err := range map[string]error{
		"Apply": applyErr, "Adopt": adoptErr, "Tick": a.Tick(context.Background()),
		"SetOptions": a.SetOptions(context.Background(), "x"), "Verify": a.Verify(context.Background()),
	} {
		if !errors.Is(err, allocator.ErrClosed) {
			t.Errorf("%s of a closed allocator returns %v", what, err)
		}
	}
	wantTable(t, a, map[string]string{"web": "10.0.0.1"})
}

func TestOptionsRaiseTheSerialOnce(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{wall: time.Unix(1000, 0)}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29")}
	a := open(t, store, c, cfg)
	serials := []uint32{a.Stats().Meta.Serial}
	for _, options := range []string{"a", "a", "b"} {
		if err := a.SetOptions(context.Background(), options); err != nil {
			t.Fatal(err)
		}
		serials = append(serials, a.Stats().Meta.Serial)
		a = restart(t, a, store, c, cfg)
	}
	if got := fmt.Sprint(serials); got != "[0 1000 1000 1001]" {
		t.Errorf("serials %v", got)
	}
}
