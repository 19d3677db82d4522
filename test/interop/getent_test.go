package interop

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"
)

// private is a shell script that starts our server on port 53 of a loopback of
// its own, with the system's resolver asking it, and then lets the resolver
// look names up. Its arguments are the directory with the configuration, the
// binary, and what to run when the server answers. A machine that has loopback
// addresses only looks for none (AI_ADDRCONFIG), so it gets others.
const private = `set -eu
cd "$1"
ip link set lo up
ip address add 192.0.2.1/32 dev lo
ip address add 2001:db8::1/128 dev lo
mount --bind resolv.conf /etc/resolv.conf
mount --bind nsswitch.conf /etc/nsswitch.conf
"$2" -conf Corefile >log 2>&1 &
server=$!
trap 'kill -KILL $server' EXIT
until getent ahostsv4 backend.mesh >/dev/null; do
	kill -0 $server || { cat log >&2; exit 1; }
	sleep 0.1
done
eval "$3"
`

// inPrivate runs a script beside a server of the site, in namespaces of its own,
// and returns what it prints.
func (s *site) inPrivate(script string) string {
	s.t.Helper()
	for _, program := range []string{"getent", "ip", "unshare"} {
		need(s.t, program)
	}
	unshare := need(s.t, "unshare")
	if out, err := outputOf(unshare, "--net", "--mount", "ip", "link", "set", "lo", "up"); err != nil {
		lack(s.t, "no network and mount namespaces here, which want root: %v: %s", err, out)
	}
	bin, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	s.port = "53"
	s.configure()
	write(s.t, s.dir, "resolv.conf", "nameserver 127.0.0.1\nsearch mesh\noptions timeout:2 attempts:5\n")
	write(s.t, s.dir, "nsswitch.conf", "hosts: dns\n")
	return output(s.t, unshare, "--net", "--mount", "sh", "-c", private, "sh", s.dir, bin, script)
}

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
