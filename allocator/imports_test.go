package allocator_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// outcomes are those of an import in words: "mesh entry: result from to by rule of
// winner, pool".
func outcomes(i allocator.Import) map[string]string {
	all := make(map[string]string)
	for _, o := range i.Outcomes {
		text := fmt.Sprintf("%v from %v to %v", o.Result, o.From, o.To)
		if o.Rule != "" {
			text += " by " + string(o.Rule)
		}
		if o.Winner != (vip.Key{}) {
			text += " of " + o.Winner.Name
		}
		if text += o.WinnerMesh; o.WinnerMesh != "" {
			text += "!"
		}
		if o.Pool.IsValid() {
			text += ", pool " + o.Pool.String()
		}
		if (o.Rule == "") != (o.Why == "") {
			text += fmt.Sprintf(" and rule %q has the words %q", o.Rule, o.Why)
		}
		all[fmt.Sprintf("%s %s %v", o.Mesh, o.Entry.Name, o.From)] = text
	}
	return all
}

func wantOutcomes(t *testing.T, i allocator.Import, want map[string]string) {
	t.Helper()
	got := outcomes(i)
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if got[k] != want[k] {
			t.Errorf("%s: %s, want %s", k, got[k], want[k])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d outcomes, want %d", len(got), len(want))
	}
}

// TestAnImportTellsWhatBecameOfEachAddress, and by which rule, whatever the order
// in which the tables are read.
func TestAnImportTellsWhatBecameOfEachAddress(t *testing.T) {
	t.Parallel()
	l := layout("10.0.0.0/28", "10.1.0.0/30")
	l.Pools[0].Exclude, l.Pools[0].Reserve = ranges("10.0.0.13-10.0.0.13"), ranges("10.0.0.14-10.0.0.14")
	l.Pools[1].Drain = true
	l.Statics = []allocator.Static{static("s", "10.0.0.7"), static("elsewhere", "10.0.0.14")}
	host := published("a", "10.9.9.9", "10.0.0.12")
	host.Entry.Kind = vip.Host
	rows := []*vip.Row{
		published("a", "Web", "10.0.0.1"), published("b", "web", "10.0.0.1"), // two meshes, one address
		published("a", "claim", "10.0.0.3"), published("b", "claims", "10.0.0.3"), // the smaller key
		published("a", "moved", "10.0.0.2"), published("b", "moved", "10.0.0.4"), // the first mesh
		published("b", "late", "10.0.0.4"),                                       // which leaves this to another
		published("b", "alone", "10.0.0.5"), published("c", "alone", "10.0.0.6"), // and this to nobody
		published("a", "a-thief", "10.0.0.7"), published("b", "s", "10.0.0.7"), // static before the smaller key
		published("a", "elsewhere", "10.0.0.8"), published("a", "drained", "10.1.0.1"),
		published("a", "excluded", "10.0.0.13"), published("a", "reserved", "10.0.0.14"),
		published("a", "far", "240.7.0.1"), published("a", "further", "192.0.2.9"), published("a", "near", "10.1.0.9"),
		host, published("a", "wants"), published("", "odd", "10.0.0.9"),
	}
	want := map[string]string{
		"a Web 10.0.0.1": "kept from 10.0.0.1 to 10.0.0.1", "b web 10.0.0.1": "kept from 10.0.0.1 to 10.0.0.1",
		"a claim 10.0.0.3":     "kept from 10.0.0.3 to 10.0.0.3",
		"b claims 10.0.0.3":    "conflict from 10.0.0.3 to 10.0.0.10 by key of claim",
		"a moved 10.0.0.2":     "kept from 10.0.0.2 to 10.0.0.2",
		"b moved 10.0.0.4":     "moved from 10.0.0.4 to 10.0.0.2 by mesha!",
		"b late 10.0.0.4":      "kept from 10.0.0.4 to 10.0.0.4",
		"b alone 10.0.0.5":     "kept from 10.0.0.5 to 10.0.0.5",
		"c alone 10.0.0.6":     "moved from 10.0.0.6 to 10.0.0.5 by meshb!",
		"a a-thief 10.0.0.7":   "conflict from 10.0.0.7 to 10.0.0.9 by static of s",
		"b s 10.0.0.7":         "kept from 10.0.0.7 to 10.0.0.7",
		"a elsewhere 10.0.0.8": "kept from 10.0.0.8 to 10.0.0.8",
		"a drained 10.1.0.1":   "kept from 10.1.0.1 to 10.1.0.1",
		"a excluded 10.0.0.13": "moved from 10.0.0.13 to 10.0.0.11 by pool",
		"a reserved 10.0.0.14": "waits from 10.0.0.14 to invalid IP by static of elsewhere",
		"a far 240.7.0.1":      "waits from 240.7.0.1 to invalid IP by pool, pool 240.0.0.0/4",
		"a further 192.0.2.9":  "waits from 192.0.2.9 to invalid IP by pool, pool 192.0.0.0/16",
		"a near 10.1.0.9":      "waits from 10.1.0.9 to invalid IP by pool, pool 10.1.0.8/29",
		"a 10.9.9.9 10.0.0.12": "left out from 10.0.0.12 to invalid IP by name",
		"a wants invalid IP":   "waits from invalid IP to invalid IP",
		" odd 10.0.0.9":        "left out from 10.0.0.9 to invalid IP by invalid",
	}
	cfg := allocator.Config{Layout: l, Cooldown: time.Hour, Now: func() time.Time { return time.Unix(1e9, 0) }}
	for range 20 {
		store := &faulty{Store: memstore.New()}
		a := open(t, store, nil, cfg)
		a.SetChunk(2)
		i, err := a.Import(t.Context(), rows)
		if err != nil || store.commits != 1 {
			t.Fatalf("%v, %d commits", err, store.commits)
		}
		wantOutcomes(t, i, want)
		if fmt.Sprint(i.Pools) != "[10.1.0.8/29 192.0.0.0/16 240.0.0.0/4]" || i.Count(allocator.Kept) != 9 {
			t.Errorf("pools %v, %d kept", i.Pools, i.Count(allocator.Kept))
		}
		// What entries had that nobody has now cools down.
		wantPast := map[string]string{"10.0.0.6": "alone", "10.0.0.12": "10.9.9.9", "10.0.0.13": "excluded", "10.0.0.14": "reserved"}
		if got := past(t, store); !maps.Equal(got, wantPast) {
			t.Errorf("released: %v", got)
		}
		state, again, err := allocator.PlanImport(allocator.State{}, rows, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := allocator.Check(state); err != nil {
			t.Error(err)
		}
		wantOutcomes(t, again, want)
		tick(t, a)
		wantMoves(t, a) // elsewhere's waits for the cooldown of what reserved had
		slices.Reverse(rows)
	}
}

// TestAnImportTakesNothingFromTheTable: who is in it keeps what it has, what
// cools down goes on to, and what meshes say already stands.
func TestAnImportTakesNothingFromTheTable(t *testing.T) {
	t.Parallel()
	store, c := quarantined(t), &clock{running: time.Second}
	cfg := allocator.Config{Layout: layout("10.0.0.0/28"), Cooldown: time.Minute, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "web", "gone", "old")))
	apply(t, a, part(drop("m", "gone")))
	wantTable(t, a, map[string]string{"web": "10.0.0.7", "old": "10.0.0.2"})
	i, err := a.Import(t.Context(), []*vip.Row{
		published("m", "web", "10.0.0.9"), published("n", "web", "10.0.0.7"), published("n", "a", "10.0.0.7"),
		published("n", "b", "10.0.0.6"), published("n", "gone", "10.0.0.6"), published("n", "c", "10.0.0.3"),
	})
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, i, map[string]string{
		"m web 10.0.0.9":  "moved from 10.0.0.9 to 10.0.0.7 by holder of web",
		"n web 10.0.0.7":  "kept from 10.0.0.7 to 10.0.0.7",
		"n a 10.0.0.7":    "conflict from 10.0.0.7 to 10.0.0.8 by holder of web",
		"n b 10.0.0.6":    "conflict from 10.0.0.6 to 10.0.0.10 by cooldown of gone",
		"n gone 10.0.0.6": "kept from 10.0.0.6 to 10.0.0.6",
		"n c 10.0.0.3":    "moved from 10.0.0.3 to 10.0.0.11 by quarantine",
	})
	rows := a.Rows()
	web := rows[len(rows)-1]
	if l, _ := web.Listing("m"); web.Entry.Name != "web" || len(l.Outbounds) != len(requests("web")[0].Outbounds) {
		t.Errorf("web is %+v", web)
	}
}

