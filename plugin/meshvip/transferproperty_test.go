package meshvip

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
	"pgregory.net/rapid"
)

// drawBlock draws a server block over random rows whose names collide.
func drawBlock(t *rapid.T) fixture {
	pick := func(what string, from ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 1, len(from), rapid.ID[string]).Draw(t, what)
	}
	f := fixture{
		zones: strings.Join(pick("zones", "mesh", "svc.mesh", "dns.mesh", "a.mesh", ".", "240.0.0.0/8", "240.0.0.0/24", "fd00::/16", "fd00::/124"), " "),
		pools: pick("pools", "240.0.0.0/8", "240.0.0.0/15", "241.0.0.0/30", "fd00::/64", "fd00::/126", "241.0.0.4/32"),
	}
	if rapid.Bool().Draw(t, "hides") {
		f.lines = "meshes east"
	}
	f.lines += "\nns 192.0.2.53 2001:db8::53"
	f.rows = drawRows(t)
	if f.rows == nil {
		f.rows = []*vip.Row{}
	}
	return f
}

// drawRows draws rows of all kinds. Only given addresses are those of several.
func drawRows(t *rapid.T) []*vip.Row {
	var rows []*vip.Row
	used := make(map[netip.Addr]bool)
	entries := make(map[vip.Key]bool)
	for range rapid.IntRange(0, 30).Draw(t, "rows") {
		var r *vip.Row
		addrs := rapid.SampledFrom(drawn).Draw(t, "v4") + " " + rapid.SampledFrom([]string{"", "fd00::1", "fd00::2", "fd00::1:3", "fd00::f"}).Draw(t, "v6")
		meshes := rapid.SampledFrom([][]string{{"east"}, {"west"}, {"east", "west"}}).Draw(t, "meshes")
		if rapid.IntRange(0, 3).Draw(t, "of a mesh") == 0 {
			mesh := meshes[0]
			r = row("3:"+mesh+"/"+rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), addrs, mesh)
			r.Listings[0].Terms = &vip.Terms{Hostnames: rapid.SliceOfNDistinct(rapid.Custom(drawEntry), 0, 3, rapid.ID[string]).Draw(t, "hosts")}
			if rapid.Bool().Draw(t, "given") {
				r.V4, r.V6 = netip.Addr{}, netip.Addr{}
				r.Listings[0].Terms.Given = []netip.Addr{netip.MustParseAddr(rapid.SampledFrom(drawn).Draw(t, "addr"))}
			}
		} else {
			r = row(rapid.SampledFrom([]string{"0:", "0:", "0:", "1:", "2:"}).Draw(t, "kind")+drawEntry(t), addrs, meshes...)
		}
		for i := range r.Listings {
			for _, port := range rapid.SliceOfN(rapid.Uint16Range(0, 3), 0, 2).Draw(t, "ports") {
				r.Listings[i].Outbounds = append(r.Listings[i].Outbounds, vip.Outbound{Port: port})
			}
		}
		if used[r.V4] || used[r.V6] || entries[r.Key()] {
			continue
		}
		used[r.V4], used[r.V6], entries[r.Key()] = r.V4.IsValid(), r.V6.IsValid(), true
		rows = append(rows, r)
	}
	return rows
}

// drawn are addresses in and outside of pools.
var drawn = []string{"240.0.0.0", "240.0.0.1", "240.0.0.2", "240.0.1.1", "240.9.0.1", "241.0.0.1", "241.0.0.3", "241.0.0.4", "10.0.0.1"}

func drawEntry(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"a", "a_b", "a.b", "B", "svc", "a_svc", "a.svc", "a.svc.mesh", "a.mesh", "mesh", "ns.dns.mesh", "ns_dns", "ns", "ns.dns.svc",
		"dns", "x", "x.example", "1.0.0.240.in-addr.arpa", "9.0.0.240.in-addr.arpa", "svc.mesh", "b.a.mesh", "a b.mesh", strings.Repeat("l", 64),
	}).Draw(t, "name")
}

// asked returns all records that h answers with in its own zones: every possible
// name is asked for, with every type.
func asked(t testing.TB, h *Handler, rows []*vip.Row) map[string]bool {
	zones := h.zones()
	all := make(map[string]bool)
	possible := make(map[string]bool)
	for _, z := range slices.Concat(zones.forward, zones.reverse) {
		possible[z.name], possible[z.server] = true, true
		for _, r := range rows {
			possible[below(strings.ToLower(r.Entry.Name)+".", z.name)] = true
			possible[below(strings.ToLower(strings.ReplaceAll(r.Entry.Name, "_", "."))+".", z.name)] = true
		}
	}
	for _, r := range rows {
		possible[strings.ToLower(r.Entry.Name)+"."] = true
		for _, host := range r.Hostnames() {
			possible[strings.ToLower(host)+"."] = true
		}
		for _, addr := range append(r.Addrs(), r.Given()...) {
			possible[reverseZone(netip.PrefixFrom(addr, addr.BitLen()))] = true
		}
	}
	for name := range possible {
		name = strings.ReplaceAll(name, " ", `\ `)
		if _, ok := dns.IsDomainName(name); !ok {
			continue
		}
		if z, _ := zones.match(name); z == nil {
			continue // of others
		}
		for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeSRV, dns.TypePTR, dns.TypeNS, dns.TypeSOA} {
			for _, rr := range ask(t, h, name, qtype).Answer {
				all[rr] = true
			}
		}
	}
	return all
}

// TestATransferIsWhatEveryQuestionGives compares random tables, behind random
// blocks, by way of transfers and of questions.
func TestATransferIsWhatEveryQuestionGives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := drawBlock(rt)
		h, _, _ := f.handler(t)
		zones := h.zones()
		got := make(map[string]bool)
		for _, z := range slices.Concat(zones.forward, zones.reverse) {
			rrs := transferred(t, h, z.name, 0)
			if soas := texts(rrs[:1]); soas[0] != texts(rrs[len(rrs)-1:])[0] {
				rt.Fatalf("the SOAs of %s differ", z.name)
			}
			inZone := make(map[string]bool)
			for _, rr := range rrs[:len(rrs)-1] {
				text := texts([]dns.RR{rr})[0]
				if inZone[text] {
					rt.Fatalf("zone %s has %q twice", z.name, text)
				}
				inZone[text], got[text] = true, true
				if at, _ := zones.match(rr.Header().Name); at != z && rr.Header().Name != z.server {
					rt.Fatalf("zone %s has %q, of another zone", z.name, text)
				}
			}
		}
		if diff := cmp.Diff(asked(t, h, f.rows), got); diff != "" {
			rt.Fatalf("block %q, pools %q, %s (-asked +transferred):\n%s", f.zones, f.pools, f.lines, diff)
		}
	})
}
