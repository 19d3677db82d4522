package meshvip

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
	"go4.org/netipx"
)

// reverseName returns the name of an address in its reverse tree, and upwards from
// it: one string for each label that is left out.
func reverseNames(t *testing.T, addr netip.Addr) []string {
	t.Helper()
	name := reverse(t, addr.String())
	names := []string{name}
	for off, end := dns.NextLabel(name, 0); !end; off, end = dns.NextLabel(name, off) {
		if rest := name[off:]; rest != "arpa." {
			names = append(names, rest)
		}
	}
	return names
}

// apexOf returns the reverse zone that addr lies in where its pool is pool: the
// smallest one at the boundary of a label.
func apexOf(t *testing.T, pool netip.Prefix, addr netip.Addr) (zone string, labels int) {
	t.Helper()
	step := step(pool)
	labels = (pool.Bits() + step - 1) / step
	all := reverseNames(t, addr)
	return all[addr.BitLen()/step-labels], labels
}

// A pool's addresses are answered, whatever the length of its prefix, and not
// one beside it.
func TestReverseZonesAnswerInsideTheirPoolOnly(t *testing.T) {
	t.Parallel()
	for _, pool := range []string{
		"240.0.0.0/8", "240.0.0.0/4", "240.16.0.0/12", "198.18.0.0/15", "240.1.0.0/16", "240.1.4.0/22", "240.1.4.0/24",
		"240.1.4.8/29", "240.1.4.8/31", "240.1.4.9/32", "240.128.0.0/9",
		"fd00:6d76::/64", "fd00:6d76:0:4000::/50", "fd00:6d76::/63", "fd00:6d76::8000/113", "fd00:6d76::10/124", "fd00:6d76::14/126", "fd00:6d76::15/128",
	} {
		t.Run(pool, func(t *testing.T) {
			t.Parallel()
			p := netip.MustParsePrefix(pool)
			first, last := p.Addr(), netipx.PrefixLastIP(p)
			rows := []*vip.Row{row("0:first", first.String(), "east")}
			if last != first {
				rows = append(rows, row("0:last", last.String(), "east"))
			}
			plain, _, _ := fixture{pools: []string{pool}, rows: rows}.handler(t)
			through, _, _ := fixture{pools: []string{pool}, rows: rows, lines: "fallthrough " + pool}.handler(t)
			for _, r := range rows {
				addr := r.Addrs()[0]
				zone, _ := apexOf(t, p, addr)
				all := reverseNames(t, addr)
				want := found(fmt.Sprintf("%s 60 IN PTR %s.mesh.", all[0], r.Entry.Name))
				for _, h := range []*Handler{plain, through} {
					if diff := cmp.Diff(want, ask(t, h, all[0], dns.TypePTR)); diff != "" {
						t.Errorf("%v (-want +got):\n%s", addr, diff)
					}
					if diff := cmp.Diff(found(soa(zone, 60, 5)), ask(t, h, zone, dns.TypeSOA)); diff != "" {
						t.Errorf("the apex of %v (-want +got):\n%s", addr, diff)
					}
				}
				// Between the address and the apex there is something below; above
				// the apex is somebody else's.
				inside := true
				for _, name := range all[1:] {
					want := next
					if inside && strings.HasSuffix(name, zone) && all[0] != zone {
						want = noData(soa(zone, 5, 5))
					}
					inside = inside && name != zone
					if diff := cmp.Diff(want, ask(t, plain, name, dns.TypePTR)); diff != "" {
						t.Errorf("%s, above %v (-want +got):\n%s", name, addr, diff)
					}
				}
			}
			if beside := first.Prev(); beside.IsValid() && !p.Contains(beside) {
				checkOwnerless(t, plain, through, p, beside)
			}
			if beside := last.Next(); beside.IsValid() {
				checkOwnerless(t, plain, through, p, beside)
			}
			for _, addr := range []netip.Addr{first.Next(), last.Prev()} {
				if addr != first && addr != last {
					checkOwnerless(t, plain, through, p, addr)
				}
			}
		})
	}
}

// checkOwnerless asks for the PTR of an address that nobody has.
func checkOwnerless(t *testing.T, plain, through *Handler, pool netip.Prefix, addr netip.Addr) {
	t.Helper()
	name := reverse(t, addr.String())
	want, wantThrough := next, next
	if pool.Contains(addr) {
		zone, _ := apexOf(t, pool, addr)
		want = noName(soa(zone, 5, 5))
		if zone == name { // an apex exists
			want, wantThrough = noData(soa(zone, 5, 5)), noData(soa(zone, 5, 5))
		}
	}
	if diff := cmp.Diff(want, ask(t, plain, name, dns.TypePTR)); diff != "" {
		t.Errorf("%v, which nobody has (-want +got):\n%s", addr, diff)
	}
	if diff := cmp.Diff(wantThrough, ask(t, through, name, dns.TypePTR)); diff != "" {
		t.Errorf("%v, which nobody has, with fallthrough (-want +got):\n%s", addr, diff)
	}
}

