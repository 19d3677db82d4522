package allocator_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// someState draws a state of few rows, addresses and meshes, most of them
// unsound.
func someState() *rapid.Generator[allocator.State] {
	return rapid.Custom(func(t *rapid.T) allocator.State {
		pool := prefixes("10.0.0.0/29")[0]
		s := allocator.State{Meta: allocator.Meta{Revision: 1, Serial: 1, Clock: time.Hour, Pools: []allocator.Pool{{Prefix: pool, Next: addr("10.0.0.4")}}}}
		names := rapid.SampledFrom([]string{"a", "a", "b", "b", "C", "c", ""})
		addrs := rapid.SampledFrom([]netip.Addr{addr("10.0.0.1"), addr("10.0.0.2"), addr("10.0.0.3"), addr("10.0.1.1"), addr("fd00::1"), {}})
		meshes := rapid.SampledFrom([]string{"m", "m", "n", "o"})
		for i := range rapid.IntRange(0, 3).Draw(t, "rows") {
			name := names.Draw(t, "name")
			r := &vip.Row{Entry: vip.Entry{Name: name}, V4: addrs.Draw(t, fmt.Sprint("v4 ", i))}
			for range rapid.IntRange(0, 2).Draw(t, "listings") {
				r.Listings = append(r.Listings, vip.Listing{Mesh: meshes.Draw(t, "mesh"), Name: name})
			}
			s.Rows = append(s.Rows, r)
			if rapid.IntRange(0, 5).Draw(t, "keyed") > 0 && r.V4.IsValid() {
				s.Addrs = append(s.Addrs, allocator.Held{Addr: r.V4, Holding: allocator.Holding{Owner: r.Key()}})
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "more keys") {
			h := allocator.Holding{Owner: vip.Entry{Name: names.Draw(t, "owner")}.Key(), Released: rapid.Bool().Draw(t, "released")}
			h.At = rapid.SampledFrom([]time.Duration{0, time.Minute, 2 * time.Hour}).Draw(t, "at")
			s.Addrs = append(s.Addrs, allocator.Held{Addr: addrs.Filter(netip.Addr.IsValid).Draw(t, "addr"), Holding: h})
		}
		s.Meshes = rapid.SampledFrom([][]string{{"m", "n", "o"}, {"m", "n", "o"}, {"m"}, {"m", "m", "n", "o"}}).Draw(t, "meshes")
		if rapid.IntRange(0, 5).Draw(t, "damage") == 0 {
			s.Damaged = append(s.Damaged, allocator.Damage{Place: "x", Addr: addrs.Draw(t, "damaged")})
		}
		return s
	})
}

// TestNothingUnsoundPassesWhileATableIsBuilt: what the one look at a state finds
// sound, Check does too, and a sound one is not looked at twice.
func TestNothingUnsoundPassesWhileATableIsBuilt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := someState().Draw(t, "state")
		err := allocator.Check(s)
		if quick := allocator.Sound(s); quick && err != nil {
			t.Fatalf("passed: %v", err)
		} else if !quick && err == nil && len(s.Damaged) == 0 {
			t.Fatalf("a sound state was not taken for one: %+v", s)
		}
	})
	if !allocator.Sound(goodState()) {
		t.Error("a good state was not taken for one")
	}
	// A key that is there twice, and once cannot be read, does not stand for another.
	odd := goodState()
	odd.Damaged = []allocator.Damage{{Place: "x", Addr: odd.Addrs[0].Addr}}
	odd.Addrs = slices.Delete(odd.Addrs, 1, 2)
	if err := allocator.Check(odd); err == nil || allocator.Sound(odd) {
		t.Errorf("an address without a key was let pass; Check says %v", err)
	}
}
