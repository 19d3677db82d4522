package interop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// words returns the fields of each line, joined by one space.
func words(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 {
			lines = append(lines, strings.Join(f, " "))
		}
	}
	return lines
}

// shows checks that one line of what a client printed is, or contains, text.
func shows(t *testing.T, client, out, text string) {
	t.Helper()
	for _, line := range words(out) {
		if strings.Contains(line, text) {
			return
		}
	}
	t.Errorf("%s does not show %q:\n%s", client, text, out)
}

func TestClientsFindEverything(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d := s.start()
	v4, v6 := d.resolves("backend.mesh.", dns.TypeA), d.resolves("backend.mesh.", dns.TypeAAAA)

	for _, client := range []string{"dig", "kdig"} {
		t.Run(client, func(t *testing.T) {
			path := need(t, client)
			ask := func(args ...string) string {
				t.Helper()
				return output(t, path, append([]string{"@127.0.0.1", "-p", s.port}, args...)...)
			}
			shows(t, client, ask("backend.mesh", "A", "+short"), v4.String())
			shows(t, client, ask("backend.mesh", "AAAA", "+short"), v6.String())
			shows(t, client, ask("-x", v4.String(), "+short"), "backend.mesh.")
			shows(t, client, ask("-x", v6.String(), "+short"), "backend.mesh.")
			shows(t, client, ask("backend.mesh", "A", "+tcp"), fmt.Sprintf("backend.mesh. 60 IN A %v", v4))
			shows(t, client, ask(host, "A"), "tiles.mapwright.example. 60 IN A 240.")
			shows(t, client, ask("mesh", "NS"), "mesh. 60 IN NS ns.dns.mesh.")
			shows(t, client, ask("mesh", "NS"), "ns.dns.mesh. 60 IN A 127.0.0.1")
			out := ask("backend.mesh", "SRV")
			shows(t, client, out, "backend.mesh. 60 IN SRV 0 100 80 backend.mesh.")
			shows(t, client, out, fmt.Sprintf("backend.mesh. 60 IN AAAA %v", v6))
			out = ask("nope.mesh", "A")
			shows(t, client, out, "status: NXDOMAIN")
			shows(t, client, out, "mesh. 5 IN SOA ns.dns.mesh. hostmaster.mesh.")
			out = ask("backend.mesh", "TXT")
			shows(t, client, out, "status: NOERROR")
			shows(t, client, out, "mesh. 5 IN SOA ns.dns.mesh. hostmaster.mesh.")
			// kdig asks in lower case, whatever it is told.
			shows(t, client, strings.ToLower(ask("bAcKeNd.MeSh", "A")), fmt.Sprintf("backend.mesh. 60 in a %v", v4))
			// Cookies, client subnets, padding and unknown options are no reason
			// to answer otherwise.
			shows(t, client, ask("backend.mesh", "A", "+subnet=192.0.2.0/24", "+nsid", "+bufsize=512"), v4.String())
			told(t, "%s: A, AAAA, PTR of both families, SRV with its addresses, SOA, NS with its address, NXDOMAIN, NODATA, mixed case, TCP, EDNS options", client)
		})
	}
	t.Run("host", func(t *testing.T) {
		path := need(t, "host")
		ask := func(args ...string) string {
			t.Helper()
			return output(t, path, append([]string{"-p", s.port}, append(args, "127.0.0.1")...)...)
		}
		out := ask("backend.mesh")
		shows(t, "host", out, fmt.Sprintf("backend.mesh has address %v", v4))
		shows(t, "host", out, fmt.Sprintf("backend.mesh has IPv6 address %v", v6))
		shows(t, "host", ask(v4.String()), strings.TrimSuffix(reverse(v4), ".")+" domain name pointer backend.mesh.")
		told(t, "host: both addresses at once, and the name of one")
	})
}
