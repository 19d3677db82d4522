package test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
	"github.com/miekg/dns"
)

// controlPlane starts a control plane, and returns it with its URL.
func controlPlane(t testing.TB) (*fakekuma.Server, string) {
	t.Helper()
	cp := fakekuma.New()
	s := httptest.NewServer(cp)
	t.Cleanup(s.Close)
	return cp, s.URL
}

// fromKuma is the property that follows a control plane, with its block.
func fromKuma(url string, lines ...string) string {
	return fmt.Sprintf("source kuma %s {\n%s\n}", url, strings.Join(append(lines, "interval 1s"), "\n"))
}

// dataplaneJSON returns a Dataplane as the API lists it.
func dataplaneJSON(mesh, name string, services ...string) string {
	inbound := make([]string, len(services))
	for i, s := range services {
		inbound[i] = fmt.Sprintf(`{"port":%d,"tags":{"kuma.io/service":%q,"kuma.io/zone":"default"}}`, 8000+i, s)
	}
	return fmt.Sprintf(`{"type":"Dataplane","mesh":%q,"name":%q,"networking":{"address":"192.0.2.1","inbound":[%s]}}`,
		mesh, name, strings.Join(inbound, ","))
}

// at returns the server as it is asked at another port.
func (s *server) at(port string) *server {
	other := *s
	other.addr = "127.0.0.1:" + port
	return &other
}

func TestEachMeshsBlockAnswersWithItsOwnAddressesOfARealControlPlane(t *testing.T) {
	t.Parallel()
	samples := os.Getenv(samplesVar)
	if samples == "" {
		t.Skipf("%s does not name the directory with Kuma's own files", samplesVar)
	}
	cp, url := controlPlane(t)
	if err := cp.Load(filepath.Join(samples, "api", "live")); err != nil {
		t.Fatal(err)
	}
	cp.Set(func(s *fakekuma.Settings) { s.PageSize = 2 })

	p := newSite(t)
	block := func(port string, zones []string, lines ...string) string {
		for i, z := range zones {
			zones[i] = z + ":" + port
		}
		return fmt.Sprintf("%s {\n\tbind 127.0.0.1\n\terrors\n\tmeshvip {\n\t\t%s\n\t}\n}\n", strings.Join(zones, " "), strings.Join(lines, "\n\t\t"))
	}
	ports := map[string]string{"default": p.port}
	corefile := block(p.port, []string{"mesh.local", "mesh", "241.0.0.0/8", "242.0.0.0/8"},
		"pool 240.0.0.0/8", fromKuma(url), "store bolt "+p.store, "meshes default")
	for _, mesh := range []string{"payments", "orders"} {
		ports[mesh] = freePort(t)
		corefile += block(ports[mesh], []string{"svc.mesh.local", "mesh", "241.0.0.0/8"}, "store bolt "+p.store, "meshes "+mesh)
	}
	all := freePort(t)
	corefile += block(all, []string{"mesh.local", "mesh", "240.0.0.0/8", "241.0.0.0/8"}, "store bolt "+p.store)
	s := launchBuild(t, released, p.dir, corefile, "127.0.0.1:"+p.port)
	s.resolves("backend.svc.mesh.local")

	for _, tc := range []struct{ mesh, name, addr string }{
		{"default", "backend.svc.mesh.local", "241.0.0.1"},
		{"default", "web.svc.mesh.local", "241.0.0.0"},
		{"default", "mes.extsvc.mesh.local", "242.0.0.0"},
		{"payments", "backend.svc.mesh.local", "241.0.0.4"},
		{"payments", "pay-api.svc.mesh.local", "241.0.0.5"},
		{"orders", "orders.svc.mesh.local", "241.0.0.3"},
		{"orders", "orders-admin.svc.mesh.local", "241.0.0.2"},
	} {
		in := s.at(ports[tc.mesh])
		want := netip.MustParseAddr(tc.addr)
		if got := in.addrs(tc.name); !slices.Equal(got, []string{tc.addr}) {
			t.Errorf("mesh %s answers %s with %q, want %s", tc.mesh, tc.name, got, tc.addr)
		}
		if got := in.ptr(want); got != tc.name+"." {
			t.Errorf("in mesh %s %s is %q, want %s", tc.mesh, tc.addr, got, tc.name)
		}
	}
	// What another mesh has is not there.
	if r := s.at(ports["orders"]).ask("backend.svc.mesh.local", dns.TypeA); r.Rcode != dns.RcodeNameError {
		t.Errorf("mesh orders answers backend.svc.mesh.local with %s", dns.RcodeToString[r.Rcode])
	}
	if got := s.at(ports["payments"]).ptr(netip.MustParseAddr("241.0.0.1")); got != "" {
		t.Errorf("mesh payments knows 241.0.0.1 as %q", got)
	}
	// Where all meshes are shown, one of them has the name, and says so each time.
	if got := s.at(all).addrs("backend.svc.mesh.local"); !slices.Equal(got, []string{"241.0.0.1"}) {
		t.Errorf("the block of all meshes answers backend.svc.mesh.local with %q", got)
	}
	// The services of the older model are there too, of one address in all meshes.
	backend := s.at(all).resolves("backend.mesh")
	for _, mesh := range []string{"default", "payments"} {
		if got := s.at(ports[mesh]).addr4("backend.mesh"); got != backend {
			t.Errorf("mesh %s answers backend.mesh with %v, want %v", mesh, got, backend)
		}
	}
	if got := s.at(all).ptr(backend); got != "backend.mesh.local." && got != "backend.mesh." {
		t.Errorf("%v is %q", backend, got)
	}
}

