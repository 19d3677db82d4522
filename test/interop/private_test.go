package interop

import (
	"os"
	"path/filepath"
)

// private is a shell script that starts our server on port 53 of a loopback of
// its own, with the system's resolver asking it, and then lets the resolver
// look names up. Its arguments are the directory with the configuration, the
// binary, and what to run when the server answers. A machine that has loopback
// addresses only looks for none (AI_ADDRCONFIG), so it gets others. What it runs
// may start more servers, and name them in $others.
const private = `set -eu
cd "$1"
ip link set lo up
ip address add 192.0.2.1/32 dev lo
ip address add 2001:db8::1/128 dev lo
mount --bind resolv.conf /etc/resolv.conf
mount --bind nsswitch.conf /etc/nsswitch.conf
"$2" -conf Corefile >log 2>&1 &
server=$!
others=
trap 'kill -TERM $server $others; wait' EXIT
until getent ahostsv4 backend.mesh >/dev/null; do
	kill -0 $server || exit 1
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
		s.t.Skipf("no network and mount namespaces here, which want root and, in a container, its leave: %v: %s", err, out)
	}
	bin, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	s.port = "53"
	s.configure()
	write(s.t, s.dir, "resolv.conf", "nameserver 127.0.0.1\nsearch mesh\noptions timeout:2 attempts:5\n")
	write(s.t, s.dir, "nsswitch.conf", "hosts: dns\n")
	s.t.Cleanup(func() {
		if s.t.Failed() {
			for _, name := range []string{"log", "others"} {
				text, _ := os.ReadFile(filepath.Join(s.dir, name)) // it may not be there
				s.t.Logf("%s:\n%s", name, tail(string(text), 60))
			}
		}
	})
	return output(s.t, unshare, "--net", "--mount", "sh", "-c", private, "sh", s.dir, bin, script)
}
