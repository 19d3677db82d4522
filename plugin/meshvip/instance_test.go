package meshvip

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/miekg/dns"
	"go.uber.org/goleak"
)

// two is one store and two server blocks, each with its own options.
const two = `
mesh.:PORT {
	meshvip {
		pool 240.0.0.0/24
		source file DIR/src
		store bolt DIR/meshvip.db
		meshes east
		ttl 7
	}
}
vip.:PORT {
	meshvip {
		meshes west
	}
}
240.0.0.0/8:PORT {
	meshvip
}
`

func TestBlocksWithOneStoreShareARuntime(t *testing.T) {
	s := newSite(t)
	s.services("e.yaml", "east", "a", "shared")
	s.services("w.yaml", "west", "b", "shared")
	s.start(two)
	s.runtime() // fails if there are more
	a, b, shared := s.resolves("a.mesh."), s.resolves("b.vip."), s.resolves("shared.mesh.")
	for name, want := range map[string]string{"b.mesh.": "NXDOMAIN", "a.vip.": "NXDOMAIN", "shared.vip.": shared} {
		s.becomes(name, dns.TypeA, want)
	}
	// A block with reverse zones only takes the first block's zone.
	for addr, want := range map[string]string{a: "a.mesh.", b: "b.mesh.", shared: "shared.mesh."} {
		if got := s.ask(reverse(t, addr), dns.TypePTR); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	for name, want := range map[string]uint32{"shared.mesh.": 7, "shared.vip.": defaultTTL} {
		if r, err := s.query(name, dns.TypeA); err != nil || r.Answer[0].Header().Ttl != want {
			t.Errorf("%s: %v %v, want the TTL %d", name, r, err, want)
		}
	}
}

func TestBlocksWithTwoStoresAreTwoTables(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.servicesIn("other", "b.yaml", "default", "b")
	s.start(with("pool 240.0.0.0/24", `vip.:PORT {
		meshvip {
			pool 240.0.0.0/24
			source file DIR/other
			store bolt DIR/other.db
		}
	}`))
	if a, b := s.resolves("a.mesh."), s.resolves("b.vip."); a != b {
		t.Errorf("%s and %s: the tables know of each other", a, b)
	}
	if got := s.ask("b.mesh.", dns.TypeA); got != "NXDOMAIN" {
		t.Errorf("b.mesh. is %s", got)
	}
}

func TestStoresThatBlocksShareOrNot(t *testing.T) {
	s := newSite(t)
	if err := os.Symlink(s.dir, filepath.Join(s.dir, "link")); err != nil {
		t.Fatal(err)
	}
	block := func(zone, lines string) string {
		return zone + ".:PORT {\n root DIR\n meshvip {\n pool 240.0.0.0/24\n source file src\n" + lines + "\n}\n}\n"
	}
	for _, tc := range []struct {
		what, corefile string
		want           int    // runtimes
		err            string // in the error, parts with * between
	}{
		{"the same default", block("a", "") + block("b", ""), 1, ""},
		{"the default beside the same, stated", block("a", "") + block("b", "store bolt meshvip.db"), 1, ""},
		{"none stated beside one", block("a", "store memory") + block("b", ""), 1, ""},
		{"memory twice", block("a", "store memory") + block("b", "store memory"), 1, ""},
		{"two paths to one directory", block("a", "store bolt meshvip.db") + block("b", "store bolt link/meshvip.db"), 1, ""},
		{"two paths to a directory that is not there", block("a", "store bolt new/meshvip.db") + block("b", "store bolt link/new/meshvip.db"), 1, ""},
		{"two stores", block("a", "store bolt a.db") + block("b", "store bolt b.db"), 2, ""},
		{"two stores, and one block that states none", block("a", "store bolt a.db") + block("b", "store bolt b.db") + "c.:PORT {\n meshvip\n}", 0, "Corefile:18*state 2 of them"},
		{"other pools", block("a", "") + strings.Replace(block("b", ""), "/24", "/25", 1), 0, "Corefile:12*pool*Corefile:4"},
		{"another cooldown", block("a", "cooldown 2h") + block("b", "cooldown 3h"), 0, "Corefile:14*cooldown*Corefile:6"},
		{"another limit", block("a", "max_release 2") + block("b", "max_release 3"), 0, "Corefile:14*max_release*Corefile:6"},
		{"nothing at all", "a.:PORT {\n meshvip\n}", 0, "Corefile:2*neither a pool nor a source"},
		{"reverse zones only", "240.0.0.0/8:PORT {\n meshvip {\n pool 240.0.0.0/24\n source file DIR/src\n store memory\n}\n}", 0, "Corefile:2*reverse zones only"},
		{"a ttl of another block that is too long", block("a", "cooldown 30s\n ttl 20") + "b.:PORT {\n meshvip {\n ttl 40\n }\n}", 0, "Corefile:6*cooldown*Corefile:12"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			s := &site{t: t, dir: s.dir, port: s.port}
			if tc.err == "" {
				s.start(tc.corefile)
				defer s.stop()
				registry.Lock()
				defer registry.Unlock()
				if n := len(registry.runtimes); n != tc.want {
					t.Errorf("%d runtimes, want %d", n, tc.want)
				}
				return
			}
			err := s.fails(tc.corefile)
			rest := err.Error()
			for _, part := range strings.Split(tc.err, "*") {
				var ok bool
				if _, rest, ok = strings.Cut(rest, part); !ok {
					t.Fatalf("%q, want %q in it, in that order", err, tc.err)
				}
			}
		})
	}
}

