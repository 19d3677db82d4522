package interop

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// The zones that every site serves.
const (
	forwardZone = "mesh."
	hostZone    = "mapwright.example."
	reverse4    = "240.in-addr.arpa."
	reverse6    = "0.0.0.0.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa." // of fd00:6d76::/64
)

var zones = []string{forwardZone, hostZone, reverse4, reverse6}

// services are listed from the start. With them come the host
// tiles.mapwright.example and the full name backend.all.mesh.
var services = []string{
	"backend", "web", "Catalogue", "basket-cache", "maps",
	"backend_kuma-demo_svc_5678", "redis_kuma-demo_svc_6379", "single_svc",
}

// host is the one host.
const host = "tiles.mapwright.example."

// buildDir is where the binary goes.
var buildDir string

func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "meshvip-interop"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// binary builds cmd/coredns, once for all tests, and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "coredns")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../../cmd/coredns").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building cmd/coredns: %w\n%s", err, out)
	}
	return path, nil
})

// site is what one server of ours works on: a directory with its Corefile,
// resources and store, and its port.
type site struct {
	t              testing.TB
	dir, resources string
	port           string
	// negativeTTL is in seconds.
	negativeTTL int
	// keys are those of the server block, which has plugins besides meshvip.
	keys    []string
	plugins string
	// properties are more of meshvip's.
	properties []string
	// others are further server blocks.
	others string
}

// newSite returns a site with the standard resources.
func newSite(t testing.TB) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{
		t: t, dir: dir, resources: filepath.Join(dir, "resources"), port: freePort(t), negativeTTL: 5,
		keys: []string{"mesh", "mapwright.example", "240.0.0.0/8", "fd00:6d76::/64"},
	}
	s.list(services...)
	write(t, s.resources, "host.yaml", "type: ExternalService\nmesh: default\nname: maps\n"+
		"tags: {kuma.io/service: maps}\nnetworking: {address: 'tiles.mapwright.example:443'}\n")
	write(t, s.resources, "names.yaml", "type: VirtualOutbound\nmesh: default\nname: all\n"+
		"selectors: [{match: {kuma.io/service: backend}}]\n"+
		"conf: {host: '{{.service}}.all.mesh', port: '80', parameters: [{name: service, tagKey: kuma.io/service}]}\n")
	return s
}

// list adds services to the resources, each in a file of its own.
func (s *site) list(services ...string) {
	s.t.Helper()
	for _, service := range services {
		write(s.t, s.resources, service+".yaml", fmt.Sprintf("type: Dataplane\nmesh: default\nname: %[1]q\nnetworking:\n"+
			"  address: 192.0.2.1\n  inbound:\n  - port: 8080\n    tags: {kuma.io/service: %[1]q}\n", service))
	}
}

// unlist takes a service away.
func (s *site) unlist(service string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.resources, service+".yaml")); err != nil {
		s.t.Fatal(err)
	}
}

// table is the plugin's block in the Corefile.
const table = `meshvip {
		pool 240.0.0.0/8 fd00:6d76::/64
		source file resources
		store bolt meshvip.db
		ns 127.0.0.1
		negative_ttl %d
		%s
	}`

// configure writes the Corefile.
func (s *site) configure() {
	s.t.Helper()
	keys := make([]string, len(s.keys))
	for i, k := range s.keys {
		keys[i] = k + ":" + s.port
	}
	write(s.t, s.dir, "Corefile", fmt.Sprintf("%s {\n\tbind 127.0.0.1\n\terrors\n\t%s\n\t"+table+"\n}\n%s",
		strings.Join(keys, " "), s.plugins, s.negativeTTL, strings.Join(s.properties, "\n\t\t"), s.others))
}

// start starts a server and waits until it has read the resources.
func (s *site) start() *daemon {
	s.t.Helper()
	bin, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	s.configure()
	d := start(s.t, s.dir, "127.0.0.1:"+s.port, bin, "-conf", "Corefile")
	d.serves(forwardZone)
	d.wait(patience, "the resources to be read", func() bool { return d.address("backend.mesh.", dns.TypeA).IsValid() })
	return d
}

// resolves waits until name has an address of a family, and returns it.
func (d *daemon) resolves(name string, qtype uint16) (addr netip.Addr) {
	d.t.Helper()
	d.wait(patience, d.name+" to resolve "+name, func() bool {
		addr = d.address(name, qtype)
		return addr.IsValid()
	})
	return addr
}
