package allocator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// holdsOf returns what is held, in words: mesh, "!" if it would go, number of
// entries.
func holdsOf(holds []allocator.Hold) string {
	var text []string
	for _, h := range holds {
		gone := ""
		if h.Gone {
			gone = "!"
		}
		text = append(text, fmt.Sprintf("%s%s:%d", h.Mesh, gone, len(h.Entries)))
	}
	return strings.Join(text, " ")
}

func TestManyReleasesAtOnceAreHeld(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		limit    string // "" is the default
		listed   int
		released int
		held     bool
	}{
		{"", 5, 5, false},
		{"", 100, 10, false},
		{"", 100, 11, true},
		{"", 200, 20, false},
		{"", 200, 21, true},
		{"", 11, 11, true},
		{"3", 100, 3, false},
		{"3", 100, 4, true},
		{"3", 4, 4, true},
		{"0", 100, 1, true},
		{"0", 1, 1, true},
		{"10%", 100, 10, false},
		{"10%", 100, 11, true},
		{"10%", 5, 1, true},
		{"0%", 100, 1, true},
		{"100%", 100, 100, false},
		{"1000", 100, 100, false},
	} {
		t.Run(fmt.Sprintf("%s of %d with %q", fmt.Sprint(tc.released), tc.listed, tc.limit), func(t *testing.T) {
			t.Parallel()
			for _, kind := range []string{"full", "part"} {
				a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/16"), MaxRelease: limit(t, tc.limit)})
				all := names(tc.listed)
				apply(t, a, full(set("m", all...)))
				b := part(drop("m", all[:tc.released]...))
				if kind == "full" {
					b = full(set("m", all[tc.released:]...))
				}
				r := apply(t, a, b)
				wantRows, wantHeld := tc.listed-tc.released, ""
				if tc.held {
					wantRows, wantHeld = tc.listed, fmt.Sprintf("m:%d", tc.released)
				}
				if len(a.Rows()) != wantRows || holdsOf(r.Held) != wantHeld || holdsOf(a.Held()) != wantHeld {
					t.Errorf("%s: %d rows, held %q; want %d, %q", kind, len(a.Rows()), holdsOf(r.Held), wantRows, wantHeld)
				}
				if tc.held && !strings.Contains(r.Held[0].Reason, fmt.Sprintf("%d of the %d entries", tc.released, tc.listed)) {
					t.Errorf("%s: the reason is %q", kind, r.Held[0].Reason)
				}
			}
		})
	}
}

func limit(t testing.TB, s string) allocator.Limit {
	t.Helper()
	if s == "" {
		return allocator.Limit{}
	}
	l, err := allocator.ParseLimit(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestReleasesOfManyMeshesTogetherAreHeld(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/16"), MaxRelease: limit(t, "5")})
	apply(t, a, full(set("a", names(10)...), set("b", names(10)...), set("empty")))
	// Three of each mesh are within the limit, six of both are not; a mesh with
	// nothing in it is no matter.
	r := apply(t, a, full(set("a", names(7)...), set("b", names(7)...)))
	if holdsOf(r.Held) != "a:3 b:3" || !strings.Contains(r.Held[0].Reason, "6 of all 20") {
		t.Errorf("held %+v", r.Held)
	}
	if meshes := a.Meshes(); !slices.Equal(meshes, []string{"a", "b"}) {
		t.Errorf("meshes %q", meshes)
	}
}

// TestWhatIsListedNowIsWhatCounts: entries that were changed a hundred times do
// not make the table larger.
func TestWhatIsListedNowIsWhatCounts(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/16")})
	all := names(30)
	meshes := []vip.MeshUpdate{set("a", all[:10]...), set("b", all[10:20]...), set("c", all[20:]...)}
	for port := range uint16(100) {
		for _, m := range meshes {
			for i := range m.Set {
				m.Set[i].Outbounds = []vip.Outbound{{Port: port}}
			}
		}
		apply(t, a, full(meshes...))
	}
	r := apply(t, a, part(drop("a", all[:6]...), drop("b", all[10:16]...), drop("c", all[20:26]...)))
	if holdsOf(r.Held) != "a:6 b:6 c:6" || !strings.Contains(r.Held[0].Reason, "18 of all 30") {
		t.Errorf("held %+v", r.Held)
	}
}

func TestAMeshWithEntriesGoesOnlyOnSomebodysWord(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]vip.Batch{
		"unlisted": full(set("other", "x")), "gone": part(vip.MeshUpdate{Mesh: "m", Gone: true}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, memstore.New(), &clock{}, allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour})
			apply(t, a, full(set("m", "web"), set("other", "x")))
			r := apply(t, a, b)
			if holdsOf(r.Held) != "m!:1" || len(r.Held[0].Reason) == 0 {
				t.Errorf("held %+v", r.Held)
			}
			tick(t, a)
			wantTable(t, a, map[string]string{"web": "10.0.0.1", "x": "10.0.0.2"})
			// Confirmed.
			if err := a.Configure(allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: limit(t, "100%")}); err != nil {
				t.Fatal(err)
			}
			tick(t, a)
			wantTable(t, a, map[string]string{"x": "10.0.0.2"})
			if got := a.Meshes(); !slices.Equal(got, []string{"other"}) || len(a.Held()) > 0 || a.Stats().Held != 0 {
				t.Errorf("meshes %q, held %v", got, a.Held())
			}
			// Back within the cooldown.
			apply(t, a, part(set("m", "web")))
			wantTable(t, a, map[string]string{"web": "10.0.0.1", "x": "10.0.0.2"})
		})
	}
}

