package kumatable

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
)

// show tells rows and foreign addresses a line each.
func show(t Table) string {
	var b strings.Builder
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "%v %v", r.Entry, r.Addrs())
		for _, o := range r.Listings[0].Outbounds {
			fmt.Fprintf(&b, " %d/%s%v", o.Port, o.Origin, o.Tags)
		}
		b.WriteByte('\n')
	}
	for _, f := range t.Foreign {
		fmt.Fprintf(&b, "foreign %v %v %v: %s\n", f.Entry, f.Addr, f.Services, f.Why)
	}
	return b.String()
}

func TestEveryFormatIsKnownByItsContent(t *testing.T) {
	t.Parallel()
	const (
		full = `0:billing [] 0/service[{kuma.io/service billing}]
0:orders [240.0.0.1] 0/service[{kuma.io/service orders}]
1:books.shop.example [240.0.0.4] 443/external-service:books[{kuma.io/service books}] 8443/external-service:books-admin[{kuma.io/service books-admin}]
2:orders.north.shop [240.0.0.6] 80/virtual-outbound:by-zone[{kuma.io/service orders} {kuma.io/zone north}]
foreign 1:10.96.0.23 10.96.0.23 [stock_warehouse_svc_8080]: it is the address of a Kubernetes Service or pod
foreign 1:192.0.2.9 192.0.2.9 [ledger]: `
		flat = `0:billing [240.0.0.2] 0/service[{kuma.io/service billing}]
0:orders [240.0.0.1] 0/service[{kuma.io/service orders}]
`
	)
	for name, want := range map[string]struct {
		format int
		table  string
	}{
		"kuma-dns-vips.json": {1, flat + "0:stock_warehouse_svc_8080 [240.0.0.3] 0/service[{kuma.io/service stock_warehouse_svc_8080}]\n"},
		"format1.json":       {1, flat + "0:stock_warehouse_svc_8080 [] 0/service[{kuma.io/service stock_warehouse_svc_8080}]\n"},
		"format2.json":       {2, flat + "1:books.shop.example [240.0.0.4]\n1:fd00::17 [240.0.0.5]\n"},
		"format3.json":       {3, full + whyItself + "\n"},
		"format4.json":       {4, full + whyNameless + "\n"},
	} {
		got, bad, err := Decode("m", sample(t, name))
		if err != nil || len(bad) > 0 || got.Format != want.format || got.Mesh != "m" {
			t.Errorf("%s: format %d of mesh %q, set aside %v, error %v", name, got.Format, got.Mesh, bad, err)
		}
		if diff := cmp.Diff(want.table, show(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		for _, r := range got.Rows {
			if len(r.Listings) != 1 || r.Listings[0].Mesh != "m" || r.Listings[0].Name != r.Entry.Name {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

func TestOneOddRowDoesNotDecideTheFormat(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{}`:                                  3,
		`{"0:a":{},"0:b":{},"c":"240.0.0.1"}`: 3,
		`{"v":{},"0:a":{}}`:                   3, // a stray row beside an entry
		`{"v":{}}`:                            4,
		`{"v":{},"w":1}`:                      4,
		`{"v":"240.0.0.1"}`:                   1, // a service of that name
		`{"a":"240.0.0.1","0:b":"240.0.0.2","c":"240.0.0.3"}`:             1,
		`{"0:a":"240.0.0.1","0:b":"240.0.0.2","c":"240.0.0.3"}`:           2,
		`{"0:a":"240.0.0.1","0:b":"240.0.0.2","0:c":{"address":""}}`:      2,
		"\xef\xbb\xbf" + ` {"a":"1.2.3.4"} `:                              1,
		`{"a:b":"240.0.0.1"}`:                                             1,
		`{"0:a":null}`:                                                    3,
		`{"0:a":5}`:                                                       3,
		`{"a":"240.0.0.1","b":{"address":"240.0.0.2"},"c":{},"0:d":null}`: 3,
	} {
		if got, _, err := Decode("m", []byte(text)); err != nil || got.Format != want {
			t.Errorf("%s: format %d, %v; want %d", text, got.Format, err, want)
		}
	}
}

func TestRowsAreNotJudged(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"0:a":{"address":"240.0.0.1"},"0:b":{"address":"240.0.0.1"}}`:            "0:a [240.0.0.1]\n0:b [240.0.0.1]\n",
		`{"0:a":{"address":"240.0.0.2"},"0:A":{"address":"240.0.0.1"},"0:a.b":{}}`: "0:A [240.0.0.1]\n0:a [240.0.0.2]\n0:a.b []\n",
		`{"0:A":{},"0:a":{"address":"::ffff:240.0.0.2"}}`:                          "0:a [240.0.0.2]\n0:A []\n",
		`{"1:fd00::1":"240.0.0.1","1:fd00::2":"fd00::2"}`:                          "1:fd00::1 [240.0.0.1]\nforeign 1:fd00::2 fd00::2 []: " + whyItself + "\n",
		`{"0:a:b":"240.0.0.1"}`: "0:a:b [240.0.0.1] 0/service[{kuma.io/service a:b}]\n",
		`{"v":{"a":{"oe":[{"ap":[{"a":"240.0.0.2","o":"svc"},{"a":"240.0.0.1","o":"svc"},{"p":80,"o":"svc"}]}]}}}`: "0:a [240.0.0.1] 0/service[{kuma.io/service a}] 80/service[{kuma.io/service a}]\n" +
			"0:a [240.0.0.2] 0/service[{kuma.io/service a}]\n",
		`{"v":{"":{"oe":[{"ap":[{"a":"240.0.0.2","d":"x.shop","o":"mesh-gateway:m:x:y"}]}]}}}`: "2:x.shop [240.0.0.2] 0/mesh-gateway:m:x:y[]\n",
		`{"v":{"a":{"oe":[{"t":{"kuma.io/service":"b"},"ap":[{"a":"fd00::1"}]}]}}}`:            "0:a [fd00::1] 0/[{kuma.io/service b}]\n",
		`{"v":{"a":{"oe":[{"ap":[{"a":"10.0.0.1","d":"x.shop","o":"k8s"},{"d":"y.shop","o":"k8s"}]},{"t":{"x":"y"},"ap":[{"a":"10.0.0.1","d":"x.shop","o":"k8s"}]}]}}}`: "1:y.shop [] 0/kubernetes[{kuma.io/service a}]\n" +
			"foreign 1:x.shop 10.0.0.1 [a]: " + whyKubernetes + "\n",
	} {
		got, bad, err := Decode("m", []byte(text))
		if diff := cmp.Diff(want, show(got)); diff != "" || len(bad) > 0 || err != nil {
			t.Errorf("%s: %v, %v (-want +got)\n%s", text, bad, err, diff)
		}
	}
}

func TestBadRowsAreNamedAndTheOthersRead(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	long := strings.Repeat("a", vip.MaxName+1)
	for text, want := range map[string][]string{
		`{"1:":{"address":"240.0.0.1"},GOOD3}`:                                 {`row "1:", at byte 1: entry "1:": entry has no name`},
		"{\n\"backend\":{},\n\"3:m/a\":{},GOOD3}":                              {`row "backend", at line 2: entry "backend": not of the form`, `row "3:m/a", at line 3: tables of Kuma have no rows of type 3 (MeshService)`},
		`{"9:a":{},"0:` + long + `":{},GOOD3}`:                                 {`row "9:a", at byte 1: entry "9:a": unknown entry type`, `row "0:aaaa`},
		`{"0:a":null,"0:b":[],"0:c":5,"0:e":,GOOD3}`:                           {`row "0:a"`, `row "0:b"`, `row "0:c"`, `row "0:e", at byte 29: want an object`},
		`{"0:a":{"address":5},GOOD3}`:                                          {`address: number where text in quotes belongs`},
		`{"0:a":{"outbounds":{}},GOOD3}`:                                       {`outbounds: object where a list belongs`},
		`{"0:a":{"outbounds":[{"Port":65536}]},GOOD3}`:                         {`outbounds.Port: number 65536 where a port from 0 to 65535 belongs`},
		`{"0:a":{"outbounds":[{"TagSet":[]}]},GOOD3}`:                          {`outbounds.TagSet: array where an object belongs`},
		`{"0:a":{"address":"240.0.0"},"0:b":{"address":"fe80::1%eth0"},GOOD3}`: {`address "240.0.0": want an IP address`, `address "fe80::1%eth0": want an IP`},
		`{"0:a":{"address":240.0.0.1},"0:b":{"address":"x"],GOOD3}`:            {`row "0:a"`, `row "0:b"`},
		`{"0:a":{"x":` + deep + `},GOOD3}`:                                     {`exceeded max depth`},
		"{\"0:\xff\":{},\"0:\\ud800\":{},GOOD3}":                               {errLossy.Error(), errLossy.Error()},
		"{\"0:a\":{\"outbounds\":[{\"Origin\":\"\xff\"}]},\"0:b\":{\"outbounds\":[{\"TagSet\":{\"k\":\"\\uDfff\"}}]},GOOD3}": {errLossy.Error(), errLossy.Error()},
		`{"0:\x":{},GOOD3}`: {`row "0:\\x", at byte 1: invalid character`},
		`{"":"240.0.0.1","a":null,"b":"240","c":5,"orders":"240.0.0.1","d":"240.0.0.2"}`:                                                     {`row "", at byte 1: entry has no name`, `row "a"`, `address "240"`, `number where text in quotes belongs`},
		`{"1:":"240.0.0.1","0:orders":"240.0.0.1","x":"240.0.0.2"}`:                                                                          {`entry has no name`, `row "x"`},
		`{"v":{"a":5,"b":{"oe":{}},"c":{"oe":[5]},"d":{"oe":[{"ap":5}]},GOOD4}}`:                                                             {`row "a"`, `row "b", at byte 12: oe: object where a list belongs`, `row "c", at byte 26: oe[0]: number`, `oe[0]: ap: number`},
		`{"v":{"a":{"oe":[{"ap":[{"a":5},{"p":-1},{"a":"x"}]},{"t":5}]},GOOD4}}`:                                                             {`oe[0].ap[0]: a: number where text`, `oe[0].ap[1]: p: number -1 where a port`, `row "0:a", at byte 6: oe[0].ap[2] of service "a": address "x"`, `oe[1]: t: number`},
		`{"v":{"":{"oe":[{"ap":[{"a":"240.0.0.1","o":"svc"}]}]},"a":{"oe":[{"ap":[{"d":"","o":"virtual-outbound:a"},{"o":"k8s"}]}]},GOOD4}}`: {`entry has no name`, `row "2:", at byte 55`, `row "1:", at byte 55`},
		"{\"v\":{\"\xff\":{\"oe\":[{\"ap\":[{}]}]},GOOD4}}":                                                                                  {errLossy.Error()},
		`{"v":{GOOD4},"w":{}}`: {`row "w", at byte 62: a table of format 4 has "v" alone`},
		`{"v":{GOOD4,5}}`:      {`row "v", at byte 1: "5}" where a key belongs`},
	} {
		text = strings.ReplaceAll(text, "GOOD3", `"0:orders":{"address":"240.0.0.1"}`)
		text = strings.ReplaceAll(text, "GOOD4", `"orders":{"oe":[{"ap":[{"a":"240.0.0.1","o":"svc"}]}]}`)
		got, bad, err := Decode("m", []byte(text))
		if err != nil || len(bad) != len(want) {
			t.Errorf("%.200s: set aside %v, error %v; want %q", text, bad, err, want)
			continue
		}
		for i, w := range want {
			if !strings.Contains(bad[i].Error(), w) || bad[i].Kept || len(bad[i].Error()) > 600 {
				t.Errorf("%.200s: %.300v (kept: %v); want one that says %q", text, bad[i], bad[i].Kept, w)
			}
		}
		if !slices.ContainsFunc(got.Rows, func(r *vip.Row) bool { return r.Entry.Name == "orders" && r.V4.IsValid() }) {
			t.Errorf("%.200s: the good row is lost: %v", text, show(got))
		}
	}
}

func TestOfAKeyThatIsThereTwiceTheLastCountsAsForKuma(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		rows, bad string
		kept      bool
	}{
		`{"0:b":{"address":"240.0.0.1"},"0:a":{},"0:b":{"address":"240.0.0.3"}}`:                                                      {"0:a []\n0:b [240.0.0.3]\n", `row "0:b", at byte 1: the table has the key more than once`, false},
		`{"b":"240.0.0.1","b":"240.0.0.2"}`:                                                                                           {"0:b [240.0.0.2] 0/service[{kuma.io/service b}]\n", `row "b", at byte 1: the table has`, false},
		`{"v":{"b":{"oe":[{"ap":[{"a":"240.0.0.1"}]}]},"b":{"oe":[{"ap":[{"a":"240.0.0.2"}]}]}}}`:                                     {"0:b [240.0.0.2] 0/[{kuma.io/service b}]\n", `row "b", at byte 6: the table has`, false},
		`{"0:b":{"address":"240.0.0.1","address":"240.0.0.2"}}`:                                                                       {"0:b [240.0.0.2]\n", `row "0:b", at byte 1: it has "address" more than once`, true},
		`{"0:b":{"z":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"a":2}}}`: {"0:b []\n", `it has "a" more than once`, true},
		`{"0:b":{"outbounds":[{"Port":1,"Origin":"x","Port":2}]}}`:                                                                    {"0:b [] 2/x[]\n", `it has "Port" more`, true},
		`{"v":{"b":{"oe":[{"ap":[{"a":"240.0.0.1","a":"240.0.0.2"}]}]}}}`:                                                             {"0:b [240.0.0.2] 0/[{kuma.io/service b}]\n", `it has "a" more`, true},
	} {
		got, bad, err := Decode("m", []byte(text))
		if err != nil || len(bad) != 1 || !strings.Contains(bad[0].Error(), want.bad) || bad[0].Kept != want.kept {
			t.Errorf("%s: %v, %v; want %s", text, bad, err, want.bad)
		}
		if diff := cmp.Diff(want.rows, show(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

func TestNamesThatOnlyLookBlurredAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"0:\ufffd\":{}}":                     "\ufffd",
		`{"0:\ud83d\ude00":{}}`:                 "\U0001f600",
		"{\"0:\ufffd\":{},\"0:\xff\":{}}":       "\ufffd", // beside one that is
		`{"0:a\u0062":{"address":"240.0.0.1"}}`: "ab",
	} {
		got, _, err := Decode("m", []byte(text))
		if err != nil || len(got.Rows) != 1 || got.Rows[0].Entry.Name != want {
			t.Errorf("%q: %v, %v; want %q", text, show(got), err, want)
		}
	}
}

func TestWhatIsNoTableOrNotWholeIsAnError(t *testing.T) {
	t.Parallel()
	whole := string(sample(t, "format3.json"))
	for text, want := range map[string]struct {
		err  string
		rows int
	}{
		"":                     {"at byte 0: the text ends early", 0},
		" \n":                  {"ends early", 0},
		whole[:len(whole)/2]:   {`in the value of "1:books.shop.example": the text ends early`, 2},
		`{"0:a":{}`:            {"ends early", 0},
		`{"0:a":{},`:           {"ends early", 1},
		`{"0:a":{},"0:b`:       {"ends early", 1},
		`{"0:a":{},"0:b"`:      {"ends early", 1},
		`{"0:a":{},"0:b":`:     {"ends early", 1},
		`{"0:a":{},}`:          {`at byte 10: "}" where a key belongs`, 1},
		`{"0:a" {}}`:           {"at byte 7: key \"0:a\" is not followed by a colon", 0},
		`{"0:a":{} "0:b":{}}`:  {"at byte 10: in the value of", 0},
		`{"0:a":{}} {}`:        {"at byte 11: more text follows", 1},
		`{"0:a":{}}}`:          {"more text follows", 1},
		"null":                 {`it starts with "null"`, 0},
		"[]":                   {"it starts with", 0},
		`"0:a"`:                {"it starts with", 0},
		"- address: 240.0.0.1": {"it starts with", 0},
		"\x00\x01\x02":         {"it starts with", 0},
		`{"v":{"a":{"oe":[{"ap":[{"a":"240.0.0.1"}]}]}`: {"ends early", 0},
	} {
		got, _, err := Decode("m", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want.err) || !strings.HasPrefix(err.Error(), "not a JSON object") {
			t.Errorf("%.40q: error %v, want one that says %q", text, err, want.err)
		}
		if len(got.Rows) != want.rows {
			t.Errorf("%.40q: rows %v, want %d", text, show(got), want.rows)
		}
	}
}

// TestTablesOfKumaAreReadAsTheyStand reads real tables, which are not in the
// repository.
func TestTablesOfKumaAreReadAsTheyStand(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MESHVIP_KUMA_SAMPLES")
	if dir == "" {
		t.Skip("MESHVIP_KUMA_SAMPLES is not set: it names a directory with tables of Kuma in tables/")
	}
	want := map[string]string{
		"different_tags":    "0:demo-app_kuma-demo_svc_5000 [240.0.0.2]\n2:demo-app_kuma-demo_svc_5000.mesh [240.0.0.3]\nforeign 1:10.43.96.209 10.43.96.209\n",
		"full_example":      "0:demo-app_kuma-demo_svc_5000 [240.0.0.2]\n0:httpbin [240.0.0.2]\n0:redis_kuma-demo_svc_6379 [240.0.0.1]\n1:httpbin.org [240.0.0.3]\n2:httpbin.mesh [240.0.0.5]\n2:redis_kuma-demo_svc_6379.mesh [240.0.0.6]\nforeign 1:10.43.96.209 10.43.96.209\nforeign 1:10.43.224.70 10.43.224.70\n",
		"multiple_services": "0:demo-app_kuma-demo_svc_5000 [240.0.0.2]\n0:redis_kuma-demo_svc_6379 [240.0.0.1]\nforeign 1:10.43.96.209 10.43.96.209\n",
		"single_service":    "0:demo-app_kuma-demo_svc_5000 [240.0.0.2]\nforeign 1:10.43.96.209 10.43.96.209\n",
	}
	for name, want := range want {
		data, err := os.ReadFile(filepath.Join(dir, "tables", "tag-first-"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		got, bad, err := Decode("m", data)
		if err != nil || len(bad) > 0 || got.Format != 4 {
			t.Errorf("%s: format %d, set aside %v, error %v", name, got.Format, bad, err)
		}
		var b strings.Builder
		for _, r := range got.Rows {
			fmt.Fprintf(&b, "%v %v\n", r.Entry, r.Addrs())
		}
		for _, f := range got.Foreign {
			fmt.Fprintf(&b, "foreign %v %v\n", f.Entry, f.Addr)
		}
		if !slices.Equal(slices.Sorted(strings.SplitSeq(b.String(), "\n")), slices.Sorted(strings.SplitSeq(want, "\n"))) {
			t.Errorf("%s:\n%swant\n%s", name, b.String(), want)
		}
		checkRoundTrip4(t, got.Rows)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"kuma-dns-vips.json", "format1.json", "format2.json", "format3.json", "format4.json"} {
		f.Add(sample(f, name))
	}
	for _, s := range []string{
		"", "{}", `{"0:a":{"address":"::ffff:1.2.3.4"},"0:A":{}}`, `{"v":{"a":{"oe":[null,{"ap":[null,{}]}]}}}`, `{"1:":{}}`, `{"v":{},"v":{"a":{}}}`,
		"{\"0:\xff\":{}}", `{"0:\ud800":{"outbounds":[{"Port":1,"TagSet":{"a":null}},null]}}`, `{"0:a":{`, `{"a":"1.1.1.1","a":"::1"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, bad, err := Decode("m", data)
		if !slices.IsSortedFunc(got.Rows, compareRows) {
			t.Fatalf("not in order:\n%s", show(got))
		}
		for _, r := range got.Rows {
			if err := r.Entry.Validate(); err != nil || r.Entry.Kind > vip.FQDN || len(r.Listings) != 1 || len(r.Addrs()) > 1 {
				t.Fatalf("row %+v: %v", r, err)
			}
			if !slices.IsSortedFunc(r.Listings[0].Outbounds, vip.Outbound.Compare) {
				t.Fatalf("row %+v", r)
			}
		}
		for _, f := range got.Foreign {
			if f.Addr == (netip.Addr{}) || f.Why == "" {
				t.Fatalf("foreign %+v", f)
			}
		}
		for _, e := range bad {
			if e.Offset < 0 || e.Offset > len(data) || e.Line < 1 || e.Err == nil {
				t.Fatalf("error %+v", e)
			}
		}
		checkRoundTrip3(t, got.Rows)
		checkRoundTrip4(t, got.Rows)
		if err == nil && len(bad) == 0 && errors.Is(err, errEnds) {
			t.Fatal(err)
		}
	})
}
