package interop

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// nsdConf is NSD's configuration: a directory, ADDRESS@PORT, and zones.
const nsdConf = `server:
	ip-address: %[2]s
	username: ""
	chroot: ""
	zonesdir: %[1]q
	database: ""
	pidfile: "%[1]s/nsd.pid"
	xfrdfile: "%[1]s/xfrd.state"
	xfrdir: %[1]q
	zonelistfile: "%[1]s/zone.list"
	server-count: 1
	rrl-ratelimit: 0
remote-control:
	control-enable: no
%[3]s`

// startNSD starts NSD in dir on a port, with zones in its own words.
func startNSD(t testing.TB, dir, port, zones string) *daemon {
	t.Helper()
	path := need(t, "nsd")
	write(t, dir, "nsd.conf", fmt.Sprintf(nsdConf, dir, "127.0.0.1@"+port, zones))
	return start(t, dir, "127.0.0.1:"+port, path, "-d", "-c", filepath.Join(dir, "nsd.conf"))
}

// startNSDWith starts NSD with zones from files in dir, which are called as the
// zones are.
func startNSDWith(t testing.TB, dir string, zones []string) *daemon {
	t.Helper()
	var conf strings.Builder
	for _, z := range zones {
		fmt.Fprintf(&conf, "zone:\n\tname: %[1]q\n\tzonefile: %[1]q\n", z)
	}
	n := startNSD(t, dir, freePort(t), conf.String())
	for _, z := range zones {
		n.serves(z)
	}
	return n
}
