package vip_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

func TestParseEntryReadsKumasTextForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		want vip.Entry
		err  error
	}{
		{"0:backend", vip.Entry{Kind: vip.Service, Name: "backend"}, nil},
		{"1:httpbin.org", vip.Entry{Kind: vip.Host, Name: "httpbin.org"}, nil},
		{"1:fd00::1", vip.Entry{Kind: vip.Host, Name: "fd00::1"}, nil},
		{"2:Api.Payments.mesh", vip.Entry{Kind: vip.FQDN, Name: "Api.Payments.mesh"}, nil},
		{"0::", vip.Entry{Kind: vip.Service, Name: ":"}, nil},
		{"0:\xff\x00 \n", vip.Entry{Kind: vip.Service, Name: "\xff\x00 \n"}, nil},
		{"1:", vip.Entry{}, vip.ErrEmptyName},
		{"backend", vip.Entry{}, vip.ErrSyntax},
		{"", vip.Entry{}, vip.ErrSyntax},
		{":x", vip.Entry{}, vip.ErrSyntax},
		{"00:x", vip.Entry{}, vip.ErrSyntax},
		{"+0:x", vip.Entry{}, vip.ErrSyntax},
		{"-1:x", vip.Entry{}, vip.ErrSyntax},
		{"256:x", vip.Entry{}, vip.ErrSyntax},
		{"9:x", vip.Entry{}, vip.ErrKind},
		{"3:default/Backend", vip.Entry{Kind: vip.MeshService, Mesh: "default", Name: "Backend"}, nil},
		{"5:a/b/c", vip.Entry{Kind: vip.MeshMultiZoneService, Mesh: "a", Name: "b/c"}, nil},
		{"4:backend", vip.Entry{}, vip.ErrSyntax},
		{"4:/backend", vip.Entry{}, vip.ErrMesh},
		{"4:default/", vip.Entry{}, vip.ErrEmptyName},
		{"0:" + strings.Repeat("a", vip.MaxName+1), vip.Entry{}, vip.ErrLongName},
	} {
		got, err := vip.ParseEntry(tc.in)
		if !errors.Is(err, tc.err) || got != tc.want {
			t.Errorf("ParseEntry(%.40q) = %+v, %v; want %+v, %v", tc.in, got, err, tc.want, tc.err)
		}
		if err != nil && len(err.Error()) > 250 {
			t.Errorf("ParseEntry(%.40q): the error is %d bytes long", tc.in, len(err.Error()))
		}
	}
}

func TestEntryTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := vip.Entry{
			Kind: vip.Kind(rapid.IntRange(0, 5).Draw(t, "kind")),
			Name: string(rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, "name")),
		}
		if e.Kind.OfMesh() {
			e.Mesh = rapid.StringMatching("[a-z0-9-]{1,20}").Draw(t, "mesh")
		}
		got, err := vip.ParseEntry(e.String())
		if err != nil || got != e {
			t.Fatalf("%q came back as %+v, %v", e, got, err)
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	for _, s := range []string{"0:backend", "1:fd00::1", "1:", "2:\xff", "99999999999999999999:x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := vip.ParseEntry(s)
		if err == nil && e.String() != s {
			t.Fatalf("%q parsed as %+v, which prints as %q", s, e, e)
		}
	})
}

func TestKeysIgnoreCaseOfASCIIOnly(t *testing.T) {
	a := vip.Entry{Name: "BackEnd_\u00c4\xc4"}
	if got, want := a.Key().Name, "backend_\u00c4\xc4"; got != want {
		t.Errorf("key name %q, want %q", got, want)
	}
	if a.Key() != (vip.Entry{Name: "bACKeND_\u00c4\xc4"}).Key() {
		t.Error("spellings that differ in case have different keys")
	}
	if n := testing.AllocsPerRun(100, func() { vip.Fold("already-lower_case.5678") }); n != 0 {
		t.Errorf("Fold of a lower-case name allocates %v times", n)
	}
}

func TestKeyOrderIsTotal(t *testing.T) {
	t.Parallel()
	key := rapid.Custom(func(t *rapid.T) vip.Key {
		return vip.Entry{
			Kind: vip.Kind(rapid.IntRange(0, 2).Draw(t, "kind")),
			Mesh: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "mesh"),
			Name: rapid.SampledFrom([]string{"", "a", "B", "b", "ab"}).Draw(t, "name"),
		}.Key()
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := key.Draw(t, "a"), key.Draw(t, "b"), key.Draw(t, "c")
		if (a.Compare(b) == 0) != (a == b) || a.Compare(b) != -b.Compare(a) {
			t.Fatalf("%v and %v: %d, %d", a, b, a.Compare(b), b.Compare(a))
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			t.Fatalf("%v ≤ %v ≤ %v, but not the first and last", a, b, c)
		}
	})
}