// TestAnImportIsWholeOrNotThere, in a store that fails.
func TestAnImportIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	store := &faulty{Store: memstore.New(), before: true}
	a := open(t, store, nil, allocator.Config{Layout: layout("10.0.0.0/28")})
	a.SetChunk(1)
	rows := []*vip.Row{published("m", "a", "10.0.0.3"), published("m", "b", "10.0.0.4")}
	if _, err := a.Import(t.Context(), rows); err == nil || len(a.Rows()) > 0 {
		t.Errorf("%v, and the table is %v", err, table(a))
	}
	store.before = false
	if _, err := a.Import(t.Context(), rows); err != nil {
		t.Error(err)
	}
	wantTable(t, a, map[string]string{"a": "10.0.0.3", "b": "10.0.0.4"})
}

// TestWhatKumaGaveIsNotImported for an entry, or for another.
func TestWhatKumaGaveIsNotImported(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29"), MaxRelease: anyRelease})
	apply(t, a, full(with("m", []vip.Request{follows("given", "10.0.0.1"), follows("follows")})))
	i, err := a.Import(t.Context(), []*vip.Row{
		published("m", "given", "10.0.0.2"), published("n", "a", "10.0.0.1"), published("n", "follows", "10.0.0.3"),
	})
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, i, map[string]string{
		"m given 10.0.0.2":   "moved from 10.0.0.2 to 10.0.0.1 by given",
		"n a 10.0.0.1":       "moved from 10.0.0.1 to 10.0.0.4 by given",
		"n follows 10.0.0.3": "kept from 10.0.0.3 to 10.0.0.3", // it is what Kuma had for it
	})
}

// TestAnImportDoesNotReuseWhatKumaHasJustReplaced: the address that an entry gives
// up, because a table says that Kuma gave it another, cools down for others.
func TestAnImportDoesNotReuseWhatKumaHasJustReplaced(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.0.0.0/28"), Cooldown: time.Minute, MaxRelease: anyRelease}
	a := open(t, memstore.New(), &clock{running: time.Second}, cfg)
	apply(t, a, full(set("m", "web")))
	wantTable(t, a, map[string]string{"web": "10.0.0.1"})
	web := published("n", "web")
	web.Listings[0].Terms = &vip.Terms{Given: []netip.Addr{netip.MustParseAddr("241.0.0.1")}}
	i, err := a.Import(t.Context(), []*vip.Row{web, published("n", "a", "10.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, i, map[string]string{
		"n web invalid IP": "new from invalid IP to 241.0.0.1",
		"n a 10.0.0.1":     "conflict from 10.0.0.1 to 10.0.0.2 by cooldown of web",
	})
}
