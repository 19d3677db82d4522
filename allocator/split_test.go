package allocator

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// someDelta is a delta as a plan makes it: some rows new, some gone, some that
// take what others had once.
func someDelta(t *rapid.T) Delta {
	pool := Pool{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Next: netip.MustParseAddr("10.0.0.1")}
	d := Delta{
		Base:      7,
		Meta:      Meta{Serial: 100, Revision: 8, Clock: time.Hour, Synced: true, Pools: []Pool{pool}},
		MeshesNew: []string{"new"}, MeshesGone: []string{"gone"},
	}
	next, old := pool.Next, netip.MustParseAddr("10.0.0.100")
	for i := range rapid.IntRange(0, 30).Draw(t, "rows") {
		key := vip.Key{Name: fmt.Sprintf("n-%02d", i)}
		row := &vip.Row{Entry: vip.Entry(key), Listings: []vip.Listing{{Mesh: "new", Name: key.Name}}}
		c := AddrChange{New: &Holding{Owner: key}}
		change := RowChange{Key: key}
		switch rapid.SampledFrom([]string{"fresh", "reused", "released", "waits"}).Draw(t, "kind") {
		case "fresh":
			c.Addr, c.Fresh = next, true
			next = next.Next()
		case "reused":
			c.Addr, c.Old = old, &Holding{Owner: vip.Key{Name: "x"}, Released: true, At: 1}
			old = old.Next()
		case "released":
			c.Addr, c.Old = old, &Holding{Owner: key}
			c.New = &Holding{Owner: key, Released: true, At: d.Meta.Clock}
			old = old.Next()
		}
		if c.Addr.IsValid() {
			row.V4 = c.Addr
			d.Addrs = append(d.Addrs, c)
		}
		if change.New = row; c.New.Released {
			change.Old, change.New = row, nil
		}
		d.Rows = append(d.Rows, change)
	}
	d.Meta.Pools = []Pool{{Prefix: pool.Prefix, Next: next}}
	slices.SortFunc(d.Addrs, func(a, b AddrChange) int { return a.Addr.Compare(b.Addr) })
	return d
}

func TestTheUnionOfPartsIsTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := someDelta(t)
		was := Meta{Serial: 5, Revision: 7, Pools: []Pool{{Prefix: d.Meta.Pools[0].Prefix, Next: netip.MustParseAddr("10.0.0.1")}}}
		n := rapid.IntRange(1, 10).Draw(t, "n")
		parts := d.split(was, Limits{}, n)
		var rows []RowChange
		addrs := make(map[netip.Addr]AddrChange)
		at, taken := time.Duration(0), netip.MustParseAddr("10.0.0.0")
		for i, p := range parts {
			last := i == len(parts)-1
			if len(p.Rows) > n || p.Base != d.Base+uint64(i) || p.Meta.Revision != p.Base+1 {
				t.Fatalf("part %d has %d rows, base %d, revision %d", i, len(p.Rows), p.Base, p.Meta.Revision)
			}
			if p.Meta.Synced != last || len(p.MeshesNew) > 0 != (i == 0) || len(p.MeshesGone) > 0 != last {
				t.Fatalf("part %d of %d: synced %v, meshes %v, %v", i, len(parts), p.Meta.Synced, p.MeshesNew, p.MeshesGone)
			}
			if i > 0 && (p.Meta.Serial <= parts[i-1].Meta.Serial || p.Meta.Clock <= parts[i-1].Meta.Clock) {
				t.Fatalf("part %d is at serial %d, clock %v, after %d, %v", i, p.Meta.Serial, p.Meta.Clock, parts[i-1].Meta.Serial, parts[i-1].Meta.Clock)
			}
			rows = append(rows, p.Rows...)
			if !slices.IsSortedFunc(p.Addrs, func(a, b AddrChange) int { return a.Addr.Compare(b.Addr) }) {
				t.Fatalf("part %d has addresses out of order: %v", i, p.Addrs)
			}
			for _, c := range p.Addrs {
				addrs[c.Addr] = c
				if c.New.Released && (c.New.At < at || c.New.At > p.Meta.Clock) {
					t.Fatalf("part %d releases at %v, clock %v, after %v", i, c.New.At, p.Meta.Clock, at)
				} else if c.New.Released {
					at = c.New.At
				}
				if c.Fresh && taken.Less(c.Addr) {
					taken = c.Addr
				}
				if !slices.ContainsFunc(p.Rows, func(r RowChange) bool { return r.Key == c.New.Owner }) {
					t.Fatalf("part %d changes %v without its row", i, c.Addr)
				}
			}
			// A crash after this part passes nothing over: whatever a later part
			// takes lies at or above the cursor.
			for _, later := range parts[i+1:] {
				for _, c := range later.Addrs {
					if next := p.Meta.Pools[0].Next; c.Fresh && (!next.IsValid() || c.Addr.Less(next)) {
						t.Fatalf("after part %d the cursor is %v, and %v is not taken", i, next, c.Addr)
					}
				}
			}
		}
		if len(rows) != len(d.Rows) || len(addrs) != len(d.Addrs) || parts[len(parts)-1].Meta.Pools[0] != d.Meta.Pools[0] {
			t.Fatalf("%d rows of %d, %d addresses of %d", len(rows), len(d.Rows), len(addrs), len(d.Addrs))
		}
		for i, r := range rows {
			if r != d.Rows[i] {
				t.Fatalf("row %d is of %v, want %v", i, r.Key, d.Rows[i].Key)
			}
		}
	})
}