func TestRowShowsTheFirstSpellingAndLeavesItsSourceAlone(t *testing.T) {
	t.Parallel()
	row := &vip.Row{
		Entry:    vip.Entry{Name: "backend"},
		V4:       netip.MustParseAddr("240.0.0.1"),
		Listings: []vip.Listing{{Mesh: "b", Name: "backend"}},
	}
	both := row.WithListing(vip.Listing{Mesh: "a", Name: "Backend"})
	if both.Entry.Name != "Backend" || row.Entry.Name != "backend" || len(row.Listings) != 1 {
		t.Errorf("rows %+v and %+v", row, both)
	}
	if both.Key() != row.Key() {
		t.Error("another spelling is another key")
	}
	if !slices.IsSortedFunc(both.Listings, func(x, y vip.Listing) int { return strings.Compare(x.Mesh, y.Mesh) }) {
		t.Errorf("listings out of order: %+v", both.Listings)
	}
	again := both.WithListing(vip.Listing{Mesh: "a", Name: "backEND"})
	if l, ok := again.Listing("a"); !ok || l.Name != "backEND" || both.Listings[0].Name != "Backend" {
		t.Errorf("listing %+v, %v beside %+v", l, ok, both.Listings)
	}
	back := both.WithoutListing("a")
	if !back.Equal(row) || len(both.Listings) != 2 {
		t.Errorf("rows %+v and %+v", back, both)
	}
	if _, ok := back.Listing("a"); ok {
		t.Error("a still lists the entry")
	}
	if !back.Has(row.V4) || back.Has(netip.Addr{}) || !slices.Equal(back.Addrs(), []netip.Addr{row.V4}) {
		t.Errorf("addresses of %+v", back)
	}
}

func TestManyListingsChangeAsOneByOne(t *testing.T) {
	t.Parallel()
	meshes := []string{"a", "b", "c", "d", "e"}
	name := rapid.SampledFrom([]string{"web", "Web", "wEB"})
	rapid.Check(t, func(t *rapid.T) {
		row := &vip.Row{Entry: vip.Entry{Name: "web"}}
		var set []vip.Listing
		var drop []string
		for _, m := range meshes {
			if rapid.Bool().Draw(t, "has "+m) {
				row = row.WithListing(vip.Listing{Mesh: m, Name: name.Draw(t, "name")})
			}
			switch rapid.IntRange(0, 2).Draw(t, "change "+m) {
			case 1:
				set = append(set, vip.Listing{Mesh: m, Name: name.Draw(t, "name")})
			case 2:
				drop = append(drop, m)
			}
		}
		want := row
		for _, l := range set {
			want = want.WithListing(l)
		}
		for _, m := range drop {
			want = want.WithoutListing(m)
		}
		got := row.With(set, drop)
		if len(got.Listings) == 0 {
			got.Entry, want.Entry = vip.Entry{}, vip.Entry{} // nobody's spelling
		}
		if !got.Equal(want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if !slices.IsSortedFunc(got.Listings, func(x, y vip.Listing) int { return strings.Compare(x.Mesh, y.Mesh) }) {
			t.Fatalf("listings out of order: %+v", got.Listings)
		}
	})
}

func TestTagsAreSortedAndComeBack(t *testing.T) {
	t.Parallel()
	m := map[string]string{"version": "v1", vip.ServiceTag: "backend", "a": "b"}
	o := vip.Outbound{Tags: vip.NewTags(m)}
	if !slices.IsSortedFunc(o.Tags, func(a, b vip.Tag) int { return strings.Compare(a.Key, b.Key) }) {
		t.Errorf("tags %v", o.Tags)
	}
	if got := o.TagMap(); len(got) != 3 || got["version"] != "v1" {
		t.Errorf("tags came back as %v", got)
	}
	if p := (vip.Outbound{Tags: vip.NewTags(map[string]string{"a": "c"})}); o.Equal(p) || o.Compare(p) == 0 {
		t.Error("different tags compare equal")
	}
}