func TestReverseRows(t *testing.T) {
	t.Parallel()
	negative, negative6 := soa("240.in-addr.arpa.", 5, 5), soa(zone6, 5, 5)
	mapped := "1.0.0.0.0.0.0.f.f.f.f.f." + strings.Repeat("0.", 20) + "ip6.arpa."
	for row, tc := range map[string]struct {
		fixture
		cases
	}{
		"PTR of an address": {fixture{}, cases{
			{"1.0.0.240.in-addr.arpa.", dns.TypePTR, found("1.0.0.240.in-addr.arpa. 60 IN PTR backend.mesh.")},
			{"1.0.0.240.In-Addr.Arpa.", dns.TypePTR, found("1.0.0.240.In-Addr.Arpa. 60 IN PTR backend.mesh.")},
			{full6("1."), dns.TypePTR, found(full6("1.") + " 60 IN PTR backend.mesh.")},
			{strings.ToUpper(full6("b.a.")), dns.TypePTR, found(strings.ToUpper(full6("b.a.")) + " 60 IN PTR v6only.mesh.")},
		}},
		"PTR of what the meshes of the block hide": {fixture{lines: "meshes east"}, cases{
			{"6.0.9.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{"0.9.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
		}},
		"PTR without an owner": {fixture{}, cases{
			{"200.0.0.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{"200.0.0.240.in-addr.arpa.", dns.TypeANY, noName(negative)},
			{full6("c.a."), dns.TypePTR, noName(negative6)},
		}},
		"PTR without an owner, with fallthrough for the zone": {fixture{lines: "fallthrough 240.0.0.0/8"}, cases{
			{"200.0.0.240.in-addr.arpa.", dns.TypePTR, next},
			{full6("c.a."), dns.TypePTR, noName(negative6)},
			{"nope.mesh.", dns.TypeA, noName(soa("mesh.", 5, 5))},
		}},
		"PTR without an owner, with fallthrough for another zone": {fixture{lines: "fallthrough mesh " + zone6}, cases{
			{"200.0.0.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{full6("c.a."), dns.TypePTR, next},
			{"nope.mesh.", dns.TypeA, next},
		}},
		"PTR outside every pool": {fixture{}, cases{
			{"1.0.0.239.in-addr.arpa.", dns.TypePTR, next},
			{"1.0.0.10.in-addr.arpa.", dns.TypeANY, next},
			{strings.Replace(full6("1."), ".d.f.ip6", ".e.f.ip6", 1), dns.TypePTR, next},
		}},
		"too few octets": {fixture{}, cases{
			{"0.240.in-addr.arpa.", dns.TypePTR, noData(negative)},
			{"9.240.in-addr.arpa.", dns.TypePTR, noData(negative)},
			{"10.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{full6("1.")[2:], dns.TypePTR, noData(negative6)},
			{"0." + zone6, dns.TypePTR, noData(negative6)},
			{"1." + zone6, dns.TypePTR, noName(negative6)},
		}},
		"odd spellings": {fixture{}, cases{
			{"01.0.0.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{"1.00.0.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{"1.1.0.0.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{"1.0.0.0240.in-addr.arpa.", dns.TypePTR, next},
			{"256.0.0.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{"1.0.0.240.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{"-1.0.0.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{"1\\.0.0.240.in-addr.arpa.", dns.TypePTR, noName(negative)},
			{"x." + full6("1."), dns.TypePTR, noName(negative6)},
			{"10." + full6("1.")[2:], dns.TypePTR, noName(negative6)},
			{"g." + full6("1.")[2:], dns.TypePTR, noName(negative6)},
			{mapped, dns.TypePTR, next},
		}},
		"A of a reverse name": {fixture{}, cases{
			{"1.0.0.240.in-addr.arpa.", dns.TypeA, noData(negative)},
			{full6("1."), dns.TypeAAAA, noData(negative6)},
			{"200.0.0.240.in-addr.arpa.", dns.TypeA, noName(negative)},
		}},
		"the apex": {fixture{lines: "ns 2001:db8::53"}, cases{
			{"240.in-addr.arpa.", dns.TypeNS, answer{
				Rcode: "NOERROR", Answer: []string{"240.in-addr.arpa. 60 IN NS ns.dns.240.in-addr.arpa."},
				Extra: []string{"ns.dns.240.in-addr.arpa. 60 IN AAAA 2001:db8::53"},
			}},
			{"240.in-addr.arpa.", dns.TypePTR, noData(negative)},
			{zone6, dns.TypeSOA, found(soa(zone6, 60, 5))},
			{"ns.dns." + zone6, dns.TypeAAAA, found("ns.dns." + zone6 + " 60 IN AAAA 2001:db8::53")},
			{"ns.dns." + zone6, dns.TypeA, noData(negative6)},
		}},
	} {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			tc.cases.check(t, tc.fixture)
		})
	}
}
