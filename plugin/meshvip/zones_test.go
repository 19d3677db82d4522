package meshvip

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin"
	"github.com/miekg/dns"
	"pgregory.net/rapid"
)

// zoneNamesOf returns the names of zones, sorted.
func zoneNamesOf(zones []*zone) []string {
	var s []string
	for _, z := range zones {
		s = append(s, z.name)
	}
	slices.Sort(s)
	return s
}

func prefixes(s ...string) []netip.Prefix {
	var ps []netip.Prefix
	for _, p := range s {
		ps = append(ps, netip.MustParsePrefix(p))
	}
	return ps
}

func TestReverseZonesComeFromThePools(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		what          string
		listed, pools []netip.Prefix
		want          []string
	}{
		{"on a boundary", nil, prefixes("240.0.0.0/8", "fd00:6d76::/64"), []string{"0.0.0.0.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa.", "240.in-addr.arpa."}},
		{"off the boundary", nil, prefixes("240.0.0.0/15", "fd00::/50"), []string{
			"0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa.", "0.240.in-addr.arpa.", "1.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa.",
			"1.240.in-addr.arpa.", "2.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa.", "3.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa.",
		}},
		{"adjoining", nil, prefixes("240.0.0.0/16", "240.1.0.0/16"), []string{"0.240.in-addr.arpa.", "1.240.in-addr.arpa."}},
		{"smaller than a label", nil, prefixes("240.0.0.0/31"), []string{"0.0.0.240.in-addr.arpa.", "1.0.0.240.in-addr.arpa."}},
		{"the listed zone is larger", prefixes("240.0.0.0/8"), prefixes("240.0.0.0/16"), []string{"0.240.in-addr.arpa."}},
		{"the listed zone is smaller", prefixes("240.7.0.0/16"), prefixes("240.0.0.0/8"), []string{"7.240.in-addr.arpa."}},
		{"nested listed zones", prefixes("240.0.0.0/8", "240.7.0.0/16"), prefixes("240.0.0.0/8"), []string{"240.in-addr.arpa.", "7.240.in-addr.arpa."}},
		{"the listed zone is elsewhere", prefixes("10.0.0.0/8"), prefixes("240.0.0.0/8"), nil},
		{"no pool", nil, nil, nil},
	} {
		got := zoneNamesOf(newZoneSet([]string{"mesh."}, tc.listed, tc.pools).reverse)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.what, got, tc.want)
		}
	}
}

func TestTheLongestZoneWins(t *testing.T) {
	t.Parallel()
	label := rapid.SampledFrom([]string{"a", "b", "mesh", "a\\.b", "a\\\\", "240", "0", "7", "in-addr", "arpa"})
	name := rapid.Custom(func(t *rapid.T) string {
		tail := rapid.SampledFrom([]string{"", "mesh.", "240.in-addr.arpa.", "in-addr.arpa."}).Draw(t, "tail")
		return dns.Fqdn(strings.Join(rapid.SliceOfN(label, 0, 5).Draw(t, "labels"), ".") + "." + tail)
	})
	rapid.Check(t, func(t *rapid.T) {
		var forward []string
		for _, z := range rapid.SliceOfN(name, 0, 4).Draw(t, "zones") {
			z = strings.TrimPrefix(z, ".")
			if z == "" {
				z = "."
			}
			if _, ok := parseReverse(z); !ok && !slices.Contains(forward, z) {
				forward = append(forward, z)
			}
		}
		listed := rapid.SampledFrom([][]netip.Prefix{
			nil, prefixes("240.0.0.0/8"), prefixes("240.0.0.0/8", "240.7.0.0/16", "240.7.7.0/24"), prefixes("0.0.0.0/0", "240.0.0.0/16"),
		}).Draw(t, "listed")
		s := newZoneSet(forward, listed, prefixes("240.0.0.0/13", "241.0.0.0/8"))
		q := strings.TrimPrefix(name.Draw(t, "name"), ".")
		if q == "" {
			q = "."
		}
		all := slices.Clone(forward)
		if plugin.Zones([]string{in4, in6}).Matches(q) != "" {
			all = nil
		}
		for _, z := range s.reverse {
			all = append(all, z.name)
		}
		got := ""
		if z, _ := s.match(q); z != nil {
			got = z.name
		}
		if want := plugin.Zones(all).Matches(q); got != want {
			t.Fatalf("%s of %v is in %q, want %q", q, all, got, want)
		}
	})
}

func TestMatchDoesNotAllocate(t *testing.T) {
	s := newZoneSet([]string{"mesh.", "example.org."}, nil, prefixes("240.0.0.0/9", "fd00::/50"))
	for _, name := range []string{"backend.mesh.", "1.0.0.240.in-addr.arpa.", "elsewhere."} {
		if n := testing.AllocsPerRun(100, func() { s.match(name) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
