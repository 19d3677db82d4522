package allocator_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// someTables draws what the tables of a few meshes say: an entry once a mesh.
func someTables() *rapid.Generator[[]*vip.Row] {
	return rapid.Custom(func(t *rapid.T) (rows []*vip.Row) {
		for _, mesh := range []string{"a", "b", "c"} {
			entries := rapid.SliceOfNDistinct(someEntry(mesh), 0, 6, vip.Entry.Key).Draw(t, mesh)
			for _, e := range entries {
				r := &vip.Row{Entry: e, Listings: []vip.Listing{{Mesh: mesh, Name: e.Name}}}
				for range rapid.IntRange(0, 2).Draw(t, "addresses") {
					if addr := somePlace().Draw(t, "address"); addr.Is4() {
						r.V4 = addr
					} else {
						r.V6 = addr
					}
				}
				if rapid.IntRange(0, 3).Draw(t, "tagged") == 0 {
					r.Listings[0].Terms = someTerms(vip.Service).Draw(t, "terms")
				}
				rows = append(rows, r)
			}
		}
		return rows
	})
}

// TestAnImportKeepsWhatCanBeKept: into any table, and of any tables, in any
// order.
func TestAnImportKeepsWhatCanBeKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		for range rapid.IntRange(0, 3).Draw(t, "batches") {
			m.apply(t)
			m.advance(t)
		}
		before := m.load(t)
		slices.SortFunc(before.Rows, func(a, b *vip.Row) int { return a.Key().Compare(b.Key()) })
		was := describeState(before)
		rows := someTables().Draw(t, "rows")
		for _, r := range rows {
			t.Logf("%v %v %v %v", r.Listings[0].Mesh, r.Entry, r.Addrs(), r.Listings[0].Terms)
		}
		running := time.Duration(0)
		m.cfg.Running = func() time.Duration { return running }
		after, done, err := allocator.PlanImport(before, rows, m.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := allocator.Check(after); err != nil {
			t.Fatal(err)
		}
		if describeState(before) != was {
			t.Fatal("the state that it was planned on has changed")
		}
		shuffled := rapid.Permutation(rows).Draw(t, "shuffled")
		state, again, _ := allocator.PlanImport(before, shuffled, m.cfg)
		if describeState(state) != describeState(after) || fmt.Sprint(again) != fmt.Sprint(done) {
			t.Fatalf("in another order:\n%v\n%v", again, done)
		}
		importIsTold(t, rows, after, done)
		importTakesNothing(t, m, before, after, done)
		if len(before.Rows) == 0 && len(before.Addrs) == 0 && len(before.Meta.Quarantine) == 0 {
			importIsPlain(t, m.cfg.Layout, rows, after)
		}
	})
}

// importIsTold: every address of the tables has an outcome, which is the table's.
func importIsTold(t *rapid.T, rows []*vip.Row, after allocator.State, done allocator.Import) {
	table, want := rowMap(after.Rows), 0
	for _, r := range rows {
		want += max(len(r.Addrs()), 1)
	}
	if len(done.Outcomes) != want {
		t.Fatalf("%d outcomes of %d addresses", len(done.Outcomes), want)
	}
	for _, o := range done.Outcomes {
		row := table[o.Entry.Key()]
		if row == nil {
			t.Fatalf("%+v has no row", o)
		}
		given := row.Given()
		switch {
		case len(given) > 0 && o.To != given[0],
			len(given) == 0 && o.To.IsValid() && !row.Has(o.To),
			len(given) == 0 && o.From.IsValid() && o.To != has(row, o.From.Is4()),
			(o.Result == allocator.Kept) != (o.From.IsValid() && o.From == o.To),
			(o.Result == allocator.Waits) != !o.To.IsValid(),
			(o.Rule == "") != (o.Result == allocator.Kept || !o.From.IsValid()):
			t.Fatalf("%+v, and the row is %+v", o, row)
		}
		if o.Result != allocator.Conflict || o.Rule == allocator.RuleStatic || o.Rule == allocator.RuleCooldown {
			continue
		}
		if winner := table[o.Winner]; winner == nil || !winner.Has(o.From) {
			t.Fatalf("%+v, and the winner is %+v", o, winner)
		}
		if o.Rule == allocator.RuleKey && o.Winner.Compare(o.Entry.Key()) >= 0 {
			t.Fatalf("%+v, and the winner has the larger key", o)
		}
	}
}

// importTakesNothing: who is in the table keeps what it has, and no address that
// somebody had goes to an entry that did not have it.
func importTakesNothing(t *rapid.T, m *machine, before, after allocator.State, done allocator.Import) {
	table := rowMap(after.Rows)
	for _, r := range before.Rows {
		now := table[r.Key()]
		if now == nil || len(now.Given()) == 0 && (r.V4.IsValid() && now.V4 != r.V4 || r.V6.IsValid() && now.V6 != r.V6) {
			t.Fatalf("%v had %v and has %v", r.Key(), r.Addrs(), now)
		}
	}
	if m.cfg.Cooldown < time.Minute {
		return
	}
	for _, o := range done.Outcomes {
		for _, r := range after.Rows {
			claims := func(p allocator.Outcome) bool { return p.Entry.Key() == r.Key() && p.From == o.From }
			had := slices.ContainsFunc(before.Rows, func(s *vip.Row) bool { return s.Key() == r.Key() && s.Has(o.From) })
			own := slices.ContainsFunc(before.Addrs, func(h allocator.Held) bool { return h.Addr == o.From })
			if r.Has(o.From) && !had && !own && !slices.ContainsFunc(done.Outcomes, claims) && o.Rule != "" {
				t.Fatalf("%v has %v, which %v had", r.Key(), o.From, o.Entry)
			}
		}
	}
}

// importIsPlain: in an empty table the claims are settled one after another, the
// static ones first, each by its key and then its mesh.
func importIsPlain(t *rapid.T, l allocator.Layout, rows []*vip.Row, after allocator.State) {
	o := newOracle()
	o.layout, o.table = l, merge(nil, l)
	for _, r := range rows {
		row := o.rows[r.Key()]
		if row == nil {
			row = &vip.Row{Entry: r.Entry}
		}
		o.rows[r.Key()] = row.WithListing(r.Listings[0])
	}
	o.seeGiven()
	type wish struct {
		key  vip.Key
		mesh string
		addr netip.Addr
	}
	var static, automatic []wish
	for _, r := range rows {
		for _, addr := range r.Addrs() {
			w := wish{r.Key(), r.Listings[0].Mesh, addr}
			if o.static(w.key, addr.Is4()) == addr {
				static = append(static, w)
			} else {
				automatic = append(automatic, w)
			}
		}
	}
	for _, wishes := range [][]wish{static, automatic} {
		slices.SortFunc(wishes, func(a, b wish) int {
			return cmp.Or(a.key.Compare(b.key), strings.Compare(a.mesh, b.mesh), a.addr.Compare(b.addr))
		})
		for _, w := range wishes {
			row := o.rows[w.key]
			if _, taken := o.holder(w.addr); taken || has(row, w.addr.Is4()).IsValid() || len(row.Given()) > 0 || o.poolOf(w.addr) < 0 {
				continue
			}
			if o.outOfPlace(w.key, w.addr, o.chosen(w.key, w.addr.Is4()) == w.addr) == "" {
				o.give(w.key, w.addr)
			}
		}
	}
	table := rowMap(after.Rows)
	for key, want := range o.rows {
		for _, addr := range want.Addrs() {
			if !table[key].Has(addr) {
				t.Fatalf("%v has %v, want %v", key, table[key].Addrs(), want.Addrs())
			}
		}
	}
}
