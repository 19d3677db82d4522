package allocator_test

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// history is a table over its life, also past a restore, with all that was ever
// answered from it.
type history struct {
	t     *rapid.T
	cfg   allocator.Config
	clock clock // of the machine: it never stops
	store allocator.Store
	a     *allocator.Allocator
	// answered is when each address was answered last for each entry.
	answered map[netip.Addr]map[vip.Key]time.Duration
	// given are the addresses that somebody got since the backup who did not have
	// them there.
	given map[netip.Addr]map[vip.Key]bool
	// owners are who has, or had, an address in the backup.
	owners map[netip.Addr]vip.Key
	// statics says that entries ask for addresses of their own.
	statics bool
}

func newHistory(t *rapid.T, statics bool) *history {
	h := &history{t: t, statics: statics, clock: clock{wall: time.Unix(1e9, 0)}, answered: make(map[netip.Addr]map[vip.Key]time.Duration)}
	h.cfg = allocator.Config{
		Layout: allocator.Ranges(rapid.SampledFrom([][]netip.Prefix{
			prefixes("10.0.0.0/28"), prefixes("10.0.0.0/29", "10.0.0.8/29", "fd00::/124"), prefixes("10.0.0.0/27"), prefixes("fd00::/125"),
		}).Draw(t, "pools")...),
		Cooldown: time.Hour, MaxRelease: anyRelease, Forget: rapid.SampledFrom([]int{1, 1000}).Draw(t, "forget"),
		Now: func() time.Time { return h.clock.wall }, Running: func() time.Duration { return h.clock.running },
	}
	return h
}

// open starts the server on a store.
func (h *history) open(store allocator.Store) {
	a, err := allocator.Open(context.Background(), store, h.cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.store, h.a = store, a
}

// answer is what the table may be asked at any time: whoever has an address has
// it, and nobody else had it a cooldown ago.
func (h *history) answer() {
	for _, row := range h.a.Rows() {
		for _, a := range row.Addrs() {
			for other, at := range h.answered[a] {
				if other != row.Key() && h.clock.running-at < h.cfg.Cooldown {
					h.t.Fatalf("%v is answered for %v, and was for %v %v ago", a, row.Key(), other, h.clock.running-at)
				}
			}
			if h.answered[a] == nil {
				h.answered[a] = make(map[vip.Key]time.Duration)
			}
			if h.given != nil && h.owners[a] != row.Key() {
				if h.given[a] == nil {
					h.given[a] = make(map[vip.Key]bool)
				}
				h.given[a][row.Key()] = true
			}
			h.answered[a][row.Key()] = h.clock.running
		}
	}
}

// live lets the sources ask for what they like, and time pass.
func (h *history) live(steps int) {
	for range rapid.IntRange(0, steps).Draw(h.t, "steps") {
		names := rapid.SliceOfNDistinct(rapid.IntRange(0, 15), 0, 8, rapid.ID[int]).Draw(h.t, "entries")
		u := vip.MeshUpdate{Mesh: "m"}
		for _, n := range names {
			r := requests("e" + strconv.Itoa(n))[0]
			if h.statics && rapid.IntRange(0, 5).Draw(h.t, "static") == 0 {
				r.Terms = &vip.Terms{Static: []netip.Addr{somePlace().Draw(h.t, "address")}}
			}
			u.Set = append(u.Set, r)
		}
		h.step(vip.Batch{Full: true, Meshes: []vip.MeshUpdate{u}})
		d := rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Minute, time.Hour, 3 * time.Hour}).Draw(h.t, "time")
		h.clock.running += d / 2
		h.clock.wall = h.clock.wall.Add(d / 2)
		h.answer()
		h.clock.running += d / 2
		if rapid.IntRange(0, 3).Draw(h.t, "moves") == 0 {
			h.cfg.Confirm = h.a.Moves().Name
			if err := h.a.Configure(h.cfg); err != nil {
				h.t.Fatal(err)
			}
		}
		if err := h.a.Tick(context.Background()); err != nil {
			h.t.Fatal(err)
		}
		h.answer()
	}
}

func (h *history) step(b vip.Batch) {
	if _, err := h.a.Apply(context.Background(), b); err != nil {
		h.t.Fatal(err)
	}
	h.answer()
}

// restore stops the server, restores a backup, and starts it on that.
func (h *history) restore(backup allocator.State, present *allocator.State, o allocator.Restoration) (allocator.State, allocator.Restored) {
	h.clock.running += rapid.SampledFrom([]time.Duration{0, time.Minute, 2 * time.Hour}).Draw(h.t, "outage")
	o.Now, o.Cooldown, o.Layout = h.clock.wall, h.cfg.Cooldown, h.cfg.Layout
	before := describeState(backup)
	state, done := allocator.Restore(backup, present, o)
	if err := allocator.Check(state); err != nil {
		h.t.Fatalf("restored: %v", err)
	}
	if describeState(backup) != before {
		h.t.Fatal("the backup was changed")
	}
	again, told := allocator.Restore(backup, present, o)
	if describeState(again) != describeState(state) || fmt.Sprint(told) != fmt.Sprint(done) {
		h.t.Fatal("restored twice it is another table")
	}
	store := memstore.New()
	fill(h.t, store, state)
	h.open(store)
	return state, done
}

