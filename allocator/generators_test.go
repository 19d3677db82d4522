package allocator_test

import (
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// Generators are made where they are used: parallel tests may not share them.

func somePools() *rapid.Generator[[]netip.Prefix] {
	return rapid.SampledFrom([][]netip.Prefix{
		prefixes("10.0.0.0/29"), prefixes("10.0.0.0/30"), prefixes("10.0.0.4/30"), prefixes("10.0.0.2/31"),
		prefixes("10.0.0.3/32", "10.0.0.4/30"), prefixes("10.0.0.0/29", "fd00::/125"), prefixes("fd00::/125"),
		prefixes("fd00::4/126", "10.0.0.0/28"), prefixes("10.0.0.6/31", "10.0.0.0/30"), prefixes("10.0.0.0/28", "fd00::2/127"),
	})
}

func someLimit() *rapid.Generator[allocator.Limit] {
	return rapid.SampledFrom([]allocator.Limit{
		{}, anyRelease, {Stated: true, N: 0}, {Stated: true, N: 2}, {Stated: true, N: 50, Percent: true}, {Stated: true, N: 1000},
	})
}

func someCooldown() *rapid.Generator[time.Duration] {
	return rapid.SampledFrom([]time.Duration{0, 1, time.Minute, time.Hour})
}

func someEntry() *rapid.Generator[vip.Entry] {
	return rapid.Custom(func(t *rapid.T) vip.Entry {
		return vip.Entry{
			Kind: rapid.SampledFrom([]vip.Kind{vip.Service, vip.Host}).Draw(t, "kind"),
			Name: rapid.SampledFrom([]string{"a", "A", "b", "c", "C", "d", "e"}).Draw(t, "name"),
		}
	})
}

func someRequest() *rapid.Generator[vip.Request] {
	return rapid.Custom(func(t *rapid.T) vip.Request {
		return vip.Request{
			Entry:     someEntry().Draw(t, "entry"),
			Outbounds: []vip.Outbound{{Port: uint16(rapid.IntRange(1, 2).Draw(t, "port"))}},
		}
	})
}

func someUpdate() *rapid.Generator[vip.MeshUpdate] {
	return rapid.Custom(func(t *rapid.T) vip.MeshUpdate {
		m := vip.MeshUpdate{
			Mesh: rapid.SampledFrom([]string{"a", "b", "c", vip.DefaultMesh}).Draw(t, "mesh"),
			Gone: rapid.IntRange(0, 9).Draw(t, "gone") == 0,
		}
		if m.Gone {
			return m
		}
		m.Set = rapid.SliceOfNDistinct(someRequest(), 0, 6, func(r vip.Request) vip.Key { return r.Entry.Key() }).Draw(t, "set")
		for _, e := range rapid.SliceOfNDistinct(someEntry(), 0, 4, vip.Entry.Key).Draw(t, "drop") {
			if !slices.ContainsFunc(m.Set, func(r vip.Request) bool { return r.Entry.Key() == e.Key() }) {
				m.Drop = append(m.Drop, e.Key())
			}
		}
		return m
	})
}

func someBatch() *rapid.Generator[vip.Batch] {
	return rapid.Custom(func(t *rapid.T) vip.Batch {
		b := vip.Batch{
			Full:       rapid.IntRange(0, 2).Draw(t, "full") == 0,
			Incomplete: rapid.SampledFrom([]string{"", "", "", "x.yaml"}).Draw(t, "incomplete"),
			Meshes:     rapid.SliceOfNDistinct(someUpdate(), 0, 4, func(m vip.MeshUpdate) string { return m.Mesh }).Draw(t, "meshes"),
		}
		if b.Full {
			for i := range b.Meshes {
				b.Meshes[i].Drop = nil
			}
		}
		return b
	})
}
