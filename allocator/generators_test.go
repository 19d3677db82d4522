package allocator_test

import (
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
	"pgregory.net/rapid"
)

// Generators are made where they are used: parallel tests may not share them.

// somePools draws pools that overlap those of other draws, adjoin each other,
// and are as small as pools are.
func somePools() *rapid.Generator[[]netip.Prefix] {
	return rapid.SampledFrom([][]netip.Prefix{
		prefixes("10.0.0.0/29"), prefixes("10.0.0.0/30"), prefixes("10.0.0.4/30"), prefixes("10.0.0.2/31"),
		prefixes("10.0.0.3/32", "10.0.0.4/30"), prefixes("10.0.0.0/29", "fd00::/125"), prefixes("fd00::/125"),
		prefixes("fd00::4/126", "10.0.0.0/28"), prefixes("10.0.0.6/31", "10.0.0.0/30"), prefixes("10.0.0.0/28", "fd00::2/127"),
		prefixes("10.0.0.0/31", "10.0.0.2/31", "fd00::4/128"), prefixes("10.0.0.8/29", "10.0.0.0/29", "fd00::/127", "fd00::2/127"),
	})
}

// somePlace draws an address in the pools that are drawn, near them, or outside.
func somePlace() *rapid.Generator[netip.Addr] {
	return rapid.Custom(func(t *rapid.T) netip.Addr {
		base := rapid.SampledFrom([]string{"10.0.0.0", "10.0.0.0", "fd00::"}).Draw(t, "base")
		a := addr(base)
		for range rapid.IntRange(0, 9).Draw(t, "offset") {
			a = a.Next()
		}
		return a
	})
}

// someRanges draws a few ranges of a pool.
func someRanges(t *rapid.T, p netip.Prefix, without []netipx.IPRange, label string) (ranges []netipx.IPRange) {
	if rapid.IntRange(0, 3).Draw(t, label) > 0 {
		return nil
	}
	all := netipx.RangeOfPrefix(p)
	var addrs []netip.Addr
	for a := all.From(); all.Contains(a); a = a.Next() {
		addrs = append(addrs, a)
	}
	for range rapid.IntRange(1, 2).Draw(t, label+"s") {
		from := rapid.IntRange(0, len(addrs)-1).Draw(t, "from")
		to := rapid.IntRange(from, min(from+3, len(addrs)-1)).Draw(t, "to")
		r := netipx.IPRangeFrom(addrs[from], addrs[to])
		if !slices.ContainsFunc(without, r.Overlaps) {
			ranges = append(ranges, r)
		}
	}
	return ranges
}

// someLayout draws pools with all that a configuration can say of them.
func someLayout() *rapid.Generator[allocator.Layout] {
	return rapid.Custom(func(t *rapid.T) allocator.Layout {
		l := allocator.Ranges(somePools().Draw(t, "pools")...)
		if rapid.Bool().Draw(t, "plain") {
			return l
		}
		for i := range l.Pools {
			p := &l.Pools[i]
			p.Exclude = someRanges(t, p.Prefix, nil, "exclude")
			p.Reserve = someRanges(t, p.Prefix, p.Exclude, "reserve")
			p.Drain = rapid.IntRange(0, 5).Draw(t, "drain") == 0
		}
		for range rapid.IntRange(0, 2).Draw(t, "statics") {
			with := l
			with.Statics = append(slices.Clone(l.Statics), allocator.Static{
				Key: someEntry("a").Draw(t, "entry").Key(), Addr: somePlace().Draw(t, "address"),
			})
			if with.Check() == nil {
				l = with
			}
		}
		return l
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

// someEntry draws an entry that mesh may list.
func someEntry(mesh string) *rapid.Generator[vip.Entry] {
	return rapid.Custom(func(t *rapid.T) vip.Entry {
		e := vip.Entry{
			Kind: rapid.SampledFrom([]vip.Kind{vip.Service, vip.Service, vip.Host, vip.MeshService}).Draw(t, "kind"),
			Name: rapid.SampledFrom([]string{"a", "A", "b", "c", "C", "d", "e"}).Draw(t, "name"),
		}
		if e.Kind.OfMesh() {
			e.Mesh = mesh
		}
		return e
	})
}

// someTerms draws what a mesh asks of an entry, as a rule nothing.
func someTerms(k vip.Kind) *rapid.Generator[*vip.Terms] {
	return rapid.Custom(func(t *rapid.T) *vip.Terms {
		var terms vip.Terms
		if rapid.IntRange(0, 4).Draw(t, "static") == 0 {
			for _, a := range rapid.SliceOfN(somePlace(), 1, 2).Draw(t, "static addresses") {
				if !slices.ContainsFunc(terms.Static, func(b netip.Addr) bool { return a.Is4() == b.Is4() }) {
					terms.Static = append(terms.Static, a)
				}
			}
			slices.SortFunc(terms.Static, netip.Addr.Compare)
		}
		if rapid.IntRange(0, 3).Draw(t, "given") < 2*int(k)-4 || rapid.IntRange(0, 7).Draw(t, "given too") == 0 {
			terms.Given = rapid.SliceOfNDistinct(somePlace(), 1, 2, rapid.ID[netip.Addr]).Draw(t, "given addresses")
			slices.SortFunc(terms.Given, netip.Addr.Compare)
		}
		terms.Follow = rapid.IntRange(0, 7).Draw(t, "follow") == 0
		if terms.Empty() {
			return nil
		}
		return &terms
	})
}

func someRequest(mesh string) *rapid.Generator[vip.Request] {
	return rapid.Custom(func(t *rapid.T) vip.Request {
		e := someEntry(mesh).Draw(t, "entry")
		return vip.Request{
			Entry:     e,
			Outbounds: []vip.Outbound{{Port: uint16(rapid.IntRange(1, 2).Draw(t, "port"))}},
			Terms:     someTerms(e.Kind).Draw(t, "terms"),
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
		m.Set = rapid.SliceOfNDistinct(someRequest(m.Mesh), 0, 6, func(r vip.Request) vip.Key { return r.Entry.Key() }).Draw(t, "set")
		for _, e := range rapid.SliceOfNDistinct(someEntry(m.Mesh), 0, 4, vip.Entry.Key).Draw(t, "drop") {
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
