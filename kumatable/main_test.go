package kumatable

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row returns a row that one mesh lists. An address may be "".
func row(kind vip.Kind, mesh, name, addr string, outbounds ...vip.Outbound) *vip.Row {
	r := &vip.Row{
		Entry:    vip.Entry{Kind: kind, Name: name},
		Listings: []vip.Listing{{Mesh: mesh, Name: name, Outbounds: outbounds}},
	}
	if addr != "" {
		if a := netip.MustParseAddr(addr); a.Is4() {
			r.V4 = a
		} else {
			r.V6 = a
		}
	}
	return r
}

// outbound returns an outbound to a service with tags, key and value in turn.
func outbound(port uint16, origin, service string, tags ...string) vip.Outbound {
	all := map[string]string{vip.ServiceTag: service}
	for i := 0; i < len(tags); i += 2 {
		all[tags[i]] = tags[i+1]
	}
	return vip.Outbound{Port: port, Origin: origin, Tags: vip.NewTags(all)}
}

// sample returns a file of testdata.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// texts are what names and tags are drawn from: any text, and texts that JSON
// and Kuma's keys give a meaning.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringN(0, 12, 40),
		rapid.SampledFrom([]string{
			"orders", "OrdErs", "a:b", "::", "fd00::1", "10.0.0.1", "v", "0:v", `"`, `\`, `\u`, "\n", "\x00", "\x7f", "\u2028", "\ufeff", "\ufffd",
			"\U0001f600", "<&>", "{", "}", "[", "]", ",", "svc", "k8s", "kubernetes",
		}),
	)
}

// rows draws the table of mesh "m", sorted by key, with both families, names and
// tags of any text.
func rows() *rapid.Generator[[]*vip.Row] {
	return rapid.Custom(func(t *rapid.T) []*vip.Row {
		byKey := make(map[vip.Key]*vip.Row)
		for i := range rapid.IntRange(0, 8).Draw(t, "rows") {
			e := vip.Entry{Kind: vip.Kind(rapid.IntRange(0, 5).Draw(t, "kind")), Name: texts().Draw(t, "name")}
			if rapid.IntRange(0, 19).Draw(t, "odd") == 0 {
				e.Name += "\xff"
			}
			if e.Name == "" {
				continue
			}
			if e.Kind.OfMesh() {
				e.Mesh = "m"
			}
			r := &vip.Row{Entry: e}
			if rapid.Bool().Draw(t, "v4") {
				r.V4 = netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
			}
			if rapid.Bool().Draw(t, "v6") {
				r.V6 = netip.AddrFrom16([16]byte{0xfd, 15: byte(i)})
			}
			outbounds := rapid.SliceOfN(outbounds(e), 0, 4).Draw(t, "outbounds")
			slices.SortFunc(outbounds, vip.Outbound.Compare)
			mesh := rapid.SampledFrom([]string{"m", "m", "m", "other"}).Draw(t, "mesh")
			byKey[e.Key()] = r.WithListing(vip.Listing{Mesh: mesh, Name: e.Name, Outbounds: slices.CompactFunc(outbounds, vip.Outbound.Equal)})
		}
		var all []*vip.Row
		for _, r := range byKey {
			all = append(all, r)
		}
		slices.SortFunc(all, func(x, y *vip.Row) int { return x.Key().Compare(y.Key()) })
		return all
	})
}

// outbounds draws outbounds of e, most of them such as Kuma writes.
func outbounds(e vip.Entry) *rapid.Generator[vip.Outbound] {
	return rapid.Custom(func(t *rapid.T) vip.Outbound {
		tags := rapid.MapOfN(texts(), texts(), 0, 2).Draw(t, "tags")
		origin := vip.OriginService
		switch e.Kind {
		case vip.Host:
			origin = vip.OriginHostPrefix + texts().Draw(t, "resource")
		case vip.FQDN:
			origin = rapid.SampledFrom([]string{"virtual-outbound:x", "mesh-gateway:m:x:y"}).Draw(t, "origin")
		}
		if e.Kind == vip.Service {
			tags[vip.ServiceTag] = e.Name
		} else if rapid.IntRange(0, 3).Draw(t, "to") > 0 {
			tags[vip.ServiceTag] = texts().Draw(t, "service")
		}
		switch rapid.IntRange(0, 19).Draw(t, "odd outbound") {
		case 0:
			origin = texts().Draw(t, "origin")
		case 1:
			tags[vip.ServiceTag] = texts().Draw(t, "service")
		}
		return vip.Outbound{
			Port:   rapid.SampledFrom([]uint16{0, 1, 80, 443, 65535}).Draw(t, "port"),
			Tags:   vip.NewTags(tags),
			Origin: origin,
		}
	})
}