func TestOnlyWhatBothSourcesDroppedIsReleased(t *testing.T) {
	t.Parallel()
	cp, url := controlPlane(t)
	cp.Put("dataplanes", dataplaneJSON("default", "one", "both", "api", "leaving"))
	p := newSite(t)
	write(t, p.resources, "a.yaml", dataplane("default", "one", "both", "file", "moving"))
	lines := []string{"source file " + p.resources, fromKuma(url)}
	s := p.start(lines...)
	before := s.resolveAll("both.mesh", "api.mesh", "leaving.mesh", "file.mesh", "moving.mesh")

	// The API goes away, and the files change meanwhile.
	cp.Set(func(s *fakekuma.Settings) {
		s.Faults = []*fakekuma.Fault{{Path: "*", Status: http.StatusBadGateway, HTML: true}}
	})
	s.logged(url)
	write(t, p.resources, "a.yaml", dataplane("default", "one", "file", "new"))
	s.resolves("new.mesh")
	s.goes("moving.mesh")
	delete(before, "moving.mesh")
	s.unmoved(before) // "both" too: the API listed it, as far as anybody knows

	// It comes back, with other services.
	cp.Remove("dataplanes", "default", "one")
	cp.Put("dataplanes", dataplaneJSON("default", "two", "api", "moving"))
	cp.Set(func(s *fakekuma.Settings) { s.Faults = nil })
	s.resolves("moving.mesh")
	s.goes("leaving.mesh")
	s.goes("both.mesh")
	delete(before, "leaving.mesh")
	delete(before, "both.mesh")
	s.unmoved(before)

	// After a restart without the API, nothing is released.
	s.kill()
	cp.Set(func(s *fakekuma.Settings) { s.Faults = []*fakekuma.Fault{{Path: "*", Status: http.StatusUnauthorized}} })
	p.remove("a.yaml")
	write(t, p.resources, "b.yaml", dataplane("default", "three", "late"))
	s = p.start(lines...)
	s.resolves("late.mesh")
	s.unmoved(before)
	s.resolves("new.mesh")
}

