package publish

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/kumatable"
	"github.com/meshvip/coredns-meshvip/vip"
)

const smallTable = `{
  "0:Backend":{"address":"240.0.0.1","outbounds":[{"Port":0,"TagSet":{"kuma.io/service":"Backend"},"Origin":"service"}]},
  "0:waits_<&>":{"outbounds":[{"Port":0,"TagSet":{"kuma.io/service":"waits_<&>"},"Origin":"service"}]},
  "1:fd00::2":{"address":"fd00::9","outbounds":[{"Port":443,"TagSet":{"kuma.io/service":"httpbin","tls":"true"},"Origin":"external-service:httpbin"},{"Port":8443,"TagSet":{"kuma.io/service":"httpbin-alt"},"Origin":"external-service:httpbin-alt"}]},
  "2:api.payments.mesh":{"address":"240.0.0.3","outbounds":[{"Port":7000,"TagSet":{"kuma.io/service":"api"},"Origin":"service"}]}
}
`

func TestTableIsKumasFormat3(t *testing.T) {
	t.Parallel()
	for mesh, want := range map[string]string{
		"default": smallTable,
		"prod": `{
  "0:backend":{"address":"240.0.0.1","outbounds":[{"Port":8080,"TagSet":{"kuma.io/service":"backend"},"Origin":"service"}]},
  "0:prod-only":{"address":"240.0.0.2","outbounds":[{"Port":0,"TagSet":{"kuma.io/service":"prod-only"},"Origin":"service"}]}
}
`,
		"nobody": "{}\n",
	} {
		got, err := kumatable.Encode3(mesh, small())
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("mesh %s: %v (-want +got)\n%s", mesh, err, diff)
		}
	}
}

// byTags are the outbounds without options.
func byTags(mesh string, rows []*vip.Row) ([]byte, error) { return EncodeOutbounds(mesh, rows) }

// stored is what of rows comes back from mesh's table, told plainly: services,
// hosts and fqdns, without what they ask for beside.
func stored(mesh string, rows []*vip.Row) (kept []*vip.Row, lost []vip.Key) {
	for _, r := range rows {
		for _, l := range r.Listings {
			if l.Mesh != mesh || r.Entry.Kind > vip.FQDN {
				continue
			}
			l.Terms = nil
			if text := fmt.Sprint(l); !utf8.ValidString(text) {
				lost = append(lost, r.Key())
				continue
			}
			k := &vip.Row{Entry: vip.Entry{Kind: r.Entry.Kind, Name: l.Name}, V4: r.V4, Listings: []vip.Listing{l}}
			if !r.V4.IsValid() {
				k.V6 = r.V6
			}
			kept = append(kept, k)
		}
	}
	return kept, lost
}

func TestEntriesThatAreNotUTF8AreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	good := row(vip.Service, "m", "good", "240.0.0.9", "", serviceOutbound("good", 0))
	tag := serviceOutbound("x", 0)
	tag.Tags = []vip.Tag{{Key: "version", Value: "v\xff"}}
	origin := serviceOutbound("x", 0)
	origin.Origin = "external-service:\xff"
	for want, bad := range map[string]*vip.Row{
		`"0:\xffname": its name is not UTF-8`:                   row(vip.Service, "m", "\xffname", "240.0.0.1", "", serviceOutbound("x", 0)),
		`"0:tag": the tag "version=v\xff" is not UTF-8`:         row(vip.Service, "m", "tag", "240.0.0.1", "", tag),
		`"0:origin": the origin "external-service:\xff" is not`: row(vip.Service, "m", "origin", "240.0.0.1", "", origin),
		`"0:aaaa`:                     row(vip.Service, "m", strings.Repeat("a", vip.MaxName+1), "240.0.0.1", "", serviceOutbound("x", 0)),
		`"9:odd": unknown entry type`: row(9, "m", "odd", "240.0.0.1", "", serviceOutbound("x", 0)),
		`correct it in the resource that gives it`:                 row(vip.Host, "m", "\xc3\x28", "240.0.0.1", "", serviceOutbound("x", 0)),
		`1 left out: entry "2:\xff": its name is not UTF-8, which`: row(vip.FQDN, "m", "\xff", "240.0.0.1", "", serviceOutbound("x", 0)),
	} {
		for form, encode := range map[string]func(string, []*vip.Row) ([]byte, error){"table": kumatable.Encode3, "outbounds": byTags} {
			alone, err := encode("m", []*vip.Row{good})
			if err != nil {
				t.Fatal(err)
			}
			got, err := encode("m", []*vip.Row{bad, good})
			if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, new(SetAside)) {
				t.Errorf("%s: error %v, want one of %s", form, err, want)
			}
			if !bytes.Equal(got, alone) {
				t.Errorf("%s: want the good row alone, got\n%s", form, got)
			}
			if _, err := encode("other", []*vip.Row{bad, good}); err != nil {
				t.Errorf("%s: a mesh that does not list the row: %v", form, err)
			}
		}
	}
}

func TestKindsThatFormat3DoesNotKnowAreNotPublished(t *testing.T) {
	t.Parallel()
	rows := small()
	for kind := vip.MeshService; kind.Valid(); kind++ {
		r := row(kind, "default", "backend", "240.0.0.50", "fd00::50", serviceOutbound("backend", 80))
		r.Entry.Mesh = "default"
		odd := row(kind, "default", "\xff", "240.0.0.51", "", serviceOutbound("backend", 80))
		odd.Entry.Mesh = "default"
		rows = append(rows, r, odd)
	}
	if got, err := kumatable.Encode3("default", rows); string(got) != smallTable || err != nil {
		t.Errorf("table, error %v:\n%s", err, got)
	}
	if got, err := EncodeOutbounds("default", rows); string(got) != smallOutbounds || err != nil {
		t.Errorf("outbounds, error %v:\n%s", err, got)
	}
}

func BenchmarkEncode(b *testing.B) {
	var rows []*vip.Row
	for i := range 10_000 {
		name := fmt.Sprintf("backend-%05d_kuma-demo_svc_5678", i)
		rows = append(rows, row(vip.Service, "m", name, netip.AddrFrom4([4]byte{240, 0, byte(i >> 8), byte(i)}).String(), "", serviceOutbound(name, 0)))
	}
	for name, encode := range map[string]func(string, []*vip.Row) ([]byte, error){"table": kumatable.Encode3, "outbounds": byTags} {
		b.Run(name+"/rows=10k", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := encode("m", rows); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
