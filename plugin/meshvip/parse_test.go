package meshvip

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// parseIn parses a Corefile's lines of meshvip in a server block with the given
// keys, and with root as the root directory.
func parseIn(root, lines string, keys ...string) (Config, error) {
	c := caddy.NewTestController("dns", lines)
	c.ServerBlockKeys = keys
	dnsserver.GetConfig(c).Root = root
	return parse(c)
}

// ranges returns ranges of the form FIRST-LAST.
func ranges(list ...string) []netipx.IPRange {
	var all []netipx.IPRange
	for _, s := range list {
		all = append(all, netipx.MustParseIPRange(s))
	}
	return all
}

// comparable prefixes and addresses for cmp.
var byValue = cmp.Options{
	cmp.Comparer(func(a, b netipx.IPRange) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

func TestEveryPropertyIsReadWithItsPlace(t *testing.T) {
	t.Parallel()
	got, err := parseIn("/data", `meshvip Mesh 240.0.0.0/7 other.example {
		pool 240.1.0.0/16 fd00:6d76::/64 {
			exclude 240.1.0.0-240.1.0.9 fd00:6d76::1
			# touches the first
			exclude 240.1.0.10

			reserve fd00:6d76::100/120
			reserve 240.1.255.0/24
			drain
		}
		pool 240.0.0.0/16
		static 1:HTTPbin.org 240.1.0.11
		static backend fd00:6d76::100
		static 0:Backend 240.1.255.7
		confirm 3-9f2a61c0
		repair report

		source file resources
		store bolt tables/vips.db
		ttl 30
		negative_ttl 0
		cooldown 90m
		kuma_zone west
		ns 192.0.2.53 2001:db8::53 192.0.2.53
		max_release 20%
		publish /var/lib/meshvip/out/
		meshes prod default prod
		fallthrough other.example 240.0.0.0/8
	}`, "dns://ignored.:53")
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Place: "Testfile:1",
		Runtime: RuntimeConfig{
			Place: "Testfile:1",
			Pools: []PoolConfig{
				{Prefix: netip.MustParsePrefix("240.0.0.0/16"), Place: "Testfile:11"},
				{
					Prefix: netip.MustParsePrefix("240.1.0.0/16"), Place: "Testfile:2", Drain: true,
					Exclude: ranges("240.1.0.0-240.1.0.10"), Reserve: ranges("240.1.255.0-240.1.255.255"),
				},
				{
					Prefix: netip.MustParsePrefix("fd00:6d76::/64"), Place: "Testfile:2", Drain: true,
					Exclude: ranges("fd00:6d76::1-fd00:6d76::1"), Reserve: ranges("fd00:6d76::100-fd00:6d76::1ff"),
				},
			},
			Statics: []StaticConfig{
				{vip.Key{Name: "backend"}, netip.MustParseAddr("240.1.255.7"), "Testfile:14"},
				{vip.Key{Name: "backend"}, netip.MustParseAddr("fd00:6d76::100"), "Testfile:13"},
				{vip.Key{Kind: vip.Host, Name: "httpbin.org"}, netip.MustParseAddr("240.1.0.11"), "Testfile:12"},
			},
			Confirm:    Stated[string]{"3-9f2a61c0", "Testfile:15"},
			Repair:     Stated[RepairMode]{RepairReport, "Testfile:16"},
			Sources:    []SourceConfig{{Kind: "file", Dir: "/data/resources", Place: "Testfile:18"}},
			Store:      Stated[StoreConfig]{StoreConfig{Kind: "bolt", Path: "/data/tables/vips.db"}, "Testfile:19"},
			Cooldown:   Stated[time.Duration]{90 * time.Minute, "Testfile:22"},
			KumaZone:   Stated[string]{"west", "Testfile:23"},
			MaxRelease: Stated[MaxRelease]{MaxRelease{20, true}, "Testfile:25"},
			KumaDomain: Stated[string]{Value: "mesh"},
			Publish:    Stated[PublishConfig]{PublishConfig{Dir: "/var/lib/meshvip/out", Tags: true}, "Testfile:26"},
		},
		Block: BlockConfig{
			Forward:     []string{"mesh.", "other.example."},
			Reverse:     []netip.Prefix{netip.MustParsePrefix("240.0.0.0/8"), netip.MustParsePrefix("241.0.0.0/8")},
			TTL:         Stated[uint32]{30, "Testfile:20"},
			NegativeTTL: Stated[uint32]{0, "Testfile:21"},
			Meshes:      Stated[[]string]{[]string{"default", "prod"}, "Testfile:27"},
			NS:          Stated[[]netip.Addr]{[]netip.Addr{netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("2001:db8::53")}, "Testfile:24"},
		},
	}
	want.Block.Fall.Zones = []string{"other.example.", "240.in-addr.arpa."}
	if diff := cmp.Diff(want, got, byValue); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if got, want := got.Runtime.Prefixes(), "[240.0.0.0/16 240.1.0.0/16 fd00:6d76::/64]"; !slices.IsSortedFunc(got, netip.Prefix.Compare) || len(got) != 3 {
		t.Errorf("pools %v, want %s", got, want)
	}
}

func TestWhatIsNotStatedHasItsDefault(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{"meshvip", "meshvip {\n}", "meshvip {\n\n}\n"} {
		got, err := parseIn("", lines, "dns://MESH.:1053", "tls://mesh.:853", "dns://240.in-addr.arpa.:53", "dns://.:53")
		if err != nil {
			t.Errorf("%q: %v", lines, err)
			continue
		}
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		want := Config{
			Place: "Testfile:1",
			Runtime: RuntimeConfig{
				Place:      "Testfile:1",
				Store:      Stated[StoreConfig]{Value: StoreConfig{Kind: "bolt", Path: filepath.Join(dir, "meshvip.db")}},
				Cooldown:   Stated[time.Duration]{Value: 24 * time.Hour},
				KumaZone:   Stated[string]{Value: "default"},
				KumaDomain: Stated[string]{Value: "mesh"},
			},
			Block: BlockConfig{
				Forward:     []string{"mesh.", "."},
				Reverse:     []netip.Prefix{netip.MustParsePrefix("240.0.0.0/8")},
				TTL:         Stated[uint32]{Value: 60},
				NegativeTTL: Stated[uint32]{Value: 5},
			},
		}
		if diff := cmp.Diff(want, got, byValue); diff != "" {
			t.Errorf("%q: configuration (-want +got):\n%s", lines, diff)
		}
		if got.Runtime.Stated() {
			t.Errorf("%q: the block is said to state properties of the runtime", lines)
		}
	}
}

func TestMemoryStoreAndCountOfReleasesAreRead(t *testing.T) {
	t.Parallel()
	got, err := parseIn("", "meshvip mesh {\nstore memory\nmax_release 0\nfallthrough\n}")
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Runtime.Store; s.Value != (StoreConfig{Kind: "memory"}) || s.Place != "Testfile:2" {
		t.Errorf("store %+v", s)
	}
	if m := got.Runtime.MaxRelease; m.Value != (MaxRelease{}) || !m.Stated() {
		t.Errorf("max_release %+v", m)
	}
	if !slices.Equal(got.Block.Fall.Zones, []string{"."}) {
		t.Errorf("fallthrough %v", got.Block.Fall.Zones)
	}
}

// Each case is one line inside the block, or, where it starts with "meshvip",
// the whole. Every part of want is in the error.
func TestErrorsSayWhereWhatAndWhatInstead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lines string
		want  []string
	}{
		{"pol 240.0.0.0/8", []string{"Testfile:2", "unknown property 'pol'", "pool, static, source, store, ttl, negative_ttl, cooldown, kuma_zone, kuma_domain, ns, max_release, confirm, repair, publish, admin, meshes, fallthrough"}},
		{"pool", []string{"Testfile:2", `"pool 240.0.0.0/8"`}},
		{"pool 240.0.0.1/8", []string{"Testfile:2", "'240.0.0.1/8'", `write "240.0.0.0/8"`}},
		{"pool 240.0.0.1", []string{"'240.0.0.1' is an address", `"240.0.0.1/32"`}},
		{"pool fd00::1", []string{`"fd00::1/128"`}},
		{"pool nonsense", []string{"'nonsense'", "ADDRESS/BITS"}},
		{"pool 240.0.0.0/33", []string{"'240.0.0.0/33'", "ADDRESS/BITS"}},
		{"pool 240.0.0.0/08", []string{"'240.0.0.0/08'"}},
		{"pool fd00::%eth0/64", []string{"ADDRESS/BITS"}},
		{"pool ::ffff:240.0.0.0/104", []string{"write it as IPv4"}},
		{"pool ::/0", []string{"overlaps", "another range"}},
		{"pool 0.0.0.0/0", []string{"overlaps 0.0.0.0/8"}},
		{"pool 0.0.0.0/8", []string{"overlaps 0.0.0.0/8"}},
		{"pool 239.0.0.0/8", []string{"overlaps 224.0.0.0/4, which is multicast"}},
		{"pool ff02::/16", []string{"overlaps ff00::/8, which is multicast"}},
		{"pool 255.255.255.255/32", []string{"255.255.255.255, which is broadcast"}},
		{"pool 240.0.0.0/8 240.7.0.0/16", []string{"Testfile:2", "pool 240.7.0.0/16 overlaps pool 240.0.0.0/8 (Testfile:2)", "remove or narrow"}},
		{"pool 240.7.0.0/16\npool fd00::/64\npool 240.0.0.0/8", []string{"Testfile:4", "pool 240.0.0.0/8 overlaps pool 240.7.0.0/16 (Testfile:2)"}},
		{"pool 240.0.0.0/8 240.0.0.0/8", []string{"overlaps"}},
		{"static", []string{"Testfile:2", `"static backend 240.0.0.10"`}},
		{"static backend", []string{`"static backend 240.0.0.10"`}},
		{"static backend 240.0.0.1 240.0.0.2", []string{`"static backend 240.0.0.10"`}},
		{"static backend 240.0.0.1 {\n}", []string{"Testfile:2", "property 'static' takes no block"}},
		{"static backend 240.0.0.0/32", []string{"static '240.0.0.0/32' is not the address", `"static backend 240.0.0.10"`}},
		{"static backend ::ffff:240.0.0.1", []string{"static '::ffff:240.0.0.1' is not the address"}},
		{"static backend fd00::1%eth0", []string{"static 'fd00::1%eth0' is not the address"}},
		{"static 3:default/backend 240.0.0.1", []string{"static '3:default/backend'", `"0:backend" (service)`, `"1:httpbin.org" (host)`, `"2:api.payments.mesh" (full name)`}},
		{"static 9:backend 240.0.0.1", []string{"static '9:backend'"}},
		{"static host:httpbin.org 240.0.0.1", []string{"static 'host:httpbin.org'", `"1:httpbin.org" (host)`}},
		{"static 1: 240.0.0.1", []string{"static '1:'"}},
		{"static \"\" 240.0.0.1", []string{"static ''"}},
		{"static a 240.0.0.1\nttl 5\nstatic 1:a 240.0.0.1", []string{"Testfile:4", "static 1:a 240.0.0.1: Testfile:2 gives this address to 0:a", "remove one of the lines"}},
		{"static a 240.0.0.1\nstatic a fd00::1\nstatic 0:A 240.0.0.2", []string{"Testfile:4", "static 0:a 240.0.0.2: Testfile:2 gives the entry 240.0.0.1", "one address of each family"}},
		{"static a 240.0.0.1\nstatic 0:A 240.0.0.1", []string{"Testfile:3", "static 0:a 240.0.0.1 is stated twice, first at Testfile:2"}},
		{"static a 240.9.0.1\npool 240.0.0.0/16", []string{"Testfile:2: static 0:a 240.9.0.1", "lies in no pool", `"pool 240.9.0.1/32"`}},
		{"pool 240.0.0.0/16\nstatic a 240.0.255.255", []string{"Testfile:3: static 0:a 240.0.255.255", "broadcast", "choose another"}},
		{"pool 240.0.0.0/16 {\nexclude 240.0.0.8/29\n}\nstatic a 240.0.0.9", []string{"Testfile:5: static 0:a 240.0.0.9", "excluded", "240.0.0.8-240.0.0.15", "narrow"}},
		{"source", []string{"Testfile:2", `"source file resources"`}},
		{"source resources", []string{`"source file resources"`}},
		{"source file a b", []string{`"source file resources"`}},
		{"source etcd a", []string{`source needs a kind and its place: write for example "source file resources"`}},
		{"source file \"\"", []string{`"source file resources"`}},
		{"source file a\nsource file a", []string{"Testfile:3", "/a is stated twice, first at Testfile:2"}},
		{"store", []string{`"bolt PATH", "memory" or "etcd ENDPOINT..."`, `"store bolt meshvip.db"`}},
		{"store memory x", []string{`"bolt PATH", "memory" or "etcd ENDPOINT..."`}},
		{"store bolt", []string{`"bolt PATH", "memory" or "etcd ENDPOINT..."`}},
		{"ttl", []string{"Testfile:2", `"ttl 60"`}},
		{"ttl 60s", []string{"ttl '60s'", "0 to 3600", `"ttl 60"`}},
		{"ttl -1", []string{"ttl '-1'", "0 to 3600"}},
		{"ttl 3601", []string{"ttl '3601'", "0 to 3600"}},
		{"ttl 60 ;", []string{`"ttl 60"`}},
		{"ttl 60\nttl 60", []string{"Testfile:3", "property 'ttl' is stated twice"}},
		{"negative_ttl 99999999999999999999", []string{"negative_ttl", "0 to 3600", `"negative_ttl 5"`}},
		{"cooldown 24", []string{"cooldown '24'", "with its unit", `"cooldown 24h"`}},
		{"cooldown -1h", []string{"cooldown '-1h'", "positive"}},
		{"cooldown 0s", []string{"positive"}},
		{"cooldown", []string{`"cooldown 24h"`}},
		{"cooldown 59s", []string{"Testfile:2", "cooldown is 59s", "ttl of 60 s (Testfile:1, by default)", "raise cooldown to 60s"}},
		{"ttl 120\ncooldown 119s", []string{"Testfile:3", "ttl of 120 s (Testfile:2)", "raise cooldown to 120s"}},
		{"kuma_zone a b", []string{"Testfile:2", `"kuma_zone default"`}},
		{"ns", []string{"Testfile:2", `"ns 192.0.2.53"`}},
		{"ns ns1.example.org", []string{"ns 'ns1.example.org'", `"ns 192.0.2.53"`}},
		{"ns 192.0.2.53 0.0.0.0", []string{"ns '0.0.0.0'"}},
		{"ns fe80::1%eth0", []string{"ns 'fe80::1%eth0'"}},
		{"ns ::ffff:192.0.2.53", []string{"ns '::ffff:192.0.2.53'"}},
		{"max_release", []string{`"max_release 20%"`}},
		{"max_release many", []string{"max_release 'many'", `"max_release 50"`}},
		{"max_release 101%", []string{"0% to 100%"}},
		{"max_release +5", []string{"max_release '+5'"}},
		{"max_release -5", []string{"max_release '-5'"}},
		{"confirm", []string{"Testfile:2", `"confirm 3-9f2a61c0"`}},
		{"confirm 3-9f2a61c0 4-9f2a61c0", []string{`"confirm 3-9f2a61c0"`}},
		{"confirm 3", []string{"confirm '3' is not the name of a plan", "as the log shows it", `"confirm 3-9f2a61c0"`}},
		{"confirm -9f2a61c0", []string{"confirm '-9f2a61c0'"}},
		{"confirm 3-9F2A61C0", []string{"confirm '3-9F2A61C0'"}},
		{"confirm 3-9f2a61c0x", []string{"confirm '3-9f2a61c0x'"}},
		{"confirm 3-a\nconfirm 3-a", []string{"Testfile:3", "property 'confirm' is stated twice"}},
		{"repair now", []string{"Testfile:2", "repair 'now' is unknown", `"repair" alone`, `"repair report"`}},
		{"repair report now", []string{"repair 'report now' is unknown"}},
		{"repair {\nreport\n}", []string{"property 'repair' takes no block"}},
		{"publish", []string{`"publish published"`}},
		{"meshes", []string{`"meshes default"`}},
		{"fallthrough 240.0.0.0/99", []string{"Testfile:2", "fallthrough: zone '240.0.0.0/99'"}},
		{"fallthrough a..b", []string{"fallthrough: zone 'a..b' is not a domain name"}},
		{"ttl 60 {\nx\n}", []string{"Testfile:2", "property 'ttl' takes no block"}},
		{"ttl 60 }", []string{"Testfile:2", "brace", "line of its own"}},
		{"meshvip mesh { pool 240.0.0.0/8 }", []string{"Testfile:1", "brace", "line of its own"}},
		{"meshvip {}", []string{"Testfile:1", "brace"}},
		{"meshvip mesh {\npool 240.0.0.0/8", []string{"Testfile:2", "no end", "}"}},
		{"meshvip mesh\nmeshvip mesh", []string{"Testfile:2", "once per Server Block", "Testfile:1"}},
		{"meshvip 240.0.0.0/99", []string{"Testfile:1", "zone '240.0.0.0/99' is not an address range"}},
		{"meshvip 240.0.0.1/8", []string{`write "240.0.0.0/8"`}},
		{"meshvip 240.0.0.1", []string{"zone '240.0.0.1' is an address", `"240.0.0.1/32"`}},
		{"meshvip fd00::", []string{"'fd00::' is an address", `"fd00::/128"`}},
		{"meshvip mesh:53", []string{"zone 'mesh:53'"}},
		{"meshvip ::ffff:240.0.0.0/104", []string{"write it as IPv4"}},
		{"meshvip a..b", []string{"zone 'a..b' is not a domain name"}},
		{"meshvip .a", []string{"zone '.a' is not a domain name"}},
		{"meshvip " + strings.Repeat("a", 64), []string{"1 to 63 octets"}},
		{"meshvip " + strings.Repeat("abcdefg.", 31), []string{`with "hostmaster." before it at most 255`}},
		{"meshvip 0-31.0.0.240.in-addr.arpa", []string{"'0-31.0.0.240.in-addr.arpa.'", "write the range"}},
		{"meshvip 01.240.in-addr.arpa", []string{"'01.240.in-addr.arpa.'", "write the range"}},
	} {
		lines, keys := tc.lines, []string(nil)
		if !strings.HasPrefix(lines, "meshvip") {
			lines, keys = "meshvip {\n"+lines+"\n}", []string{"mesh."}
		}
		_, err := parseIn("", lines, keys...)
		if err == nil {
			t.Errorf("%q is accepted", tc.lines)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: the error lacks %q:\n%v", tc.lines, want, err)
			}
		}
	}
	if _, err := parseIn("", "meshvip"); err == nil || !strings.Contains(err.Error(), `"meshvip mesh"`) {
		t.Errorf("no zone at all: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("meshvip mesh 240.0.0.0/12 {\n pool 240.0.0.0/8 fd00::/64\n source file a\n ttl 5\n ns ::1\n fallthrough .\n}")
	f.Add("meshvip ::/0 {\n pool ::/0\n cooldown 1h\n max_release 5%\n}\nmeshvip")
	f.Add("meshvip {\n{\n}\n}")
	f.Add("meshvip \\000\\.a \u0236.\n")
	f.Add("meshvip {\n pool 240.0.0.0/8 fd00::/64 {\n exclude 240.0.0.1-240.0.0.9 fd00::1\n reserve 240.9.0.0/16\n drain\n }\n static 1:a 240.9.0.1\n confirm 1-a\n repair report\n}")
	f.Add("meshvip {\n pool 240.0.0.0/30 {\n exclude 240.0.0.1\n exclude 240.0.0.2\n }\n}")
	f.Add("meshvip {\n pool 240.0.0.0/30\n {\n drain }\n } {\n ; }\n}")
	f.Add("meshvip {\n store etcd http://a https://[::1]:2379 b.c:1 {\n prefix /a/b\n tls x y z\n credentials u p\n timeout 1ms\n lease 2s\n }\n stale serve\n}")
	f.Add("meshvip {\n store etcd A a:02379 {\n prefix //\u00a0\n lease 3600s\n }\n}")
	f.Fuzz(func(t *testing.T, lines string) {
		cfg, err := parseIn("/", lines, "dns://mesh.:53")
		if err != nil || !strings.HasPrefix(strings.TrimSpace(lines), "meshvip") {
			return
		}
		if s := cfg.Runtime.Store.Value; s.Kind == storeEtcd {
			checkEtcd(t, s.Etcd)
		}
		b, pools := cfg.Block, cfg.Runtime.Prefixes()
		if len(b.Forward)+len(b.Reverse) == 0 || b.TTL.Value > maxTTL || b.NegativeTTL.Value > maxTTL {
			t.Fatalf("accepted: %+v", b)
		}
		for i, p := range pools {
			if p != p.Masked() || i > 0 && pools[i-1].Overlaps(p) {
				t.Fatalf("accepted: pools %v", pools)
			}
		}
		if err := cfg.Runtime.layout().Check(); len(pools) > 0 && err != nil {
			t.Fatalf("accepted: %v", err)
		}
		for _, p := range cfg.Runtime.Pools {
			if whole := givable(p.Prefix); slices.ContainsFunc(p.Exclude, func(r netipx.IPRange) bool { return contains(r, whole) }) {
				t.Fatalf("accepted: pool %v, which gives nothing", p)
			}
		}
		s := newZoneSet(b.Forward, b.Reverse, pools)
		for _, z := range slices.Concat(s.forward, s.reverse) {
			if got, _ := s.match(z.name); got != z {
				t.Fatalf("zone %q does not match itself but %v", z.name, got)
			}
		}
	})
}

// checkEtcd fails the test unless e is as EtcdConfig says, and is read as it is
// when a Corefile has it.
func checkEtcd(t *testing.T, e EtcdConfig) {
	t.Helper()
	list := e.EndpointList()
	if len(list) == 0 || !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) || strings.Join(list, " ") != e.Endpoints {
		t.Fatalf("accepted: endpoints %q", e.Endpoints)
	}
	scheme, _, _ := strings.Cut(list[0], "://")
	for _, s := range list {
		again, wrong := parseEndpoint(s)
		if wrong != "" || again.scheme != scheme || again.scheme+"://"+again.host != s {
			t.Fatalf("accepted: endpoint %q of %q %s", s, e.Endpoints, wrong)
		}
	}
	if !strings.HasPrefix(e.Prefix, "/") || !strings.HasSuffix(e.Prefix, "/") || len(e.Prefix) < 3 ||
		e.Timeout <= 0 || e.Lease < minLease || e.Lease%time.Second != 0 ||
		(e.Cert == "") != (e.Key == "") || (e.Username == "") != (e.PasswordFile == "") || e.Cert+e.CA != "" && scheme != "https" {
		t.Fatalf("accepted: %+v", e)
	}
}
