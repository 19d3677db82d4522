package interop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// compiled returns a transferred zone in BIND's canonical form: sorted, all
// names in full, one record a line.
func compiled(t testing.TB, zone, text string) string {
	t.Helper()
	return output(t, need(t, "named-compilezone"), "-q", "-k", "ignore", "-i", "local", "-s", "full", "-o", "-",
		zone, write(t, t.TempDir(), "zone", text))
}

// listMany adds n services in one file: a zone of them takes several messages.
func (s *site) listMany(n int) {
	s.t.Helper()
	var b strings.Builder
	b.WriteString("type: Dataplane\nmesh: default\nname: many\nnetworking:\n  address: 192.0.2.1\n  inbound:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - port: %d\n    tags: {kuma.io/service: many-%d}\n", 10_000+i, i)
	}
	write(s.t, s.resources, "many.yaml", b.String())
}

func TestTransferredZonesAreSound(t *testing.T) {
	t.Parallel()
	const many = 3000
	s := newSite(t)
	s.plugins = "transfer {\n\t\tto *\n\t}"
	s.listMany(many)
	d := s.start()
	for _, name := range []string{fmt.Sprintf("many-%d.mesh.", many-1), "web.mesh.", host, "backend.all.mesh."} {
		d.resolves(name, dns.TypeAAAA)
	}
	checkzone, kdig := need(t, "named-checkzone"), need(t, "kdig")
	for _, zone := range zones {
		text := transferred(t, d, zone)
		out := output(t, checkzone, "-k", "warn", "-i", "full-sibling", "-M", "fail", "-n", "fail", "-r", "fail",
			zone, write(t, t.TempDir(), "zone", text))
		for _, line := range words(out) {
			known := line == "OK" || strings.HasPrefix(line, "zone "+strings.TrimSuffix(zone, ".")+"/IN: loaded serial ") ||
				// An underscore is not what BIND expects in the name of a host.
				strings.Contains(line, "_") && strings.Contains(line, "(check-names)")
			if !known {
				t.Errorf("named-checkzone says of %s: %s", zone, line)
			}
		}
		// Two programs, two transfers, and one zone.
		first := compiled(t, zone, text)
		second := compiled(t, zone, output(t, kdig, "@127.0.0.1", "-p", s.port, zone, "AXFR", "+noall", "+answer"))
		if first != second || strings.Count(first, "\n") < many {
			t.Errorf("two transfers of %s differ, or lack something:\n%s\n%s", zone, tail(first, 60), tail(second, 60))
		}
		serial := d.serial(zone)
		for _, client := range []string{need(t, "dig"), kdig} {
			ixfr := func(from uint32) int {
				t.Helper()
				out := output(t, client, "@127.0.0.1", "-p", s.port, zone, fmt.Sprintf("IXFR=%d", from), "+noall", "+answer")
				return len(words(out))
			}
			if n := ixfr(serial); n != 1 {
				t.Errorf("%s gets %d records of %s for the serial that there is, want the SOA", client, n, zone)
			}
			if n := ixfr(serial - 1); n <= many {
				t.Errorf("%s gets %d records of %s for the serial before, want all", client, n, zone)
			}
		}
		told(t, "named-checkzone finds %s sound, two transfers of it, by dig and by kdig, are the same %d records, and IXFR gives the SOA, or all",
			zone, strings.Count(first, "\n"))
	}
}
