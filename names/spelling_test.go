package names

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/meshvip/coredns-meshvip/vip"
)

// octetsOf returns a service name of n octets with labels of up to 60, a "_"
// between them.
func octetsOf(n int) string {
	b := []byte(strings.Repeat("x", n))
	for i := 60; i < n-1; i += 61 {
		b[i] = '_'
	}
	return string(b)
}

func TestSpellingsThatDNSCannotCarryAreReportedAndTheOthersServed(t *testing.T) {
	t.Parallel()
	l63, l64 := strings.Repeat("x", 63), strings.Repeat("x", 64)
	long := strings.ReplaceAll(octetsOf(248), "_", ".")
	for _, tt := range []struct {
		name             string
		kind             vip.Kind
		entry            string
		literal, dotted  string
		absolute, reason string
	}{
		{name: "plain", entry: "backend", literal: "backend", dotted: "backend"},
		{name: "underscores", entry: "a_b_svc_80", literal: "a_b_svc_80", dotted: "a.b.svc.80"},
		{name: "upper case", entry: "BackEnd_X", literal: "backend_x", dotted: "backend.x"},
		{name: "label of 63", entry: l63, literal: l63, dotted: l63},
		{name: "label of 64", entry: l64, reason: "64 octets"},
		{name: "long label, dotted is fine", entry: l63 + "_a", dotted: l63 + ".a", reason: "65 octets"},
		{name: "dotted has an empty label", entry: "_a", literal: "_a", reason: "empty label"},
		{name: "empty label", entry: "a..b", reason: "empty label"},
		{name: "service with a final dot", entry: "a.", reason: "empty label"},
		{name: "253 in all", entry: long, literal: long, dotted: long},
		{name: "254 in all", entry: "y" + long, reason: "254 octets"},
		{name: "host", kind: vip.Host, entry: "HTTPbin.org", absolute: "httpbin.org."},
		{name: "host with a final dot", kind: vip.Host, entry: "httpbin.org.", absolute: "httpbin.org."},
		{name: "host with an underscore", kind: vip.Host, entry: "a_b.org", absolute: "a_b.org."},
		{name: "fqdn of 253", kind: vip.FQDN, entry: "y." + long + ".zz", absolute: "y." + long + ".zz."},
		{name: "fqdn of 254", kind: vip.FQDN, entry: "y." + long + ".zzz", reason: "254 octets"},
		{name: "root", kind: vip.FQDN, entry: ".", reason: "empty label"},
		{name: "odd bytes", entry: "a b@\\\xff\"", literal: `a\ b\@\\\255\"`, dotted: `a\ b\@\\\255\"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := spell(&vip.Row{Entry: vip.Entry{Kind: tt.kind, Name: tt.entry}}, octets("mesh."))
			if s.literal != tt.literal || s.dotted != tt.dotted || s.absolute != tt.absolute {
				t.Errorf("spelled %+v", s)
			}
			if tt.reason == "" {
				if len(s.faults) != 0 {
					t.Errorf("faults %v", s.faults)
				}
			} else if len(s.faults) != 1 || !strings.Contains(s.faults[0].reason, tt.reason) {
				t.Errorf("faults %v, want one with %q", s.faults, tt.reason)
			}
		})
	}
}

func TestACanonicalNameIsNotHeldTwice(t *testing.T) {
	e := vip.Entry{Name: "backend_kuma-demo_svc_5678"}
	if n := testing.AllocsPerRun(100, func() { canonical(e.Name) }); n != 0 {
		t.Errorf("canonical allocates %v times", n)
	}
}

func TestOctetsCountsEscapesAsOne(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{".": 0, "mesh.": 5, `a\.b.mesh.`: 9, `\255.`: 2, `\\.`: 2} {
		if got := octets(name); got != want {
			t.Errorf("octets(%q) is %d, want %d", name, got, want)
		}
	}
}

// FuzzSpell checks that what is served is what a question off the wire says,
// and that what DNS can carry is served.
func FuzzSpell(f *testing.F) {
	for _, s := range []string{"backend", "a_b", "A.b_C", "_", "a..b", "\x00\xff \\.", strings.Repeat("x", 64), octetsOf(248), octetsOf(249)} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(1))
	}
	f.Fuzz(func(t *testing.T, name string, kind uint8) {
		e := vip.Entry{Kind: vip.Kind(kind % 4), Name: name}
		s := spell(&vip.Row{Entry: e, Listings: []vip.Listing{{Terms: &vip.Terms{Hostnames: []string{name}}}}}, octets("mesh."))
		check := func(what, got, raw, suffix string) {
			t.Helper()
			want, ok := viaWire(raw, suffix)
			if !ok {
				want = ""
			}
			if got != want {
				t.Fatalf("%s of %q is %q, the wire has %q", what, raw, got, want)
			}
			if _, valid := dns.IsDomainName(got + "."); got != "" && !valid {
				t.Fatalf("%q is no domain name", got)
			}
		}
		if e.Kind != vip.Service {
			check("absolute", strings.TrimSuffix(s.absolute, "."), strings.TrimSuffix(name, "."), ".")
			return
		}
		check("literal", s.literal, name, "mesh.")
		check("dotted", s.dotted, strings.ReplaceAll(name, "_", "."), "mesh.")
	})
}
