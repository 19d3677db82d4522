package publish

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
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
		got, err := EncodeTable(mesh, small())
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("mesh %s: %v (-want +got)\n%s", mesh, err, diff)
		}
	}
}

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

func TestTableComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := tables(odd(texts())).Draw(t, "rows")
		want, lost := stored("a", rows)
		data, err := EncodeTable("a", rows)
		var aside SetAside
		if errors.As(err, &aside); len(aside) != len(lost) || (err != nil) != (len(lost) > 0) {
			t.Fatalf("of %v, set aside: %v", lost, err)
		}
		got, bad, err := DecodeTable("a", data)
		if err != nil || len(bad) > 0 {
			t.Fatalf("%v, %v, reading\n%s", err, bad, data)
		}
		if !slices.EqualFunc(got, want, (*vip.Row).Equal) {
			t.Fatalf("%+v came back as %+v, from\n%s", want, got, data)
		}
	})
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
		for form, encode := range map[string]func(string, []*vip.Row) ([]byte, error){"table": EncodeTable, "outbounds": EncodeOutbounds} {
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

func TestManyEntriesSetAsideAreToldShortly(t *testing.T) {
	t.Parallel()
	var rows []*vip.Row
	for i := range 5000 {
		rows = append(rows, row(vip.Service, "m", fmt.Sprintf("%05d\xff", i), "", ""))
	}
	_, err := EncodeTable("m", rows)
	var aside SetAside
	if !errors.As(err, &aside) || len(aside) != 5000 {
		t.Fatalf("error %v", err)
	}
	if text := err.Error(); len(text) > 1000 || !strings.HasPrefix(text, "5000 left out: ") || !strings.HasSuffix(text, "; and 4997 more") {
		t.Errorf("error %s", text)
	}
}

func TestTableOfKumaIsReadRowByRow(t *testing.T) {
	t.Parallel()
	rows, bad, err := DecodeTable("m", []byte(` {
		"1:b.example": {"address": "::ffff:240.0.0.4", "outbounds": null, "later": {"x": [1]}},
		"0:twice":    {"address": "240.0.0.1", "outbounds": []},
		"0:TWICE":    {"address": "", "outbounds": []},
		"0:ports":    {"outbounds": [{"Port": 90}, {"Port": 80, "TagSet": {"b": "2", "a": "1"}, "Origin": "o"}, {"Port": 90}]},
		"1:":         {"address": "240.0.0.2"},
		"0:v6":       {"address": "fd00::1"},
		"backend":    {"address": "240.0.0.3"},
		"3:new":      {"address": "240.0.0.3"},
		"3:m/new":    {"address": "240.0.0.3"},
		"5:other/x":  {},
		"0:text":     "240.0.0.3",
		"0:null":     null,
		"0:list":     [],
		"0:number":   {"address": 5},
		"0:nonsense": {"address": "240.0.0"},
		"0:zone":     {"address": "fe80::1%eth0"},
		"0:port":     {"address": "240.0.0.3", "outbounds": [{"Port": 65536}]},
		"0:minus":    {"address": "240.0.0.3", "outbounds": [{"Port": -1}]}
	} `))
	if err != nil {
		t.Fatal(err)
	}
	want := []*vip.Row{
		row(vip.Service, "m", "ports", "", "", vip.Outbound{Port: 80, Tags: []vip.Tag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}, Origin: "o"}, vip.Outbound{Port: 90}),
		row(vip.Service, "m", "twice", "240.0.0.1", ""), // it has an address, and TWICE has none
		row(vip.Service, "m", "v6", "", "fd00::1"),
		row(vip.Host, "m", "b.example", "240.0.0.4", ""),
	}
	if !slices.EqualFunc(rows, want, (*vip.Row).Equal) {
		t.Errorf("rows %+v\nwant %+v", rows, want)
	}
	keys := []string{"1:", "backend", "3:new", "3:m/new", "5:other/x", "0:text", "0:null", "0:list", "0:number", "0:nonsense", "0:zone", "0:port", "0:minus", "0:TWICE"}
	if len(bad) != len(keys) {
		t.Errorf("%d errors, want %d", len(bad), len(keys))
	}
	for i := range min(len(bad), len(keys)) {
		if !strings.HasPrefix(bad[i].Error(), fmt.Sprintf("row %q: ", keys[i])) {
			t.Errorf("error %v, want one of row %q", bad[i], keys[i])
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
	if got, err := EncodeTable("default", rows); string(got) != smallTable || err != nil {
		t.Errorf("table, error %v:\n%s", err, got)
	}
	if got, err := EncodeOutbounds("default", rows); string(got) != smallOutbounds || err != nil {
		t.Errorf("outbounds, error %v:\n%s", err, got)
	}
	_, bad, err := DecodeTable("m", []byte(`{"0:a":{},"3:m/backend":{"address":"240.0.0.1"}}`))
	const want = `row "3:m/backend": format 3 has no rows of type 3 (MeshService), so this is none of its own: remove it`
	if err != nil || len(bad) != 1 || bad[0].Error() != want {
		t.Errorf("set aside %v, error %v, want %s", bad, err, want)
	}
}

func TestRowsThatAreThereTwiceAreOneWithTheFirstSpelling(t *testing.T) {
	t.Parallel()
	rows, bad, err := DecodeTable("m", []byte(`{"0:b":{"address":"240.0.0.1"},"0:B":{"address":"240.0.0.2"},"0:B":{"address":"240.0.0.3"}}`))
	if err != nil || len(bad) != 2 || len(rows) != 1 {
		t.Fatalf("rows %+v, set aside %v, error %v", rows, bad, err)
	}
	if want := netip.MustParseAddr("240.0.0.2"); rows[0].V4 != want || rows[0].Entry.Name != "B" {
		t.Errorf("row %+v, want B with %v", rows[0], want)
	}
	if !strings.Contains(bad[1].Error(), `as "0:B" with the address [240.0.0.2]`) {
		t.Errorf("error %v, want the row that was taken", bad[1])
	}
}

func TestNamesThatJSONBlursAreSetAside(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{\"0:x\xff\":{},\"0:good\":{}}",
		`{"0:x\ud800":{},"0:good":{}}`,
		`{"0:x\uDfff":{},"0:good":{}}`,
		"{\"0:x\":{\"outbounds\":[{\"Origin\":\"\xff\"}]},\"0:good\":{}}",
		"{\"0:x\":{\"outbounds\":[{\"TagSet\":{\"k\":\"\xff\"}}]},\"0:good\":{}}",
		"{\"0:x\":{\"outbounds\":[{\"TagSet\":{\"\xff\":\"v\"}}]},\"0:good\":{}}",
	} {
		rows, bad, err := DecodeTable("m", []byte(text))
		if err != nil || len(bad) != 1 || !errors.Is(bad[0], errLossy) || len(rows) != 1 || rows[0].Entry.Name != "good" {
			t.Errorf("%q: rows %+v, set aside %v, error %v", text, rows, bad, err)
		}
	}
	for text, want := range map[string]string{
		"{\"0:\ufffd\":{}}":     "\ufffd",
		`{"0:\ud83d\ude00":{}}`: "\U0001f600",
	} {
		rows, bad, err := DecodeTable("m", []byte(text))
		if err != nil || len(bad) > 0 || len(rows) != 1 || rows[0].Entry.Name != want {
			t.Errorf("%q: rows %+v, set aside %v, error %v", text, rows, bad, err)
		}
	}
}

func TestWhatIsNoTableIsAnError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "ends early",
		" \n":                          "ends early",
		smallTable[:len(smallTable)/2]: "ends early",
		`{"0:a":{}`:                    "ends early",
		`{"0:a":{},`:                   "ends early",
		`{"0:a":{},}`:                  "at byte",
		`{"0:a" {}}`:                   "at byte",
		`{"0:a":{}} {}`:                "more text follows",
		`{"0:a":{}}}`:                  "more text follows",
		"null":                         "not a JSON object",
		"[]":                           "not a JSON object",
		`"0:a"`:                        "not a JSON object",
		"- address: 240.0.0.1":         "not a JSON object",
		"\x00\x01\x02":                 "not a JSON object",
		`{"backend":"240.0.0.1"}`:      "format 1",
		`{"0:backend":"240.0.0.1"}`:    "format 2",
		`{"v":{"httpbin":{"oe":[]}}}`:  "format 4",
	} {
		rows, bad, err := DecodeTable("m", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `table of mesh "m": `) {
			t.Errorf("%q: error %v, want one that says %q", text, err, want)
		}
		if len(rows) > 0 || len(bad) > 0 {
			t.Errorf("%q: rows %v, set aside %v", text, rows, bad)
		}
	}
}