// TestARestoredTableGivesNoAddressTooSoon: whatever was answered before and after
// the backup, with a present table that tells of all, with none, but a bound of
// what it gave, with one that is older than the backup, and with one that was
// begun in its place.
func TestARestoredTableGivesNoAddressTooSoon(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"", "lost", "older", "another's"} {
		t.Run("present table "+lost, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				h := newHistory(t, lost == "")
				h.open(memstore.New())
				h.live(6)
				older, err := h.a.State(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				h.live(4)
				backup, err := h.a.State(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				h.backedUp(backup)
				h.live(8)
				present, err := h.a.State(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				n := uint64(0)
				for _, keys := range h.given {
					n += uint64(len(keys))
				}
				o := allocator.Restoration{}
				last := &present
				switch lost {
				case "lost":
					o.GivenSince, last = &n, nil
				case "older":
					o.GivenSince, last = &n, &older
				}
				if lost == "older" && older.Meta.Revision == backup.Meta.Revision {
					t.Skip("nobody can tell that it is older")
				}
				if lost == "another's" { // that was begun anew, long after the other was lost
					h.clock.running += h.cfg.Cooldown
					h.clock.wall = h.clock.wall.Add(h.cfg.Cooldown)
					h.open(memstore.New())
					h.live(6)
					if present, err = h.a.State(context.Background()); err != nil {
						t.Fatal(err)
					}
					o.GivenSince = &n
				}
				if lost != "" && lost != "another's" && h.passedOn(backup) {
					t.Skip("an address of the backup's entries has come to others")
				}
				state, done := h.restore(backup, last, o)
				if done.Exact != (lost == "") {
					t.Fatalf("exact: %v", done.Exact)
				}
				restoredIsAhead(t, h, state, done, backup, last)
				h.answer()
				h.live(8)
			})
		})
	}
}

// backedUp notes what is in a backup.
func (h *history) backedUp(backup allocator.State) {
	h.given, h.owners = make(map[netip.Addr]map[vip.Key]bool), make(map[netip.Addr]vip.Key)
	for _, held := range backup.Addrs {
		h.owners[held.Addr] = held.Owner
	}
}

// passedOn reports whether an address that an entry of the backup has was given
// to another since.
func (h *history) passedOn(backup allocator.State) bool {
	for _, row := range backup.Rows {
		for _, a := range row.Addrs() {
			if len(h.given[a]) > 0 {
				return true
			}
		}
	}
	return false
}

// restoredIsAhead: the serial is above all that was shown, and no cursor goes
// back; what is told of each entry is so.
func restoredIsAhead(t *rapid.T, h *history, state allocator.State, done allocator.Restored, backup allocator.State, present *allocator.State) {
	states := []allocator.State{backup}
	if present != nil {
		states = append(states, *present)
	}
	m := state.Meta
	for _, s := range states {
		if m.Serial <= s.Meta.Serial || m.Serial <= uint32(h.clock.wall.Unix()) || m.Revision <= s.Meta.Revision ||
			m.Clock < s.Meta.Clock || m.Generation < s.Meta.Generation || m.Synced {
			t.Fatalf("the table says %+v of itself after %+v", m, s.Meta)
		}
		for _, p := range s.Meta.Pools {
			i := 0
			for ; m.Pools[i].Prefix != p.Prefix; i++ {
			}
			if q := m.Pools[i]; q.Next.IsValid() && (!p.Next.IsValid() || q.Next.Less(p.Next)) {
				t.Fatalf("the cursor of %v was at %v and is at %v", p.Prefix, p.Next, q.Next)
			}
		}
	}
	table := rowMap(state.Rows)
	displaced := make(map[netip.Addr]allocator.Displaced)
	for _, d := range done.Displaced {
		if d.Why == "" || has(table[d.Key], d.From.Is4()) != d.To {
			t.Fatalf("%+v, and the row is %+v", d, table[d.Key])
		}
		displaced[d.From] = d
	}
	for _, row := range backup.Rows {
		for _, a := range row.Addrs() {
			if _, told := displaced[a]; told == table[row.Key()].Has(a) {
				t.Fatalf("%v had %v and has %v; told: %v", row.Key(), a, table[row.Key()].Addrs(), told)
			}
		}
	}
	if len(table) != len(backup.Rows) || done.Entries != len(table) || done.Serial != m.Serial || fmt.Sprint(done.Quarantined) != fmt.Sprint(m.Quarantine) {
		t.Fatalf("told %+v of %d entries", done, len(table))
	}
}