// A store that did not exist has the same identity once it does, or a reload
// would open it a second time.
func TestAStoreIsTheSameBeforeAndAfterItIsCreated(t *testing.T) {
	s := newSite(t)
	if err := os.Symlink(s.dir, filepath.Join(s.dir, "link")); err != nil {
		t.Fatal(err)
	}
	s.services("a.yaml", "default", "a")
	linked := strings.Replace(good, "DIR/meshvip.db", "DIR/link/data/meshvip.db", 1)
	s.start(linked)
	a := s.resolves("a.mesh.")
	r := s.runtime().runtime
	for _, corefile := range []string{linked, strings.Replace(good, "DIR/meshvip.db", "DIR/data/meshvip.db", 1)} {
		s.mustReload(corefile)
		if s.runtime().runtime != r || s.ask("a.mesh.", dns.TypeA) != a {
			t.Error("the store was opened anew")
		}
	}
}

func TestMemorySurvivesAReload(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a", "b")
	memory := strings.Replace(good, "bolt DIR/meshvip.db", "memory", 1)
	s.start(memory)
	b := s.resolves("b.mesh.")
	if err := os.Remove(filepath.Join(s.dir, "src", "a.yaml")); err != nil {
		t.Fatal(err)
	}
	s.services("b.yaml", "default", "b") // alone, it would be the first
	s.mustReload(memory)
	s.becomes("a.mesh.", dns.TypeA, "NXDOMAIN")
	if got := s.ask("b.mesh.", dns.TypeA); got != b {
		t.Errorf("b moved from %s to %s", b, got)
	}
}