func FuzzDecodeTable(f *testing.F) {
	for _, s := range []string{
		smallTable, "{}", `{"0:a":{"address":"::ffff:1.2.3.4"},"0:A":{}}`, `{"v":{}}`, `{"0:a":"240.0.0.1"}`, `{"1:":{}}`, `{"3:m/a":{"address":"240.0.0.1"},"0:a":{}}`,
		"{\"0:\xff\":{}}", `{"0:\ud800":{"outbounds":[{"Port":1,"TagSet":{"a":null}},null]}}`, `{"0:a":{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, bad, err := DecodeTable("m", data)
		if err != nil {
			if len(rows) > 0 || len(bad) > 0 {
				t.Fatalf("%v, beside %v and %v", err, rows, bad)
			}
			return
		}
		for i, r := range rows {
			if err := r.Entry.Validate(); err != nil || r.Entry.Kind > vip.FQDN || len(r.Listings) != 1 || len(r.Addrs()) > 1 {
				t.Fatalf("row %+v: %v", r, err)
			}
			if i > 0 && rows[i-1].Key().Compare(r.Key()) >= 0 {
				t.Fatalf("row %v follows %v", r.Key(), rows[i-1].Key())
			}
		}
		again, err := EncodeTable("m", rows)
		if err != nil {
			t.Fatal(err)
		}
		back, bad, err := DecodeTable("m", again)
		if err != nil || len(bad) > 0 || !slices.EqualFunc(back, rows, (*vip.Row).Equal) {
			t.Fatalf("%+v came back as %+v, %v, %v", rows, back, bad, err)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	var rows []*vip.Row
	for i := range 10_000 {
		name := fmt.Sprintf("backend-%05d_kuma-demo_svc_5678", i)
		rows = append(rows, row(vip.Service, "m", name, netip.AddrFrom4([4]byte{240, 0, byte(i >> 8), byte(i)}).String(), "", serviceOutbound(name, 0)))
	}
	for name, encode := range map[string]func(string, []*vip.Row) ([]byte, error){"table": EncodeTable, "outbounds": EncodeOutbounds} {
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
