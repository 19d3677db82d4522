package publish

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serviceOutbound is what a service tag gives.
func serviceOutbound(service string, port uint16) vip.Outbound {
	return vip.Outbound{Port: port, Tags: []vip.Tag{{Key: vip.ServiceTag, Value: service}}, Origin: vip.OriginService}
}

// row returns a row with one mesh's listing. An address may be "".
func row(kind vip.Kind, mesh, name, v4, v6 string, outbounds ...vip.Outbound) *vip.Row {
	r := &vip.Row{
		Entry:    vip.Entry{Kind: kind, Name: name},
		Listings: []vip.Listing{{Mesh: mesh, Name: name, Outbounds: outbounds}},
	}
	if v4 != "" {
		r.V4 = netip.MustParseAddr(v4)
	}
	if v6 != "" {
		r.V6 = netip.MustParseAddr(v6)
	}
	return r
}

// small is a table of two meshes, sorted by key.
func small() []*vip.Row {
	external := vip.OriginHostPrefix + "httpbin"
	backend := row(vip.Service, "default", "Backend", "240.0.0.1", "fd00::1", serviceOutbound("Backend", 0)).
		WithListing(vip.Listing{Mesh: "prod", Name: "backend", Outbounds: []vip.Outbound{serviceOutbound("backend", 8080)}})
	return []*vip.Row{
		backend,
		row(vip.Service, "prod", "prod-only", "240.0.0.2", "", serviceOutbound("prod-only", 0)),
		row(vip.Service, "default", "waits_<&>", "", "", serviceOutbound("waits_<&>", 0)),
		row(vip.Host, "default", "fd00::2", "", "fd00::9",
			vip.Outbound{Port: 443, Tags: []vip.Tag{{Key: vip.ServiceTag, Value: "httpbin"}, {Key: "tls", Value: "true"}}, Origin: external},
			vip.Outbound{Port: 8443, Tags: []vip.Tag{{Key: vip.ServiceTag, Value: "httpbin-alt"}}, Origin: external + "-alt"}),
		row(vip.FQDN, "default", "api.payments.mesh", "240.0.0.3", "", serviceOutbound("api", 7000)),
	}
}

// texts are what names and tags are drawn from: any text, and texts that JSON,
// YAML and Kuma's keys give a meaning.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringN(0, 12, 40),
		rapid.SampledFrom([]string{
			"backend", "BackEnd", "a:b", "::", "true", "no", "~", "null", "0x10", "1e3", "012", "1:30", "- a", "? a", "# a", "a # b", "a: b",
			"{}", "[a]", "*a", "&a", "!a", "%a", "@a", "`a", "|", ">", "'", `"`, `\`, "\n", "a\nb", "\r\n", "\t", " a", "a ", "\x00", "\x1b", "\x7f",
			"\u0085", "\u00a0", "\u2028", "\ufeff", "\ufffd", "\U0001f600", "\U0010ffff", "<no value>", "=", "<<", "...", "---", "2001-01-01",
		}),
	)
}

// odd makes some texts bytes that are not UTF-8.
func odd(texts *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := texts.Draw(t, "text")
		if rapid.IntRange(0, 19).Draw(t, "odd") == 0 {
			s += rapid.SampledFrom([]string{"\xff", "\xc3", "\xed\xa0\x80"}).Draw(t, "bytes")
		}
		return s
	})
}

// tables draws tables of two meshes, sorted by key, with texts of names and
// tags from text.
func tables(text *rapid.Generator[string]) *rapid.Generator[[]*vip.Row] {
	outbound := rapid.Custom(func(t *rapid.T) vip.Outbound {
		tags := rapid.MapOfN(text, text, 0, 3).Draw(t, "tags")
		if rapid.IntRange(0, 3).Draw(t, "service") > 0 {
			tags[vip.ServiceTag] = text.Draw(t, "service tag")
		}
		return vip.Outbound{
			Port:   rapid.SampledFrom([]uint16{0, 1, 80, 443, 65535}).Draw(t, "port"),
			Tags:   vip.NewTags(tags),
			Origin: text.Draw(t, "origin"),
		}
	})
	return rapid.Custom(func(t *rapid.T) []*vip.Row {
		byKey := make(map[vip.Key]*vip.Row)
		for i := range rapid.IntRange(0, 8).Draw(t, "rows") {
			e := vip.Entry{Kind: vip.Kind(rapid.IntRange(0, 5).Draw(t, "kind")), Name: text.Draw(t, "name")}
			if e.Name == "" {
				continue
			}
			mesh := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "mesh")
			var terms *vip.Terms
			if e.Kind.OfMesh() {
				e.Mesh = mesh
				terms = &vip.Terms{Hostnames: []string{"a.local"}}
			} else if rapid.Bool().Draw(t, "static") {
				terms = &vip.Terms{Static: []netip.Addr{netip.AddrFrom4([4]byte{240, 0, 0, byte(i)})}}
			}
			r := byKey[e.Key()]
			if r == nil {
				r = &vip.Row{Entry: e}
				if rapid.Bool().Draw(t, "v4") {
					r.V4 = netip.AddrFrom4([4]byte{240, 0, 0, byte(i)})
				}
				if rapid.Bool().Draw(t, "v6") {
					r.V6 = netip.AddrFrom16([16]byte{0xfd, 15: byte(i)})
				}
			}
			outbounds := rapid.SliceOfN(outbound, 0, 3).Draw(t, "outbounds")
			slices.SortFunc(outbounds, vip.Outbound.Compare)
			byKey[e.Key()] = r.WithListing(vip.Listing{
				Mesh:      mesh,
				Name:      e.Name,
				Outbounds: slices.CompactFunc(outbounds, vip.Outbound.Equal),
				Terms:     terms,
			})
		}
		rows := make([]*vip.Row, 0, len(byKey))
		for _, r := range byKey {
			rows = append(rows, r)
		}
		slices.SortFunc(rows, func(x, y *vip.Row) int { return x.Key().Compare(y.Key()) })
		return rows
	})
}