func TestAStoreThatAnotherHoldsIsOpenedLater(t *testing.T) {
	s := newSite(t)
	path := filepath.Join(s.dir, "meshvip.db")
	foreign, _, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	s.services("a.yaml", "default", "a")
	other := "example.:PORT {\n whoami\n}"
	out := logs(t)
	s.start(with("pool 240.0.0.0/24", other))
	for name, want := range map[string]string{"a.mesh.": "SERVFAIL", "no.mesh.": "SERVFAIL", "mesh.": "SERVFAIL", "example.": "NOERROR", "1.0.0.240.in-addr.arpa.": "SERVFAIL"} {
		if got := s.ask(name, dns.TypeA); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if !out.has("[ERROR]", path, "in use by another process") {
		t.Errorf("nothing says so:\n%s", out)
	}
	// It is opened with the configuration that holds by then.
	s.mustReload(with("pool 240.3.0.0/24", other))
	if got := s.ask("a.mesh.", dns.TypeA); got != "SERVFAIL" {
		t.Errorf("a.mesh.: %s", got)
	}
	foreign.Close()
	s.becomes("a.mesh.", dns.TypeA, "240.3.0.1")
	s.becomes("no.mesh.", dns.TypeA, "NXDOMAIN")
}

// The store is never free, and the server can be stopped and reloaded all the
// same.
func TestWaitingForAStoreEnds(t *testing.T) {
	s := newSite(t)
	foreign, _, err := boltstore.Open(filepath.Join(s.dir, "meshvip.db"), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	s.start(good)
	before := holds()
	for range 3 {
		s.mustReload("example.:PORT {\n whoami\n}")
		if err := s.reload(good); err == nil || !strings.Contains(err.Error(), "in use by another process") {
			t.Fatalf("a reload onto a store that another holds: %v", err)
		}
		if got := s.ask("example.", dns.TypeA); got != "NOERROR" {
			t.Errorf("the old instance: %s", got)
		}
	}
	s.holdsNoMore(before)
	s.stop()
	s.start(good)
}

// CoreDNS calls a reload a failure although the new instance runs and the old
// one has been stopped.
func TestAnErrorOfAnotherPluginsShutdownTakesNothingAway(t *testing.T) {
	for _, plugin := range []string{"badstop", "earlybadstop"} { // after ours, and before
		corefile := good + "example.:PORT {\n " + plugin + "\n}"
		s := newSite(t)
		s.services("a.yaml", "default", "a")
		s.start(corefile)
		a := s.resolves("a.mesh.")
		for n := range 3 {
			if err := s.reload(corefile); err == nil {
				t.Fatal("badstop went well")
			}
			s.inst = running(t)
			s.up()
			if got := s.ask("a.mesh.", dns.TypeA); got != a {
				t.Errorf("a is %s, was %s", got, a)
			}
			name := fmt.Sprintf("new%d", n)
			s.services(name+".yaml", "default", name)
			s.resolves(name + ".mesh.")
			if n := len(s.runtime().owners); n != 1 {
				t.Errorf("%d owners", n)
			}
		}
		s.stop()
	}
}

// On SIGINT CoreDNS shuts instances down while it may be starting one.
func TestAnInstanceMayBeStoppedWhileItStarts(t *testing.T) {
	s := newSite(t)
	cfg, err := parseIn(s.dir, "meshvip mesh {\n pool 240.0.0.0/16\n source file src\n store bolt "+s.dir+"/meshvip.db\n}")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		old, next := new(instance), new(instance)
		for _, i := range []*instance{old, next} {
			i.add(cfg)
		}
		if err := old.start(); err != nil {
			t.Fatal(err)
		}
		registry.Lock()
		old.started = true
		registry.Unlock()
		var wg sync.WaitGroup
		wg.Go(func() { _ = next.start() }) // it may come too late
		wg.Go(func() { _, _ = old.stop(), next.stop() })
		wg.Wait()
		if err := next.start(); err != nil && !strings.Contains(err.Error(), "shutting down") {
			t.Error(err)
		}
		registry.Lock()
		n := len(registry.runtimes)
		registry.Unlock()
		if n > 0 {
			t.Fatalf("%d runtimes are left", n)
		}
	}
}

func TestReadinessWaitsForEveryBlock(t *testing.T) {
	// Plugin ready forgets the listener of an instance that failed.
	s := newSite(t, goleak.IgnoreAnyFunction("github.com/coredns/coredns/plugin/ready.(*ready).onStartup.func2"))
	s.services("a.yaml", "default", "a")
	foreign, _, err := boltstore.Open(filepath.Join(s.dir, "other.db"), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	first := "vip.:PORT {\n meshvip {\n pool 240.1.0.0/24\n source file DIR/src\n store bolt DIR/other.db\n }\n}\n"
	port := freePort(t)
	ready := func() string { return get("http://127.0.0.1:" + port + "/ready") }
	// Plugin ready asks the plugins of its own server block.
	block := "example.:PORT {\n ready 127.0.0.1:" + port + "\n meshvip example {\n store bolt DIR/meshvip.db\n }\n}\n"
	s.start(first + with("pool 240.0.0.0/24", block))
	s.resolves("a.mesh.")
	if got := ready(); got != pluginName {
		t.Errorf("%q is not ready, want the plugin, for its first block", got)
	}
	foreign.Close()
	s.wait("readiness", func() bool { return ready() == "OK" })

	third := "third.:PORT {\n meshvip {\n pool 240.2.0.0/24\n source file DIR/nosuch\n store bolt DIR/third.db\n }\n}\n"
	for range 3 {
		if err := s.reload(third + with("pool 240.0.0.0/24", block+"more.:PORT {\n badstart\n}")); err == nil {
			t.Fatal("badstart went well")
		}
		if got := ready(); got != "OK" {
			t.Errorf("after a reload that failed: %q", got)
		}
	}
	s.mustReload(first + with("pool 240.0.0.0/24", block))
	if got := ready(); got != "OK" {
		t.Errorf("after a reload: %q", got)
	}
}

// Plugin ready asks before we have started.
func TestABlockThatDoesNotAnswerYetIsNotReady(t *testing.T) {
	t.Parallel()
	h, b := new(Handler), new(blocks)
	b.expect(h)
	if h.Ready() {
		t.Error("ready")
	}
}

func TestMetricsOutliveReloadsAndEndWithTheirStore(t *testing.T) {
	s := newSite(t)
	s.services("e.yaml", "east", "a")
	s.services("w.yaml", "west", "b")
	port := freePort(t)
	metrics := "example.:PORT {\n prometheus 127.0.0.1:" + port + "\n whoami\n}\n"
	scrape := func() string { return get("http://127.0.0.1:" + port + "/metrics") }
	label := `store="` + filepath.Join(s.dir, "meshvip.db") + `"`
	s.start(two + metrics)
	s.resolves("a.mesh.")
	s.resolves("b.vip.")
	for range 3 {
		s.mustReload(two + metrics)
		s.ask("a.mesh.", dns.TypeA)
		got := scrape()
		for _, line := range []string{
			"coredns_meshvip_entries{" + label + "} 2",
			`coredns_meshvip_pool_used_addresses{pool="240.0.0.0/24",` + label + "} 2",
			`coredns_meshvip_pool_addresses{pool="240.0.0.0/24",` + label + "} 254",
			"coredns_meshvip_store_lost{" + label + "} 0",
			"coredns_meshvip_allocations_total{" + label + "} 2",
			"coredns_meshvip_commit_duration_seconds_count{" + label + "} ",
			`coredns_meshvip_requests_total{result="success",server="dns://:` + s.port + `",view="",zone="mesh."}`,
		} {
			if !strings.Contains(got, "\n"+line) {
				t.Errorf("no %s in the scrape", line)
			}
		}
	}
	s.mustReload(metrics)
	for line := range strings.Lines(scrape()) {
		if strings.Contains(line, label) {
			t.Errorf("the store is gone, and there is %s", line)
		}
	}
}

// get returns the body of a page.
func get(url string) string {
	c := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get(url)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}
