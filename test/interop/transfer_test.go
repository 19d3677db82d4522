package interop

import (
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// transferred returns a zone as dig gets it from d: a record a line, the SOA
// once.
func transferred(t testing.TB, d *daemon, zone string) string {
	t.Helper()
	text := output(t, need(t, "dig"), "@127.0.0.1", "-p", portOf(d.addr), zone, "AXFR", "+noall", "+answer", "+onesoa")
	if !strings.Contains(text, "SOA") {
		t.Fatalf("%s gives no transfer of %s: %q", d.name, zone, text)
	}
	return text
}

// owners returns the names that a zone's text has records at, in lower case,
// sorted.
func owners(t testing.TB, text string) []string {
	t.Helper()
	var names []string
	parser := dns.NewZoneParser(strings.NewReader(text), ".", "")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		names = append(names, strings.ToLower(rr.Header().Name))
	}
	if err := parser.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
