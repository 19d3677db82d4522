package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The servers that can be measured, by what the table calls them.
const (
	ours   = "ours"
	hosts  = "hosts"
	file   = "file"
	whoami = "whoami"
	nsd    = "nsd"
	knot   = "knot"
)

var everyServer = []string{ours, hosts, file, whoami, nsd, knot}

// kind is a server as it is to be run.
type kind struct {
	name   string
	binary string
	env    []string
	// config is the server's configuration for a site, answering at a port.
	config func(s site, port string) string
	// args are the arguments for a configuration at a path.
	args func(path string) []string
	// unknown is what it answers for a name that does not exist; "" where it does
	// not look at names.
	unknown string
}

// kinds returns what s wants measured, as far as it is there, and tells of the rest.
func (s settings) kinds(say func(string, ...any)) ([]kind, error) {
	all := []kind{
		coredns(ours, s.Ours, nil, "NXDOMAIN", meshvipLines),
		coredns(hosts, s.Stock, nil, "SERVFAIL", hostsLines), // it has no SOA to say more
		coredns(file, s.Stock, nil, "NXDOMAIN", fileLines),
		coredns(whoami, s.Stock, nil, "", func(site) string { return "whoami" }),
		{name: nsd, binary: "nsd", config: nsdConfig, args: func(path string) []string { return []string{"-d", "-c", path} }, unknown: "NXDOMAIN"},
		{name: knot, binary: "knotd", config: knotConfig, args: func(path string) []string { return []string{"-c", path} }, unknown: "NXDOMAIN"},
	}
	all = slices.DeleteFunc(all, func(k kind) bool { return !slices.Contains(s.Servers, k.name) })
	for _, v := range s.Variants {
		binary := s.Ours
		if v.Binary != "" {
			binary = v.Binary
		}
		all = append(all, coredns(v.Name, binary, v.Env, "NXDOMAIN", func(s site) string {
			return strings.Join(append([]string{meshvipLines(s)}, v.Lines...), "\n\t")
		}))
	}
	var there []kind
	for _, k := range all {
		path, err := find(k.binary)
		switch {
		case err == nil:
			k.binary = path
			there = append(there, k)
		case slices.ContainsFunc(s.Variants, func(v variant) bool { return v.Name == k.name }):
			return nil, fmt.Errorf("variant %s: %w", k.name, err)
		default:
			say("left out: %s, for there is no %s: %s", k.name, k.binary, remedy(k.name))
		}
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("there is none of %s", strings.Join(s.Servers, ", "))
	}
	return there, nil
}

// remedy says how to have a server.
func remedy(name string) string {
	switch name {
	case ours:
		return `run "make build"`
	case nsd, knot:
		return "install Debian's package " + name
	}
	return `build it as "make bench-server" does`
}

// find returns the absolute path of a program.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil && !strings.ContainsRune(program, os.PathSeparator) {
		path, err = exec.LookPath(filepath.Join("/usr/sbin", program)) // not everybody's path has it
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// coredns is a CoreDNS with lines in its one server block, the same around them
// for all: no log, no errors, no metrics, no cache.
func coredns(name, binary string, env []string, unknown string, lines func(site) string) kind {
	return kind{
		name: name, binary: binary, env: env, unknown: unknown,
		config: func(s site, port string) string {
			return fmt.Sprintf("%[1]s:%[3]s %[2]s:%[3]s {\n\tbind 127.0.0.1\n\t%[4]s\n}\n", zone, reverseZone, port, lines(s))
		},
		args: func(path string) []string { return []string{"-conf", path} },
	}
}

// meshvipLines serve a store. The control plane refuses: what was never read
// releases nothing.
func meshvipLines(s site) string {
	return "meshvip {\n\t\tpool " + pool + "\n\t\tsource kuma http://127.0.0.1:1\n\t\tstore bolt " + s.path("meshvip.db") + "\n\t\tns 127.0.0.1\n\t}"
}

func hostsLines(s site) string {
	return fmt.Sprintf("hosts %s %s %s {\n\t\treload 0\n\t\tttl 60\n\t}", s.path("hosts"), zone, reverseZone)
}

func fileLines(s site) string {
	one := func(name, zone string) string {
		return fmt.Sprintf("file %s %s {\n\t\treload 0\n\t}", s.path(name), zone)
	}
	return one("mesh.zone", zone) + "\n\t" + one("reverse.zone", reverseZone)
}

// nsdConfig is for one worker.
func nsdConfig(s site, port string) string {
	dir := s.path("nsd.d/nsd")
	return fmt.Sprintf(`server:
	ip-address: 127.0.0.1@%[1]s
	username: ""
	chroot: ""
	zonesdir: %[2]q
	database: ""
	pidfile: "%[3]s.pid"
	xfrdfile: "%[3]s.state"
	xfrdir: %[2]q
	zonelistfile: "%[3]s.list"
	server-count: 1
	rrl-ratelimit: 0
remote-control:
	control-enable: no
zone:
	name: %[4]q
	zonefile: "mesh.zone"
zone:
	name: %[5]q
	zonefile: "reverse.zone"
`, port, s.dir, dir, zone, reverseZone)
}

// knotConfig is for one worker.
func knotConfig(s site, port string) string {
	return fmt.Sprintf(`server:
  listen: 127.0.0.1@%[1]s
  rundir: %[2]q
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
log:
- target: stderr
  any: warning
database:
  storage: %[3]q
template:
- id: default
  storage: %[2]q
  zonefile-sync: -1
  zonefile-load: whole
  journal-content: none
zone:
- domain: %[4]s
  file: mesh.zone
- domain: %[5]s
  file: reverse.zone
`, port, s.dir, s.path("knot.d"), zone, reverseZone)
}
