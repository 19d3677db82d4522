package interop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// root is a root zone that delegates our zones to us, with the addresses that
// these have for their name servers.
func root() string {
	var b strings.Builder
	b.WriteString(". 3600 IN SOA root-server. hostmaster. 1 3600 600 86400 60\n. 3600 IN NS root-server.\nroot-server. 3600 IN A 127.0.0.2\n")
	for _, z := range zones {
		fmt.Fprintf(&b, "%[1]s 3600 IN NS ns.dns.%[1]s\nns.dns.%[1]s 3600 IN A 127.0.0.1\n", z)
	}
	return b.String()
}

func TestResolversFindDelegatedZonesFromTheRoot(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d := s.start() // for the addresses: its store is the one that the other has
	v4, v6 := d.resolves("backend.mesh.", dns.TypeA), d.resolves("backend.mesh.", dns.TypeAAAA)
	d.stop()

	nsd, unbound, named, dig := need(t, "nsd"), needServer(t, "unbound"), needServer(t, "named"), need(t, "dig")
	write(t, s.dir, "root", root())
	write(t, s.dir, "hints", ". 3600 IN NS root-server.\nroot-server. 3600 IN A 127.0.0.2\n")
	write(t, s.dir, "nsd.conf", fmt.Sprintf(nsdConf, s.dir, "127.0.0.2@53", "zone:\n\tname: \".\"\n\tzonefile: root\n"))
	write(t, s.dir, "unbound.conf", fmt.Sprintf(unboundConf, s.dir, "127.0.0.3@53", "iterator", "\troot-hints: hints\n"))
	write(t, s.dir, "named.conf", fmt.Sprintf(namedConf, s.dir, "127.0.0.4", "53",
		"recursion yes; allow-query { any; }; dnssec-validation no; empty-zones-enable no; qname-minimization strict;", ""))

	var script strings.Builder
	script.WriteString("ip address add 127.0.0.4/32 dev lo\n") // BIND listens on addresses that are there
	for _, server := range []string{nsd + " -d -c nsd.conf", unbound + " -d -p -c unbound.conf", named + " -g -n 1 -c named.conf"} {
		fmt.Fprintf(&script, "%s >>others 2>&1 & others=\"$others $!\"\n", server)
	}
	for i, resolver := range []string{"unbound", "BIND"} {
		fmt.Fprintf(&script, `ask() { %[1]s @127.0.0.%[2]d +time=2 +tries=5 "$@"; }
until ask +short backend.mesh | grep -q ^240; do sleep 0.1; done
echo %[3]s A $(ask +short backend.mesh)
echo %[3]s AAAA $(ask +short backend.mesh AAAA)
echo %[3]s SRV $(ask +short backend.mesh SRV)
echo %[3]s dotted $(ask +short backend.kuma-demo.svc.5678.mesh)
echo %[3]s host $(ask +short %[4]s)
echo %[3]s name4 $(ask +short -x %[5]v)
echo %[3]s name6 $(ask +short -x %[6]v)
echo %[3]s ancestor $(ask svc.5678.mesh | grep -o 'status: [A-Z]*')
echo %[3]s none $(ask nope.mesh | grep -o 'status: [A-Z]*')
echo %[3]s nobody $(ask -x 240.200.0.1 | grep -o 'status: [A-Z]*')
`, dig, 3+i, resolver, host, v4, v6)
	}
	out := s.inPrivate(script.String())
	for _, resolver := range []string{"unbound", "BIND"} {
		shows(t, resolver, out, fmt.Sprintf("%s A %v", resolver, v4))
		shows(t, resolver, out, fmt.Sprintf("%s AAAA %v", resolver, v6))
		shows(t, resolver, out, resolver+" SRV 0 100 80 backend.mesh.")
		shows(t, resolver, out, resolver+" dotted 240.")
		shows(t, resolver, out, resolver+" host 240.")
		shows(t, resolver, out, resolver+" name4 backend.mesh.")
		shows(t, resolver, out, resolver+" name6 backend.mesh.")
		shows(t, resolver, out, resolver+" ancestor status: NOERROR")
		shows(t, resolver, out, resolver+" none status: NXDOMAIN")
		shows(t, resolver, out, resolver+" nobody status: NXDOMAIN")
	}
	told(t, "unbound and BIND find us from a root that delegates our zones to ns.dns.ZONE, asking label by label:\n%s", out)
}
