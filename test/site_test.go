package test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
)

// site is what one server works on: a directory with its Corefile, resources,
// store and published tables, and the ports that it listens on.
type site struct {
	t   testing.TB
	dir string
	// zones are the keys of the server block that has meshvip.
	zones     string
	resources string // the directory that the source follows
	store     string // the bolt file; it is verified when the test ends, unless ""
	published string
	// port is the DNS port; ready and metrics are the addresses of the plugins
	// of these names.
	port, ready, metrics string
}

// newSite returns a site without resources. Whatever store the test leaves
// there has to be sound.
func newSite(t testing.TB) *site {
	t.Helper()
	dir := t.TempDir()
	p := &site{
		t: t, dir: dir, zones: "mesh 240.0.0.0/8",
		resources: filepath.Join(dir, "resources"),
		store:     filepath.Join(dir, "meshvip.db"),
		published: filepath.Join(dir, "published"),
		port:      freePort(t),
		ready:     "127.0.0.1:" + freePort(t),
		metrics:   "127.0.0.1:" + freePort(t),
	}
	if err := os.Mkdir(p.resources, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the servers' cleanups run before this one
		if p.store != "" {
			verify(t, p.store)
		}
	})
	return p
}

// exampleSite returns a site with a copy of examples/resources.
func exampleSite(t testing.TB) *site {
	t.Helper()
	p := newSite(t)
	copyTree(t, filepath.Join(top, "examples", "resources"), p.resources)
	return p
}

// corefile returns a Corefile with meshvip in one server block and a zone
// other.test in another. lines are properties of meshvip, which stand in place
// of the defaults of the same name.
func (p *site) corefile(lines ...string) string {
	for _, standard := range []string{"pool 240.0.0.0/8", "source file " + p.resources, "store bolt " + p.store, "publish " + p.published} {
		name, _, _ := strings.Cut(standard, " ")
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+" ") }) {
			lines = append(lines, standard)
		}
	}
	keys := strings.Fields(p.zones)
	for i := range keys {
		keys[i] += ":" + p.port
	}
	return fmt.Sprintf(`%s {
	bind 127.0.0.1
	errors
	ready %s
	prometheus %s
	meshvip {
		%s
	}
}
other.test:%s {
	bind 127.0.0.1
	hosts {
		192.0.2.1 www.other.test
	}
}
`, strings.Join(keys, " "), p.ready, p.metrics, strings.Join(lines, "\n\t\t"), p.port)
}

// launch starts a server on the site and waits for nothing.
func (p *site) launch(lines ...string) *server {
	p.t.Helper()
	return p.launchBuild(released, nil, lines...)
}

// launchBuild is launch for some build, with env added to the environment.
func (p *site) launchBuild(build func() (string, error), env []string, lines ...string) *server {
	p.t.Helper()
	s := launchBuild(p.t, build, p.dir, p.corefile(lines...), "127.0.0.1:"+p.port, env...)
	s.ready, s.metrics = p.ready, p.metrics
	return s
}

// start launches and waits until the zone other.test is answered, and so
// every zone of the Corefile in some way.
func (p *site) start(lines ...string) *server {
	p.t.Helper()
	s := p.launch(lines...)
	s.servesOther()
	return s
}

// reload gives the running server another Corefile, at once.
func (p *site) reload(s *server, lines ...string) {
	p.t.Helper()
	write(p.t, p.dir, "Corefile", p.corefile(lines...))
	before := strings.Count(s.log.String(), "Reloading complete")
	s.signal(syscall.SIGUSR1)
	s.wait("the end of the reload", func() bool {
		return strings.Count(s.log.String(), "Reloading complete") > before
	})
}

// verify fails the test unless the table in the store at path keeps every
// invariant and has no record that is set aside. It returns what it read.
func verify(t testing.TB, path string) allocator.State {
	t.Helper()
	store, created, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		t.Errorf("the store that the server left: %v", err)
		return allocator.State{}
	}
	defer store.Close()
	state, err := store.Load(context.Background())
	if err != nil {
		t.Errorf("the store that the server left: %v", err)
	}
	if created {
		t.Errorf("the server left no store at %s", path)
	}
	for _, d := range state.Damaged {
		t.Errorf("the store that the server left has a damaged record at %s: %v", d.Place, d.Err)
	}
	if err := allocator.Check(state); err != nil {
		t.Errorf("the table that the server left is not sound:\n%v", err)
	}
	return state
}

// copyTree copies the files below from to to, writable.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// remove removes files or directories of the resources.
func (p *site) remove(names ...string) {
	p.t.Helper()
	for _, n := range names {
		if err := os.RemoveAll(filepath.Join(p.resources, n)); err != nil {
			p.t.Fatal(err)
		}
	}
}

// dataplane returns a Dataplane document with an inbound for each service.
func dataplane(mesh, name string, services ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type: Dataplane\nmesh: %q\nname: %q\nnetworking:\n  address: 192.0.2.1\n  inbound:\n", mesh, name)
	for i, s := range services {
		fmt.Fprintf(&b, "    - port: %d\n      tags:\n        kuma.io/service: %q\n", 8000+i, s)
	}
	if len(services) == 0 {
		b.WriteString("    []\n")
	}
	return b.String()
}

// table returns the addresses of the mesh's published table by its keys, nil
// if there is none.
func (p *site) table(mesh string) map[string]string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.published, mesh+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		p.t.Fatal(err)
	}
	var rows map[string]struct{ Address string }
	if err := json.Unmarshal(data, &rows); err != nil {
		p.t.Fatalf("the published table of mesh %s: %v", mesh, err)
	}
	addrs := make(map[string]string, len(rows))
	for key, row := range rows {
		addrs[key] = row.Address
	}
	return addrs
}

// outbounds returns the text of the mesh's published outbounds, "" if there
// are none.
func (p *site) outbounds(mesh string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.published, mesh+".outbounds.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	return string(data)
}
