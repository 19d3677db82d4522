package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// drawTable draws rows as a table has them: by key, listings by mesh.
func drawTable(t *rapid.T, name string) []*vip.Row {
	var rows []*vip.Row
	for _, e := range []vip.Entry{
		{Kind: vip.Service, Name: "api"},
		{Kind: vip.Service, Name: "web"},
		{Kind: vip.Host, Name: "api"},
		{Kind: vip.MeshService, Mesh: "a", Name: "api"},
	} {
		r := &vip.Row{Entry: e}
		for _, mesh := range []string{"a", "b"} {
			if !rapid.Bool().Draw(t, fmt.Sprint(name, e, mesh)) {
				continue
			}
			l := vip.Listing{Mesh: mesh, Name: e.Name}
			if port := rapid.Uint16Range(0, 2).Draw(t, "port"); port > 0 {
				l.Outbounds = []vip.Outbound{{Port: port}}
			}
			if rapid.Bool().Draw(t, "terms") {
				l.Terms = &vip.Terms{Follow: true}
			}
			r = r.WithListing(l)
		}
		if n := rapid.Uint8Range(0, 2).Draw(t, "v4"); n > 0 {
			r.V4 = netip.AddrFrom4([4]byte{240, 0, 0, n})
		}
		if rapid.Bool().Draw(t, "v6") {
			r.V6 = netip.MustParseAddr("fd00::1")
		}
		if len(r.Listings) > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

func TestTablesAreEqualExactlyWhereAllOfTheirRowsAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawTable(t, "a"), drawTable(t, "b")
		if rapid.Bool().Draw(t, "same") {
			b = a
		}
		slices.Reverse(b) // the order of rows means nothing
		r := compare(diffSide{rows: diffRows(a)}, diffSide{rows: diffRows(b)}, false)
		want := len(a) == len(b)
		for _, x := range a {
			want = want && slices.ContainsFunc(b, x.Equal)
		}
		if r.Equal != want {
			t.Fatalf("equal: %v, want %v; %+v", r.Equal, want, r.Differences)
		}
		back := compare(diffSide{rows: diffRows(b)}, diffSide{rows: diffRows(a)}, false)
		if len(back.Differences) != len(r.Differences) {
			t.Fatalf("%d differences one way, %d the other", len(r.Differences), len(back.Differences))
		}
		for i, d := range r.Differences {
			o := back.Differences[i]
			if d.Entry != o.Entry || d.Mesh != o.Mesh || d.A != o.B || d.B != o.A {
				t.Fatalf("%+v one way, %+v the other", d, o)
			}
		}
	})
}

func TestATableOfKumasIsHeldAgainstWhatItCanCarry(t *testing.T) {
	t.Parallel()
	v4, v6 := netip.MustParseAddr("240.0.0.1"), netip.MustParseAddr("fd00::1")
	ours := []*vip.Row{
		{
			Entry: vip.Entry{Name: "web"}, V4: v4, V6: v6,
			Listings: []vip.Listing{{Mesh: "a", Name: "web", Outbounds: []vip.Outbound{{Port: 80}}, Terms: &vip.Terms{Static: []netip.Addr{v4}}}},
		},
		{Entry: vip.Entry{Kind: vip.MeshService, Mesh: "a", Name: "x"}, V4: v4.Next(), Listings: []vip.Listing{{Mesh: "a", Name: "x"}}},
	}
	row := &vip.Row{Entry: vip.Entry{Name: "web"}, V4: v4, Listings: []vip.Listing{{Mesh: "a", Name: "web"}}}
	for _, bare := range []bool{true, false} {
		kumas := diffSide{rows: diffRows([]*vip.Row{row}), reduced: true, bare: bare}
		r := compare(diffSide{rows: diffRows(ours)}, kumas, false)
		if r.Uncompared != 1 || r.Equal != bare {
			t.Errorf("bare %v: equal %v, %d left out, %+v", bare, r.Equal, r.Uncompared, r.Differences)
		}
	}
	if r := compare(diffSide{rows: diffRows(ours)}, diffSide{rows: diffRows([]*vip.Row{row})}, false); r.Equal {
		t.Error("a table without the second address is equal to one that has it")
	}
}

func TestMeshesThatDisagreeOnAnAddressAreADifference(t *testing.T) {
	t.Parallel()
	of := func(mesh string, last byte) *vip.Row {
		return &vip.Row{
			Entry: vip.Entry{Name: "web"}, V4: netip.AddrFrom4([4]byte{240, 0, 0, last}),
			Listings: []vip.Listing{{Mesh: mesh, Name: "web"}},
		}
	}
	agreed := of("a", 1).WithListing(of("b", 1).Listings[0])
	r := compare(
		diffSide{rows: diffRows([]*vip.Row{of("b", 2), of("a", 1)}), reduced: true},
		diffSide{rows: diffRows([]*vip.Row{agreed})}, false)
	if len(r.Differences) != 1 || r.Differences[0].A != "240.0.0.1 240.0.0.2" || r.Differences[0].B != "240.0.0.1" {
		t.Errorf("%+v", r.Differences)
	}
	var p page
	r.text(&p)
	if got := p.String(); strings.TrimSpace(got) != "~ 0:web  240.0.0.1 240.0.0.2 -> 240.0.0.1" {
		t.Errorf("shown as %q", got)
	}
}
