package meshvip

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin/pkg/cidr"
	"github.com/miekg/dns"
	"pgregory.net/rapid"
)

func TestReverseNamesOfAddressesComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		octets := rapid.SampledFrom([]int{4, 16}).Draw(t, "octets")
		addr, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), octets, octets).Draw(t, "addr"))
		if addr.Is4In6() {
			return // dns.ReverseAddr takes it for IPv4
		}
		name, err := dns.ReverseAddr(addr.String())
		if err != nil {
			t.Fatal(err)
		}
		rn, ok := parseReverse(name)
		if got, whole := rn.address(); !ok || !whole || got != addr {
			t.Fatalf("%s is %+v, %v; want %v", name, rn, ok, addr)
		}
		if got := reverseZone(rn.prefix); got != name {
			t.Fatalf("%v has the name %s, want %s", addr, got, name)
		}
		// An ancestor is a range on a label boundary.
		cut := rapid.IntRange(0, dns.CountLabel(name)-2).Draw(t, "cut")
		off, _ := dns.PrevLabel(name, dns.CountLabel(name)-cut)
		above, ok := parseReverse(name[off:])
		if want, _ := addr.Prefix(above.prefix.Bits()); !ok || above.rest || above.prefix != want || reverseZone(want) != name[off:] {
			t.Fatalf("%s is %+v, want %v", name[off:], above, want)
		}
	})
}

func TestOnlyTheOneSpellingIsAnAddress(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{ // the range that counts, with "+" where labels are left
		"in-addr.arpa.":                 "0.0.0.0/0",
		"240.in-addr.arpa.":             "240.0.0.0/8",
		"1.0.0.240.in-addr.arpa.":       "240.0.0.1/32",
		"x.1.0.0.240.in-addr.arpa.":     "240.0.0.1/32+",
		"5.1.0.0.240.in-addr.arpa.":     "240.0.0.1/32+",
		"01.0.0.240.in-addr.arpa.":      "240.0.0.0/24+",
		"00.0.0.240.in-addr.arpa.":      "240.0.0.0/24+",
		"1.0.0.0240.in-addr.arpa.":      "0.0.0.0/0+",
		"256.0.0.240.in-addr.arpa.":     "240.0.0.0/24+",
		"1e.0.0.240.in-addr.arpa.":      "240.0.0.0/24+",
		"-1.0.0.240.in-addr.arpa.":      "240.0.0.0/24+",
		"\\049.0.0.240.in-addr.arpa.":   "240.0.0.0/24+",
		"a\\.1.0.0.240.in-addr.arpa.":   "240.0.0.0/24+",
		"a\\\\.1.0.0.240.in-addr.arpa.": "240.0.0.1/32+",
		"ns.dns.240.in-addr.arpa.":      "240.0.0.0/8+",
		"ip6.arpa.":                     "::/0",
		"f.f.ip6.arpa.":                 "ff00::/8",
		"10.f.ip6.arpa.":                "f000::/4+",
		"a\\\\.1.f.ip6.arpa.":           "f100::/8+",
		"a\\.1.f.ip6.arpa.":             "f000::/4+",
		"\\.1.ip6.arpa.":                "::/0+",
		"g.f.ip6.arpa.":                 "f000::/4+",
		"arpa.":                         "",
		"xin-addr.arpa.":                "",
		"1\\.in-addr.arpa.":             "",
		"1.0.0.240.in-addr.arpa":        "",
		".":                             "",
		"":                              "",
		"in-addr.arpa.mesh.":            "",
	} {
		rn, ok := parseReverse(name)
		got := ""
		if ok {
			got = rn.prefix.String()
		}
		if rn.rest {
			got += "+"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
		if _, whole := rn.address(); whole && (strings.HasSuffix(want, "+") || !rn.prefix.IsSingleIP()) {
			t.Errorf("%s is said to be an address's", name)
		}
	}
}

func TestRangesAreSplitAsCoreDNSSplitsThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		octets := rapid.SampledFrom([]int{4, 16}).Draw(t, "octets")
		addr, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), octets, octets).Draw(t, "addr"))
		if addr.Is4In6() {
			return // package net has no such range
		}
		// CoreDNS has no names for ranges with fewer bits than a label.
		p, _ := addr.Prefix(rapid.IntRange(step(netip.PrefixFrom(addr, 0)), addr.BitLen()).Draw(t, "bits"))
		_, n, err := net.ParseCIDR(p.String())
		if err != nil {
			t.Fatal(err)
		}
		split := cidr.Split(n)
		var got, zones []string
		for _, b := range boundaries(p) {
			got = append(got, b.String())
			zones = append(zones, reverseZone(b))
		}
		if !slices.Equal(got, split) {
			t.Fatalf("%v is split into %v, want %v", p, got, split)
		}
		if want := cidr.Reverse(split); !slices.Equal(zones, want) {
			t.Fatalf("%v has the zones %v, want %v", p, zones, want)
		}
	})
}

func TestReverseNamesAreReadWithoutAllocation(t *testing.T) {
	for _, name := range []string{"1.0.0.240.in-addr.arpa.", strings.Repeat("f.", 32) + in6, "junk.240.in-addr.arpa."} {
		if n := testing.AllocsPerRun(100, func() { parseReverse(name) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
