package allocator_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// TestAPatchThatDoesNotFitChangesNothing: whatever is wrong with it.
func TestAPatchThatDoesNotFitChangesNothing(t *testing.T) {
	t.Parallel()
	other := vip.Key{Name: "other"}
	a, b := vip.Key{Name: "a"}, vip.Key{Name: "b"}
	for name, spoil := range map[string]func(p *allocator.Patch){
		"another base":                      func(p *allocator.Patch) { p.Base++; p.Meta.Revision++ },
		"the same base again":               func(p *allocator.Patch) { p.Base--; p.Meta.Revision-- },
		"two commits in one":                func(p *allocator.Patch) { p.Meta.Revision++ },
		"another store":                     func(p *allocator.Patch) { p.Meta.ID = "x" },
		"an earlier clock":                  func(p *allocator.Patch) { p.Meta.Clock = 0 },
		"no serial":                         func(p *allocator.Patch) { p.Meta.Serial = 0 },
		"a listing of nobody":               func(p *allocator.Patch) { p.Listings[0].Key = other },
		"a listing of a mesh that is not":   func(p *allocator.Patch) { p.Listings[0].Mesh, p.Listings[0].Listing.Mesh = "x", "x" },
		"a listing of another mesh":         func(p *allocator.Patch) { p.Listings[0].Mesh = "x" },
		"a listing in another name":         func(p *allocator.Patch) { p.Listings[0].Listing.Name = "x" },
		"a listing that was not":            func(p *allocator.Patch) { p.Listings = append(p.Listings, allocator.ListingPatch{Key: a, Mesh: "n"}) },
		"a listing twice":                   func(p *allocator.Patch) { p.Listings = append(p.Listings, p.Listings[0]) },
		"a row without listings":            func(p *allocator.Patch) { p.Listings = p.Listings[1:] },
		"a row that loses all":              func(p *allocator.Patch) { p.Listings = append(p.Listings, allocator.ListingPatch{Key: a, Mesh: "m"}) },
		"a row twice":                       func(p *allocator.Patch) { p.Rows = append(p.Rows, p.Rows[0]) },
		"a row that has gone and is listed": func(p *allocator.Patch) { p.Rows = append(p.Rows, allocator.RowPatch{Key: a, Gone: true}) },
		"a row that was not there has gone": func(p *allocator.Patch) { p.Rows = append(p.Rows, allocator.RowPatch{Key: other, Gone: true}) },
		"a row whose address nobody tells":  func(p *allocator.Patch) { p.Addrs = p.Addrs[:1] },
		"a row whose address is another's":  func(p *allocator.Patch) { p.Addrs[1].Holding.Owner = a },
		"a row whose address is released":   func(p *allocator.Patch) { p.Addrs[1].Holding.Released = true },
		"a row in no pool":                  func(p *allocator.Patch) { p.Rows[0].V4, p.Addrs[1].Addr = addr("10.9.0.1"), addr("10.9.0.1") },
		"an address that is taken away":     func(p *allocator.Patch) { p.Addrs[0].Holding.Released = true },
		"an address of nobody":              func(p *allocator.Patch) { p.Addrs[0].Holding.Owner = other },
		"an address that is lost":           func(p *allocator.Patch) { p.Rows = append(p.Rows, allocator.RowPatch{Key: a}) },
		"an address twice":                  func(p *allocator.Patch) { p.Addrs = append(p.Addrs, p.Addrs[0]) },
		"an address released in the future": func(p *allocator.Patch) {
			p.Addrs = append(p.Addrs, allocator.AddrPatch{Addr: addr("10.0.0.6"), Holding: &allocator.Holding{Owner: other, Released: true, At: p.Meta.Clock + 1}})
		},
		"an address forgotten that was not": func(p *allocator.Patch) { p.Addrs = append(p.Addrs, allocator.AddrPatch{Addr: addr("10.0.0.6")}) },
		"an address forgotten that is had":  func(p *allocator.Patch) { p.Addrs[0].Holding = nil },
		"a mesh that was there":             func(p *allocator.Patch) { p.MeshesNew = []string{"m"} },
		"a mesh that was not there":         func(p *allocator.Patch) { p.MeshesGone = []string{"x"} },
		"a mesh that is listed":             func(p *allocator.Patch) { p.MeshesGone = []string{"m"} },
		"a pool that is used":               func(p *allocator.Patch) { p.Meta.Pools = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pr := newPair(t, allocator.Config{Layout: layout("10.0.0.0/29"), MaxRelease: anyRelease})
			apply(t, pr.leader, full(set("m", "a"), set("n")))
			pr.catchUp(t)
			before, err := pr.follower.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			apply(t, pr.leader, part(set("m", "b")))
			patch := pr.patches[0]
			if patch.Rows[0].Key != b || len(patch.Addrs) != 1 || len(patch.Listings) != 1 {
				t.Fatalf("the patch is %+v", patch)
			}
			patch.Addrs = slices.Insert(patch.Addrs, 0, allocator.AddrPatch{Addr: addr("10.0.0.1"), Holding: &allocator.Holding{Owner: a}})
			spoil(&patch)
			pr.told = nil
			if err := pr.follower.Follow(patch); !errors.Is(err, allocator.ErrConflict) {
				t.Errorf("followed, with %v", err)
			}
			after, err := pr.follower.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			before.Meta.Clock, after.Meta.Clock = 0, 0
			if got, want := describeState(after), describeState(before); got != want || len(pr.told) > 0 {
				t.Errorf("the table is\n%s\nand was\n%s, told: %+v", got, want, pr.told)
			}
			if err := pr.follower.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantTable(t, pr.follower, table(pr.leader))
		})
	}
}
