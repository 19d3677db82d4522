package interop

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"
)

func TestTheSystemsResolverFindsEverything(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d := s.start() // for the addresses: its store is the one that the other has
	v4, v6 := d.resolves("backend.mesh.", dns.TypeA), d.resolves("backend.mesh.", dns.TypeAAAA)
	d.stop()
	out := s.inPrivate(fmt.Sprintf(`
echo ahosts: $(getent ahosts backend.mesh)
echo search: $(getent ahostsv6 backend)
echo dotted: $(getent ahostsv4 backend.kuma-demo.svc.5678.mesh)
echo literal: $(getent ahostsv4 backend_kuma-demo_svc_5678.mesh)
echo host: $(getent ahostsv4 %s)
echo name4: $(getent hosts %v)
echo name6: $(getent hosts %v)
echo none: $(getent ahosts nope.mesh || echo $?)
`, host, v4, v6))
	shows(t, "getent", out, fmt.Sprintf("%v STREAM", v4))
	shows(t, "getent", out, fmt.Sprintf("search: %v STREAM backend.mesh", v6))
	shows(t, "getent", out, "dotted: 240.")
	shows(t, "getent", out, "literal: 240.")
	shows(t, "getent", out, "host: 240.")
	shows(t, "getent", out, fmt.Sprintf("name4: %v backend.mesh", v4))
	shows(t, "getent", out, fmt.Sprintf("name6: %v backend.mesh", v6))
	shows(t, "getent", out, "none: 2")
	told(t, "getent, through the C library: both families, both spellings, by search list, and names of addresses\n%s", out)
}
