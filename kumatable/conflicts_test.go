package kumatable

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

func TestConflictsAreToldAcrossAndInsideTables(t *testing.T) {
	t.Parallel()
	tables := []Table{
		{Mesh: "shop", From: "shop.json", Rows: []*vip.Row{
			row(vip.Service, "shop", "orders", "240.0.0.1"),
			row(vip.Service, "shop", "billing", "240.0.0.2"),
			row(vip.Service, "shop", "books", "240.0.0.2"), // inside a table
			row(vip.Service, "shop", "both", "240.0.0.9"),
			row(vip.Service, "shop", "both", "fd00::9"), // a family each
			row(vip.Service, "shop", "waits", ""),
			row(vip.Host, "shop", "orders", "240.0.0.5"),
			row(vip.Host, "shop", "Orders", "240.0.0.6"), // inside a table
		}},
		{Mesh: "depot", From: "depot.json", Rows: []*vip.Row{
			row(vip.Service, "depot", "Orders", "240.0.0.1"), // as in the other
			row(vip.Service, "depot", "stock", "240.0.0.2"),
			row(vip.Service, "depot", "both", "240.0.0.10"),
			row(vip.Service, "depot", "waits", ""),
			row(vip.FQDN, "depot", "a.shop", "fd00::9"),
		}},
		{Mesh: "shop", From: "again.json", Rows: []*vip.Row{row(vip.Service, "shop", "orders", "240.0.0.1")}},
	}
	want := []string{
		`address 240.0.0.2 is that of "0:billing" in mesh "shop", "0:books" in mesh "shop", "0:stock" in mesh "depot"`,
		`address fd00::9 is that of "0:both" in mesh "shop", "2:a.shop" in mesh "depot"`,
		`entry "0:both" has 240.0.0.10 in mesh "depot", 240.0.0.9 in mesh "shop"`,
		`entry "1:orders" has 240.0.0.5 in mesh "shop", 240.0.0.6 in mesh "shop"`,
	}
	var got []string
	for _, c := range Conflicts(tables) {
		got = append(got, c.String())
		for _, l := range c.Claims {
			if !strings.HasPrefix(l.From, l.Mesh) {
				t.Errorf("claim %+v", l)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := Conflicts(nil); len(got) > 0 {
		t.Errorf("conflicts of nothing: %v", got)
	}
}

// TestConflictsAreThoseOfAPlainComparison compares each pair of rows.
func TestConflictsAreThoseOfAPlainComparison(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tables []Table
		for i := range rapid.IntRange(0, 4).Draw(t, "tables") {
			table := Table{Mesh: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "mesh"), From: fmt.Sprint(i)}
			for range rapid.IntRange(0, 5).Draw(t, "rows") {
				table.Rows = append(table.Rows, row(
					vip.Kind(rapid.IntRange(0, 1).Draw(t, "kind")), table.Mesh, rapid.SampledFrom([]string{"x", "X", "y"}).Draw(t, "name"),
					rapid.SampledFrom([]string{"", "240.0.0.1", "240.0.0.2", "fd00::1", "fd00::2"}).Draw(t, "addr")))
			}
			slices.SortFunc(table.Rows, compareRows)
			tables = append(tables, table)
		}
		want := make(map[string]bool)
		addr := func(r *vip.Row) (a netip.Addr) {
			for _, a = range r.Addrs() {
				break
			}
			return a
		}
		for _, s := range tables {
			for _, x := range s.Rows {
				for _, u := range tables {
					for _, y := range u.Rows {
						a, b := addr(x), addr(y)
						switch same := x.Key() == y.Key(); {
						case !a.IsValid() || !b.IsValid():
						case a == b && !same:
							want[a.String()] = true
						case a != b && same && a.Is4() == b.Is4():
							want[fmt.Sprint(x.Key(), a.Is4())] = true
						}
					}
				}
			}
		}
		got := make(map[string]bool)
		for _, c := range Conflicts(tables) {
			if !slices.IsSortedFunc(c.Claims, Claim.compare) {
				t.Fatalf("claims out of order: %v", c)
			}
			name := c.Addr.String()
			if !c.Addr.IsValid() {
				name = fmt.Sprint(c.Key, c.Claims[0].Addr.Is4())
			}
			if got[name] {
				t.Fatalf("%v is told twice", c)
			}
			got[name] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		slices.Reverse(tables)
		if n := len(Conflicts(tables)); n != len(got) {
			t.Fatalf("%d conflicts in another order, %d before", n, len(got))
		}
	})
}