func TestAnEmptyMeshGoesAtOnceAndTheDefaultStays(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29")})
	apply(t, a, full(set("m"), set(vip.DefaultMesh)))
	if r := apply(t, a, vip.Batch{Full: true, Incomplete: "x.yaml"}); holdsOf(r.Held) != "m!:0" {
		t.Errorf("held %+v", r.Held)
	}
	apply(t, a, full())
	if got := a.Meshes(); !slices.Equal(got, []string{vip.DefaultMesh}) {
		t.Errorf("meshes %q", got)
	}
}

func TestWhatTheSourceListsAgainIsNoLongerHeld(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/16")})
	all := names(20)
	apply(t, a, full(set("m", all...), set("n", "x")))
	want := table(a)
	apply(t, a, full(set("m")))
	if got := holdsOf(a.Held()); got != "m:20 n!:1" || a.Stats().Held != 21 {
		t.Errorf("held %q", got)
	}
	// Some are listed again: what is left is few enough to go.
	r := apply(t, a, part(set("m", all[:15]...)))
	if got := holdsOf(r.Held); got != "n!:1" {
		t.Errorf("held %q", got)
	}
	for _, gone := range all[15:] {
		delete(want, gone)
	}
	wantTable(t, a, want)
	// All are.
	apply(t, a, full(set("m", all[:15]...), set("n", "x")))
	if len(a.Held()) > 0 {
		t.Errorf("held %+v", a.Held())
	}
	wantTable(t, a, want)
}

// TestAnIncompleteSourceReleasesNothing: not by itself, not by a Tick, not with
// any limit; and it adds and changes.
func TestAnIncompleteSourceReleasesNothing(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/16"), MaxRelease: anyRelease})
	apply(t, a, full(set("m", "a", "b"), set("n", "c")))
	want := table(a)
	r := apply(t, a, vip.Batch{Full: true, Incomplete: "m.yaml: half a document", Meshes: []vip.MeshUpdate{set("m", "b", "new")}})
	want["new"] = "240.0.0.4"
	wantTable(t, a, want)
	if holdsOf(r.Held) != "m:1 n!:1" || !strings.Contains(r.Held[0].Reason, "m.yaml: half a document") {
		t.Errorf("held %+v", r.Held)
	}
	tick(t, a)
	if err := a.Configure(allocator.Config{Layout: layout("240.0.0.0/16"), Cooldown: 0, MaxRelease: limit(t, "1000")}); err != nil {
		t.Fatal(err)
	}
	tick(t, a)
	wantTable(t, a, want)
	// It can be read again, and lists one of the two.
	apply(t, a, full(set("m", "a", "b", "new")))
	delete(want, "c")
	wantTable(t, a, want)
}

// TestAFailedCommitDoesNotForgetThatTheSourceWasIncomplete: the reply is lost,
// what the batch said of holds is not.
func TestAFailedCommitDoesNotForgetThatTheSourceWasIncomplete(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"before", "after"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			store := &faulty{Store: memstore.New()}
			a := open(t, store, nil, allocator.Config{Layout: layout("240.0.0.0/16"), MaxRelease: anyRelease})
			apply(t, a, full(set("m", "a")))
			store.before, store.after = fault == "before", fault == "after"
			if _, err := a.Apply(t.Context(), vip.Batch{Full: true, Incomplete: "x", Meshes: []vip.MeshUpdate{set("m", "b")}}); err == nil {
				t.Fatal("the commit did not fail")
			}
			tick(t, a)
			tick(t, a)
			want := map[string]string{"a": "240.0.0.1"}
			if fault == "after" {
				want["b"] = "240.0.0.2"
			}
			wantTable(t, a, want)
		})
	}
}

func TestAMeshThatComesAgainWhileTheReplyIsLostKeepsItsEntries(t *testing.T) {
	t.Parallel()
	store := &faulty{Store: memstore.New()}
	a := open(t, store, nil, allocator.Config{Layout: layout("240.0.0.0/16"), MaxRelease: anyRelease})
	apply(t, a, full(set("m", "a")))
	apply(t, a, vip.Batch{Full: true, Incomplete: "x"}) // m is held
	store.after = true
	if _, err := a.Apply(t.Context(), part(set("m", "a", "b"))); err == nil {
		t.Fatal("the reply was not lost")
	}
	tick(t, a)
	wantTable(t, a, map[string]string{"a": "240.0.0.1", "b": "240.0.0.2"})
}

func TestParseLimit(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]allocator.Limit{
		"0": {Stated: true}, "50": {Stated: true, N: 50}, "0%": {Stated: true, Percent: true}, "100%": anyRelease,
	} {
		got, err := allocator.ParseLimit(in)
		if err != nil || got != want || got.String() != in {
			t.Errorf("%q: %+v, %v, printed %q", in, got, err, got)
		}
	}
	for _, in := range []string{"", "%", "-1", "+1", "101%", "1.5", " 1", "1 %", "ten", "99999999999999999999"} {
		if got, err := allocator.ParseLimit(in); err == nil || !strings.Contains(err.Error(), "(50) or a percentage") {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	if got := (allocator.Limit{}).String(); !strings.Contains(got, "10%") {
		t.Errorf("the default prints as %q", got)
	}
}

func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"0", "50", "20%", "+1", "01", "100%%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := allocator.ParseLimit(s)
		if err != nil {
			return
		}
		again, err := allocator.ParseLimit(l.String())
		if err != nil || again != l || !l.Stated || l.N < 0 || l.Percent && l.N > 100 {
			t.Fatalf("%q is %+v, printed %q, read again %+v, %v", s, l, l, again, err)
		}
	})
}
