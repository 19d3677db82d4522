package names

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/meshvip/coredns-meshvip/vip"
)

// longZone is so long that some of drawName's names do not fit below it.
var longZone = strings.Repeat(strings.Repeat("z", 59)+".", 3) + "mesh."

var (
	zonePool = []string{"mesh.", "svc.mesh.", "a.mesh.", "dns.mesh.", "b.", ".", longZone}
	meshPool = []string{"m1", "m2", "m3"}
)

// drawName draws from so few labels that names collide, across kinds too.
func drawName(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		return rapid.SampledFrom([]string{
			"a b", "a\\b", "a@b;c", "\xff\x00_a", "_a", "a_", "a..b", ".", "é", "ns.dns", "ns_dns", "ns.dns.mesh", "ns.dns.svc.mesh", "dns", "ns.dns.svc",
			strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 40) + "_" + strings.Repeat("y", 40),
			strings.Repeat("x", 50) + "." + strings.Repeat("y", 50), "mesh", "b",
		}).Draw(t, "name")
	}
	var b strings.Builder
	for i := range rapid.IntRange(1, 4).Draw(t, "labels") {
		if i > 0 {
			b.WriteString(rapid.SampledFrom([]string{".", "_"}).Draw(t, "sep"))
		}
		b.WriteString(rapid.SampledFrom([]string{"a", "b", "A", "svc", "ns"}).Draw(t, "label"))
	}
	b.WriteString(rapid.SampledFrom([]string{"", "", "", ".mesh", ".svc.mesh", ".a.mesh", ".b", "."}).Draw(t, "suffix"))
	return b.String()
}

var (
	addrs4 = []string{"240.0.0.1", "240.0.0.2", "240.0.1.1", "240.1.0.1", "241.0.0.1", "240.0.0.3", "240.0.0.4", "240.0.0.5"}
	addrs6 = []string{"fd00::1", "fd00::2", "fd00::10", "fd00::1:0", "fd01::1", "::ffff:240.0.0.1"}
	// theirs are given, beside some of those above.
	theirs   = []string{"10.0.0.1", "10.0.0.2", "10.9.0.1", "240.0.0.1", "240.0.0.2", "241.0.0.1", "2001:db8::1", "fd00::1", "fd00::2"}
	allAddrs = slices.Concat(addrs4, addrs6, theirs)
	hostPool = []string{"a.mesh", "b.mesh", "A.mesh.", "a.svc.mesh", "svc.mesh", "a.a.mesh", "x.b", "ns.dns.mesh", "a..mesh", strings.Repeat("x", 64) + ".mesh"}
)

// free draws an address of pool that no row has, or, seldom, one that some row
// has, as in a damaged table; or the zero Addr.
func free(t *rapid.T, pool []string, rows map[vip.Key]*vip.Row) netip.Addr {
	var left []netip.Addr
	shared := rapid.IntRange(0, 7).Draw(t, "shared") == 0
	for _, s := range pool {
		addr := netip.MustParseAddr(s)
		if shared || !slices.ContainsFunc(slices.Collect(maps.Values(rows)), func(r *vip.Row) bool { return r.Has(addr) }) {
			left = append(left, addr)
		}
	}
	if len(left) == 0 || rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
		return netip.Addr{}
	}
	return rapid.SampledFrom(left).Draw(t, "addr")
}

// drawTerms draws what an entry of a mesh is told and given: nothing of what old
// was told changes, or anything.
func drawTerms(t *rapid.T, old *vip.Row) *vip.Terms {
	terms := new(vip.Terms)
	if old != nil && rapid.Bool().Draw(t, "same hostnames") {
		terms.Hostnames = old.Hostnames()
	} else {
		terms.Hostnames = rapid.SliceOfNDistinct(rapid.SampledFrom(hostPool), 0, 4, rapid.ID[string]).Draw(t, "hostnames")
	}
	drawGiven(t, terms)
	return terms
}

func drawGiven(t *rapid.T, terms *vip.Terms) {
	for _, s := range rapid.SliceOfNDistinct(rapid.SampledFrom(theirs), 0, 5, rapid.ID[string]).Draw(t, "given") {
		terms.Given = append(terms.Given, netip.MustParseAddr(s))
	}
	slices.SortFunc(terms.Given, netip.Addr.Compare)
	if len(terms.Given) > 1 && rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		terms.Given = append(terms.Given, netip.Addr{}, terms.Given[0], netip.MustParseAddr("fe80::1%eth0"))
	}
}

func drawRow(t *rapid.T, e vip.Entry, old *vip.Row, rows map[vip.Key]*vip.Row) *vip.Row {
	r := &vip.Row{Entry: e}
	if e.Kind.OfMesh() {
		r.Listings = []vip.Listing{{Mesh: e.Mesh, Name: e.Name, Terms: drawTerms(t, old)}}
	} else {
		r.Listings = drawListings(t, e)
	}
	if len(r.Given()) == 0 || rapid.IntRange(0, 9).Draw(t, "both") == 0 {
		r.V4, r.V6 = free(t, addrs4, rows), free(t, addrs6, rows)
	}
	return r
}

// drawListings draws which meshes list an entry that any may list, and now and
// then what they say that it was given.
func drawListings(t *rapid.T, e vip.Entry) []vip.Listing {
	var all []vip.Listing
	for _, mesh := range meshPool {
		if rapid.Bool().Draw(t, mesh) {
			all = append(all, vip.Listing{Mesh: mesh, Name: e.Name})
		}
	}
	if len(all) == 0 {
		all = []vip.Listing{{Mesh: "m1", Name: e.Name}}
	}
	if rapid.IntRange(0, 3).Draw(t, "follows") == 0 {
		all[len(all)-1].Terms = new(vip.Terms)
		drawGiven(t, all[len(all)-1].Terms)
	}
	return all
}
