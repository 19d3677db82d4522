package test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/miekg/dns"
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
	s := launch(p.t, p.dir, p.corefile(lines...), "127.0.0.1:"+p.port)
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

// answers is an address by name, as a client got them.
type answers map[string]netip.Addr

// resolveAll waits until each of names has an address, and checks that no two
// have the same.
func (s *server) resolveAll(names ...string) answers {
	s.t.Helper()
	got := make(answers, len(names))
	owner := make(map[netip.Addr]string, len(names))
	for _, n := range names {
		addr := s.resolves(n)
		if other, taken := owner[addr]; taken {
			s.t.Errorf("%s and %s have one address, %v", n, other, addr)
		}
		got[n], owner[addr] = addr, n
	}
	return got
}

// unmoved checks that every name still has its address.
func (s *server) unmoved(before answers) {
	s.t.Helper()
	for _, n := range slices.Sorted(maps.Keys(before)) {
		if addr := s.addr4(n); addr != before[n] {
			s.t.Errorf("%s has moved from %v to %v", n, before[n], addr)
		}
	}
}

// without returns a copy of a that lacks names.
func (a answers) without(names ...string) answers {
	a = maps.Clone(a)
	for _, n := range names {
		delete(a, n)
	}
	return a
}

// rcode returns how a question for the A records of name ends.
func (s *server) rcode(name string) string {
	s.t.Helper()
	return dns.RcodeToString[s.ask(name, dns.TypeA).Rcode]
}

// goes waits until name does not exist any more.
func (s *server) goes(name string) {
	s.t.Helper()
	s.wait(name+" to go", func() bool { return s.rcode(name) == "NXDOMAIN" })
}

// servesOther waits until the zone that is not meshvip's is answered.
func (s *server) servesOther() {
	s.t.Helper()
	s.wait("an answer in the zone other.test", func() bool {
		r, err := s.query("www.other.test", dns.TypeA)
		return err == nil && r.Rcode == dns.RcodeSuccess && len(r.Answer) == 1
	})
}

var httpClient = &http.Client{Timeout: 5 * time.Second}

// isReady reports whether plugin ready says OK.
func (s *server) isReady() bool {
	r, err := httpClient.Get("http://" + s.ready + "/ready")
	if err != nil {
		return false
	}
	defer r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// metric returns a metric of meshvip, summed up over its labels.
func (s *server) metric(name string) float64 {
	s.t.Helper()
	var r *http.Response
	s.wait("metrics", func() bool {
		var err error
		r, err = httpClient.Get("http://" + s.metrics + "/metrics")
		return err == nil
	})
	defer r.Body.Close()
	sum := 0.0
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), "coredns_meshvip_"+name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			s.t.Fatalf("metric %s: %v", name, err)
		}
		sum += v
	}
	return sum
}

// measured waits until a metric has a value.
func (s *server) measured(name string, want float64) {
	s.t.Helper()
	s.wait(fmt.Sprintf("metric %s to be %v", name, want), func() bool { return s.metric(name) == want })
}

// logLine waits for a line of the log that has all of texts, and returns it.
func (s *server) logLine(texts ...string) (line string) {
	s.t.Helper()
	s.wait(fmt.Sprintf("a line with %q in the log", texts), func() bool {
		for l := range strings.Lines(s.log.String()) {
			if !slices.ContainsFunc(texts, func(t string) bool { return !strings.Contains(l, t) }) {
				line = l
				return true
			}
		}
		return false
	})
	return line
}

// watch asks for name again and again, and fails the test when the answer is
// anything but addr. It goes on until ended is called, which returns how many
// answers there were.
func (s *server) watch(name string, addr netip.Addr) (ended func() int) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan int)
	go func() {
		n := 0
		defer func() { done <- n }()
		for ctx.Err() == nil {
			r, err := s.query(name, dns.TypeA)
			if err != nil {
				continue // UDP loses packets
			}
			n++
			if len(r.Answer) != 1 || r.Answer[0].(*dns.A).A.String() != addr.String() {
				s.t.Errorf("%s was answered with\n%v\nwant %v", name, r, addr)
				return
			}
		}
	}()
	return func() int { stop(); return <-done }
}
