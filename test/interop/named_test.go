package interop

import (
	"fmt"
	"strings"
	"testing"
)

// namedConf is BIND's configuration: a directory, an address and a port, further
// options, and zones. The root is where the file "hints" says.
const namedConf = `options {
	directory %[1]q;
	listen-on port %[3]s { %[2]s; };
	listen-on-v6 { none; };
	pid-file none;
	session-keyfile none;
	%[4]s
};
controls { };
zone "." { type hint; file "hints"; };
%[5]s
`

// startNamed starts BIND on a port, with lines among its options, and zones, all
// in its own words.
func startNamed(t testing.TB, port, options string, zones ...string) *daemon {
	t.Helper()
	path, dir := needServer(t, "named"), t.TempDir()
	// The root is nowhere: BIND asks nobody but us.
	write(t, dir, "hints", ". NS nowhere.\nnowhere. A 127.0.0.1\n")
	write(t, dir, "named.conf", fmt.Sprintf(namedConf, dir, "127.0.0.1", port, options, strings.Join(zones, "\n")))
	return start(t, dir, "127.0.0.1:"+port, path, "-g", "-n", "1", "-c", dir+"/named.conf")
}

// startBindResolver starts BIND as a resolver that asks d for zones. validation
// is its option of this kind, and anchors are what it trusts.
func startBindResolver(t testing.TB, d *daemon, validation, anchors string, zones ...string) *daemon {
	t.Helper()
	conf := []string{anchors}
	for _, z := range zones {
		conf = append(conf, fmt.Sprintf("zone %q { type forward; forward only; forwarders { 127.0.0.1 port %s; }; };", z, portOf(d.addr)))
	}
	n := startNamed(t, freePort(t), "recursion yes; allow-query { any; }; "+validation+" empty-zones-enable no;", conf...)
	n.serves(zones[0])
	return n
}
