package interop

import (
	"fmt"
	"strings"
	"testing"
)

// secondary is other software that can have our zones.
type secondary struct {
	name string
	// start starts it on a port, to have the zones from the server at primary.
	// Where it can be told so, it does not look for changes by itself for an
	// hour: only NOTIFY tells it.
	start func(t testing.TB, port, primary string) *daemon
}

var secondaries = []secondary{
	{"BIND", startBindSecondary}, {"Knot", startKnot}, {"NSD", startNSDSecondary}, {"CoreDNS", startCoreDNSSecondary},
}

func startBindSecondary(t testing.TB, port, primary string) *daemon {
	t.Helper()
	var conf []string
	for _, z := range zones {
		conf = append(conf, fmt.Sprintf(`zone %[1]q {
	type secondary;
	primaries { 127.0.0.1 port %[2]s; };
	file "%[1]szone";
	masterfile-format text;
	min-refresh-time 3600;
	notify no;
};`, z, primary))
	}
	return startNamed(t, port, "recursion no; dnssec-validation no; allow-query { any; }; allow-transfer { any; }; empty-zones-enable no;", conf...)
}

func startKnot(t testing.TB, port, primary string) *daemon {
	t.Helper()
	path, dir := need(t, "knotd"), t.TempDir()
	var conf strings.Builder
	fmt.Fprintf(&conf, `server:
  listen: 127.0.0.1@%[1]s
  rundir: %[2]q
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
log:
- target: stderr
  any: info
database:
  storage: %[2]q
remote:
- id: primary
  address: 127.0.0.1@%[3]s
acl:
- id: loopback
  address: 127.0.0.1
  action: [notify, transfer]
template:
- id: default
  storage: %[2]q
  master: primary
  acl: loopback
  refresh-min-interval: 3600
zone:
`, port, dir, primary)
	for _, z := range zones {
		fmt.Fprintf(&conf, "- domain: %s\n", z)
	}
	return start(t, dir, "127.0.0.1:"+port, path, "-c", write(t, dir, "knot.conf", conf.String()))
}

func startNSDSecondary(t testing.TB, port, primary string) *daemon {
	t.Helper()
	var conf strings.Builder
	for _, z := range zones {
		fmt.Fprintf(&conf, `zone:
	name: %q
	request-xfr: 127.0.0.1@%s NOKEY
	allow-notify: 127.0.0.1 NOKEY
	provide-xfr: 127.0.0.1 NOKEY
	min-refresh-time: 3600
`, z, primary)
	}
	return startNSD(t, t.TempDir(), port, conf.String())
}

// startCoreDNSSecondary starts plugin secondary, which looks for changes when
// the SOA says so.
func startCoreDNSSecondary(t testing.TB, port, primary string) *daemon {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var conf strings.Builder
	for _, z := range zones {
		fmt.Fprintf(&conf, "%s:%s {\n\tbind 127.0.0.1\n\terrors\n\ttransfer {\n\t\tto *\n\t}\n\tsecondary {\n\t\ttransfer from 127.0.0.1:%s\n\t}\n}\n",
			z, port, primary)
	}
	write(t, dir, "Corefile", conf.String())
	return start(t, dir, "127.0.0.1:"+port, bin, "-conf", "Corefile")
}
