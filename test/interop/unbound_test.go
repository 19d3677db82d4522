package interop

import (
	"fmt"
	"strings"
	"testing"
)

// unboundConf is all of unbound's configuration but for where it sends
// questions to: a directory, ADDRESS@PORT, modules, and further lines. Addresses like those of our pool of IPv6 are private ones,
// whose reverse tree it answers itself unless it is told not to.
const unboundConf = `server:
	directory: %[1]q
	chroot: ""
	username: ""
	pidfile: ""
	use-syslog: no
	logfile: ""
	do-daemonize: no
	interface: %[2]s
	do-not-query-localhost: no
	module-config: %[3]q
	qname-minimisation: yes
	qname-minimisation-strict: yes
	harden-below-nxdomain: yes
	harden-referral-path: no
	num-threads: 1
	local-zone: "d.f.ip6.arpa." nodefault
%[4]s
remote-control:
	control-enable: no
`

// startUnbound starts unbound with modules, lines of its section server, and
// for each of zones a section of the given kind, "forward" or "stub", which has
// it ask d.
func startUnbound(t testing.TB, modules string, lines []string, kind string, d *daemon, zones ...string) *daemon {
	t.Helper()
	path := needServer(t, "unbound")
	dir, port := t.TempDir(), freePort(t)
	var conf strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&conf, "\t%s\n", l)
	}
	for _, z := range zones {
		fmt.Fprintf(&conf, "%[1]s-zone:\n\tname: %[2]q\n\t%[1]s-addr: 127.0.0.1@%[3]s\n", kind, z, portOf(d.addr))
	}
	write(t, dir, "unbound.conf", fmt.Sprintf(unboundConf, dir, "127.0.0.1@"+port, modules, conf.String()))
	u := start(t, dir, "127.0.0.1:"+port, path, "-d", "-p", "-c", dir+"/unbound.conf")
	u.serves(zones[0])
	return u
}