func TestWhereKumaIsFollowedItsAddressesAreServed(t *testing.T) {
	t.Parallel()
	cp, url := controlPlane(t)
	cp.Set(func(s *fakekuma.Settings) { s.CIDR = "240.0.0.0/4" })
	cp.Put("dataplanes", dataplaneJSON("default", "one", "web", "backend"))
	p := newSite(t)
	p.zones = "mesh 240.0.0.0/8 250.0.0.0/8"
	table := func(rows string) {
		write(t, p.dir, "tables/kuma-default-dns-vips.json", "{"+rows+"}")
	}
	row := func(key, addr string) string { return fmt.Sprintf(`%q:{"address":%q,"outbounds":[]}`, key, addr) }
	table(row("0:web", "250.0.0.7") + "," + row("0:backend", "250.0.0.8"))
	s := p.start(fromKuma(url, "follow "+filepath.Join(p.dir, "tables")))
	check := func(name, addr string) {
		t.Helper()
		s.wait(name+" to be at "+addr, func() bool { return slices.Equal(s.addrs(name), []string{addr}) })
		if got := s.ptr(netip.MustParseAddr(addr)); got != name+"." {
			t.Errorf("%s is %q, want %s", addr, got, name)
		}
	}
	check("web.mesh", "250.0.0.7")
	check("backend.mesh", "250.0.0.8")
	if n := s.metric("pool_used_addresses"); n != 0 {
		t.Errorf("%v addresses of our own are given, although Kuma is followed", n)
	}
	// A table that is cut short loses nothing; a new one counts.
	write(t, p.dir, "tables/kuma-default-dns-vips.json", `{"0:web":{"addr`)
	s.logged("the addresses that were known stay")
	check("web.mesh", "250.0.0.7")
	check("backend.mesh", "250.0.0.8")
	table(row("0:web", "250.0.0.9") + "," + row("0:backend", "250.0.0.8"))
	check("web.mesh", "250.0.0.9")
	if got := s.ptr(netip.MustParseAddr("250.0.0.7")); got != "" {
		t.Errorf("the address that Kuma took away is %q", got)
	}
	s.kill()
	// Known addresses survive a restart without tables and control plane.
	cp.Set(func(s *fakekuma.Settings) {
		s.Faults = []*fakekuma.Fault{{Path: "*", Status: http.StatusInternalServerError}}
	})
	if err := os.RemoveAll(filepath.Join(p.dir, "tables")); err != nil {
		t.Fatal(err)
	}
	s = p.start(fromKuma(url, "follow "+filepath.Join(p.dir, "tables")))
	check("web.mesh", "250.0.0.9")
}

func TestAControlPlaneThatGivesAddressesItselfIsWarnedOf(t *testing.T) {
	t.Parallel()
	cp, url := controlPlane(t)
	cp.Set(func(s *fakekuma.Settings) { s.CIDR = "240.0.0.0/4" })
	cp.Put("dataplanes", dataplaneJSON("default", "one", "web"))
	p := newSite(t)
	s := p.start(fromKuma(url))
	s.resolves("web.mesh")
	s.logged("Follow it, or turn its addresses off")
}

// What answers for every path, and is no control plane, tells of no service that it
// is gone, and of no name that there is none.
func TestWhatIsNoControlPlaneIsNeverRead(t *testing.T) {
	t.Parallel()
	for what, answer := range map[string]http.HandlerFunc{
		"it knows no path": http.NotFound,
		"all of it is empty": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"total":0,"items":[],"next":null}`)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			wrong := httptest.NewServer(answer)
			t.Cleanup(wrong.Close)
			p := newSite(t)
			s := p.start(fromKuma(wrong.URL))
			s.logged("check that the URL is that of a control plane's API")
			if r := s.ask("nope.mesh", dns.TypeA); r.Rcode != dns.RcodeServerFailure {
				t.Errorf("an unknown name is answered with %s, although nothing was read", dns.RcodeToString[r.Rcode])
			}
			if _, err := fetch("http://" + p.ready + "/ready"); err == nil {
				t.Error("ready, although nothing was read")
			}
			s.stop()

			// A table that was filled stays, and so does one of few entries.
			cp, url := controlPlane(t)
			cp.Put("dataplanes", dataplaneJSON("default", "one", "web", "backend"))
			s = p.start(fromKuma(url))
			before := s.resolveAll("web.mesh", "backend.mesh")
			s.stop()
			s = p.start(fromKuma(wrong.URL))
			s.logged("check that the URL is that of a control plane's API")
			write(t, p.resources, "a.yaml", dataplane("default", "two", "file"))
			p.reload(s, fromKuma(wrong.URL), "source file "+p.resources)
			s.resolves("file.mesh") // something was handed over
			s.unmoved(before)
		})
	}
}

func TestAGlobalControlPlaneIsRefused(t *testing.T) {
	t.Parallel()
	cp, url := controlPlane(t)
	cp.Set(func(s *fakekuma.Settings) { s.Mode = "global" })
	cp.Put("dataplanes", dataplaneJSON("default", "one", "web"))
	p := newSite(t)
	write(t, p.resources, "a.yaml", dataplane("default", "one", "file"))
	s := p.start("source file "+p.resources, fromKuma(url))
	s.logged("Global")
	s.resolves("file.mesh")
	if addr := s.addr4("web.mesh"); addr.IsValid() {
		t.Errorf("a Global control plane gave web.mesh %v", addr)
	}
}
