package interop

import (
	"strings"
	"testing"
)

// compiled returns a transferred zone in BIND's canonical form: sorted, all
// names in full, one record a line.
func compiled(t testing.TB, zone, text string) string {
	t.Helper()
	return output(t, need(t, "named-compilezone"), "-q", "-k", "ignore", "-i", "local", "-s", "full", "-o", "-",
		zone, write(t, t.TempDir(), "zone", text))
}

func TestTransferredZonesAreSound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.plugins = "transfer {\n\t\tto *\n\t}"
	d := s.start()
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
		if first == "" || first != second {
			t.Errorf("two transfers of %s differ:\n%s\n%s", zone, first, second)
		}
		told(t, "named-checkzone finds %s sound, and two transfers of it, by dig and by kdig, are the same %d records", zone, strings.Count(first, "\n"))
	}
}
