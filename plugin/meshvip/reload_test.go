package meshvip

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/miekg/dns"
)

// good is the Corefile that most tests start with.
const good = `
mesh.:PORT 240.0.0.0/8:PORT {
	meshvip {
		pool 240.0.0.0/24
		source file DIR/src
		store bolt DIR/meshvip.db
	}
}
`

// with returns good with more properties, and with other server blocks.
func with(properties, blocks string) string {
	return fmt.Sprintf(`
mesh.:PORT 240.0.0.0/8:PORT {
	meshvip {
		source file DIR/src
		store bolt DIR/meshvip.db
		%s
	}
}
%s
`, properties, blocks)
}

// taken returns a server block that cannot listen.
func taken(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "example.:" + port + " {\n bind 127.0.0.1\n whoami\n}"
}

func TestReloadsThatFailChangeNothingAndLeakNothing(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a", "b")
	s.start(good)
	want := map[string]string{"a.mesh. A": s.resolves("a.mesh."), "b.mesh. A": s.resolves("b.mesh."), "no.mesh. A": "NXDOMAIN"}
	want[reverse(t, want["a.mesh. A"])+" PTR"] = "a.mesh."
	s.becomes("no.mesh.", dns.TypeA, "NXDOMAIN")
	s.services("x.yaml", "default", "x")
	x := s.resolves("x.mesh.")
	foreign, _, err := boltstore.Open(filepath.Join(s.dir, "foreign.db"), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	cannotListen := taken(t)
	before := holds()

	pools := "pool 240.7.0.0/24 {\n exclude 240.7.0.1\n drain\n }\n static a 240.7.0.9\n confirm 0-0\n repair\n max_release 1000\n publish DIR/published\n kuma_zone other"
	broken := []string{
		"mesh.:PORT {\n nosuchplugin\n meshvip\n}",
		with(pools+"\n nosuchproperty", ""),
		with(pools, "example.:PORT {\n badsetup\n}"),
		with(pools, "example.:PORT {\n badstart\n}"),
		with(pools, cannotListen),
		with(pools, "more.:PORT {\n meshvip {\n store bolt DIR/foreign.db\n pool 240.9.0.0/24\n source file DIR/src\n }\n}"),
		with(pools, "more.:PORT {\n meshvip {\n store bolt DIR/new.db\n pool 240.9.0.0/24\n source file DIR/src\n publish DIR/new\n }\n}\nexample.:PORT {\n badstart\n}"),
	}
	end := s.load(want)
	for n := range 20 {
		if n%8 == 7 {
			s.mustReload(good)
			continue
		}
		if err := s.reload(broken[n%8]); err == nil {
			t.Fatalf("Corefile %d was taken", n%8)
		}
	}
	end()
	s.holdsNoMore(before)

	// The old instance goes on, by its own configuration.
	s.services("c.yaml", "default", "c")
	s.resolves("c.mesh.")
	r := s.runtime()
	if len(r.owners) != 1 || len(r.Pools()) != 1 {
		t.Errorf("%d owners and the pools %v are left", len(r.owners), r.Pools())
	}
	if m := r.alloc.Moves(); m.Name != "" {
		t.Errorf("a reload that failed would move %v", m.List)
	}
	for _, name := range []string{"published", "new"} {
		if _, err := os.Stat(filepath.Join(s.dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a reload that failed has made %s", name)
		}
	}
	_, _, err = boltstore.Open(filepath.Join(s.dir, "meshvip.db"), boltstore.Options{})
	if !errors.Is(err, allocator.ErrLocked) {
		t.Errorf("a second writer got the store: %v", err)
	}
	if got := s.ask("x.mesh.", dns.TypeA); got != x {
		t.Errorf("x moved from %s to %s", x, got)
	}
}

func reverse(t *testing.T, addr string) string {
	t.Helper()
	name, err := dns.ReverseAddr(addr)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestAReloadIsServedThroughoutAndMovesNothing(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a", "b")
	s.start(good)
	want := map[string]string{"a.mesh. A": s.resolves("a.mesh."), "no.mesh. A": "NXDOMAIN"}
	want[reverse(t, want["a.mesh. A"])+" PTR"] = "a.mesh."
	s.becomes("no.mesh.", dns.TypeA, "NXDOMAIN")
	end := s.load(want)
	for n := range 6 {
		s.mustReload(with(fmt.Sprintf("pool 240.0.0.0/24\n cooldown %dh\n max_release %d", 24+n, n), ""))
	}
	end()
}

// A failing reload may have left an open store behind where there was no old
// instance of ours to let go of it.
func TestAReloadThatFailsBesideNobodyLeaksNothing(t *testing.T) {
	plain := "example.:PORT {\n whoami\n}"
	for _, next := range []string{plain, good} {
		s := newSite(t)
		s.start(plain)
		before := holds()
		for range 3 {
			if err := s.reload(with("pool 240.0.0.0/24", "example.:PORT {\n badstart\n}")); err == nil {
				t.Fatal("a Corefile that cannot start was taken")
			}
		}
		if n := len(s.runtime().owners); n != 1 {
			t.Errorf("%d instances that failed hold the store", n)
		}
		s.mustReload(next)
		if next == plain {
			s.holdsNoMore(before)
			continue
		}
		s.services("a.yaml", "default", "a")
		s.resolves("a.mesh.")
		s.mustReload(plain)
		s.holdsNoMore(before)
	}
}

func TestMeshvipMayLeaveTheCorefileAndComeBack(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(good)
	a := s.resolves("a.mesh.")
	for range 2 {
		s.mustReload("example.:PORT {\n whoami\n}")
		store, _, err := boltstore.Open(filepath.Join(s.dir, "meshvip.db"), boltstore.Options{})
		if err != nil {
			t.Fatalf("the store is still held: %v", err)
		}
		store.Close()
		s.mustReload(good)
		if got := s.ask("a.mesh.", dns.TypeA); got != a {
			t.Errorf("a is %s, and was %s", got, a)
		}
	}
	s.services("b.yaml", "default", "b")
	s.resolves("b.mesh.")
}

func TestAReloadMayNameAnotherStore(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(good)
	s.resolves("a.mesh.")
	s.mustReload(`mesh.:PORT {
		meshvip {
			pool 240.5.0.0/24
			source file DIR/src
			store bolt DIR/other.db
		}
	}`)
	s.becomes("a.mesh.", dns.TypeA, "240.5.0.1")
	store, _, err := boltstore.Open(filepath.Join(s.dir, "meshvip.db"), boltstore.Options{})
	if err != nil {
		t.Fatalf("the old store is still held: %v", err)
	}
	store.Close()
}

func TestAReloadMayNameAnotherSource(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.servicesIn("other", "b.yaml", "default", "a", "b")
	s.start(good)
	a := s.resolves("a.mesh.")
	s.mustReload(`mesh.:PORT {
		meshvip {
			pool 240.0.0.0/24
			source file DIR/other
			store bolt DIR/meshvip.db
		}
	}`)
	s.resolves("b.mesh.")
	if got := s.ask("a.mesh.", dns.TypeA); got != a {
		t.Errorf("a moved from %s to %s", a, got)
	}
	// The old one is followed no more.
	s.services("c.yaml", "default", "c")
	s.servicesIn("other", "d.yaml", "default", "d")
	s.resolves("d.mesh.")
	if got := s.ask("c.mesh.", dns.TypeA); got != "NXDOMAIN" {
		t.Errorf("c, of the old directory, is %s", got)
	}
}

func TestAPoolThatIsAddedServesThoseThatWait(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a", "b", "c", "d")
	s.start(with("pool 240.0.0.0/30", ""))
	a := s.resolves("a.mesh.")
	s.wait("two to wait", func() bool { return s.ask("c.mesh.", dns.TypeA) == "NXDOMAIN" })
	s.mustReload(with("pool 240.0.0.0/30 240.1.0.0/24", ""))
	s.becomes("c.mesh.", dns.TypeA, "240.1.0.1")
	s.becomes("d.mesh.", dns.TypeA, "240.1.0.2")
	s.becomes(reverse(t, "240.1.0.2"), dns.TypePTR, "d.mesh.")
	if got := s.ask("a.mesh.", dns.TypeA); got != a {
		t.Errorf("a moved from %s to %s", a, got)
	}
}

func TestAPoolThatIsTakenAwayMovesNothing(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(good)
	a := s.resolves("a.mesh.")
	logged := logs(t)
	s.mustReload(with("pool 240.1.0.0/24\n cooldown 1s\n ttl 1", ""))
	s.services("b.yaml", "default", "b")
	s.becomes("b.mesh.", dns.TypeA, "240.1.0.1")
	if got := s.ask("a.mesh.", dns.TypeA); got != a {
		t.Errorf("a moved from %s to %s", a, got)
	}
	s.becomes(reverse(t, a), dns.TypePTR, "a.mesh.")
	if !logged.has("no longer configured", "pool=240.0.0.0/24") || !logged.has("would move", "entry=0:a", "from="+a, "to=240.1.0.") {
		t.Errorf("nothing says so:\n%s", logged)
	}
	// When the last of its addresses has cooled down, the pool goes, and its
	// metrics do.
	s.wait("the pool to be counted", func() bool { return series(t, "pool_addresses", "pool", "240.0.0.0/24") })
	if err := os.Remove(filepath.Join(s.dir, "src", "a.yaml")); err != nil {
		t.Fatal(err)
	}
	s.becomes("a.mesh.", dns.TypeA, "NXDOMAIN")
	s.wait("the pool to go", func() bool {
		s.runtime().tick() // as each minute
		return len(s.runtime().Pools()) == 1
	})
	s.wait("its metrics to go", func() bool { return !series(t, "pool_addresses", "pool", "240.0.0.0/24") })
}

// What is held goes when the operator says so, and not before the reload has
// worked.
func TestRaisingMaxReleaseLetsHeldReleasesGo(t *testing.T) {
	s := newSite(t)
	var many []string
	for n := range 30 {
		many = append(many, fmt.Sprintf("s%02d", n))
	}
	s.services("a.yaml", "default", many...)
	s.services("b.yaml", "default", "stays")
	s.start(good)
	was := s.resolves("s07.mesh.")
	s.services("a.yaml", "default", "s00")
	s.wait("releases to be held", func() bool { return s.runtime().alloc.Stats().Held == 29 })
	if err := s.reload(with("pool 240.0.0.0/24\n max_release 100%", "example.:PORT {\n badstart\n}")); err == nil {
		t.Fatal("a Corefile that cannot start was taken")
	}
	s.services("c.yaml", "default", "later")
	s.resolves("later.mesh.")
	if got := s.ask("s07.mesh.", dns.TypeA); got != was {
		t.Errorf("after a reload that failed, s07 is %s", got)
	}
	s.mustReload(with("pool 240.0.0.0/24\n max_release 100%", ""))
	s.becomes("s07.mesh.", dns.TypeA, "NXDOMAIN")
	s.resolves("stays.mesh.")
}

func TestAnotherKumaZoneIsReadAnew(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	ingress := "type: ZoneIngress\nname: i\nzone: east\nnetworking:\n  address: 192.0.2.9\n  port: 10001\n" +
		"  advertisedAddress: 192.0.2.9\n  advertisedPort: 10001\navailableServices:\n- mesh: default\n  instances: 1\n  tags:\n    kuma.io/service: remote\n"
	if err := os.WriteFile(filepath.Join(s.dir, "src", "i.yaml"), []byte(ingress), 0o644); err != nil {
		t.Fatal(err)
	}
	s.start(with("pool 240.0.0.0/24\n kuma_zone east", ""))
	s.resolves("a.mesh.")
	s.becomes("remote.mesh.", dns.TypeA, "NXDOMAIN")
	s.mustReload(with("pool 240.0.0.0/24\n kuma_zone west", ""))
	s.resolves("remote.mesh.")
}

// The serial tells secondaries of whatever a query could see.
func TestTheSerialFollowsTheBlocksOptions(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(good)
	s.resolves("a.mesh.")
	r := s.runtime()
	serial, rev := r.Serial(), r.alloc.Stats().Meta.Revision
	s.mustReload(good)
	s.mustReload(with("pool 240.0.0.0/24\n ttl 60", "")) // the default, spelled out
	s.settled()
	if r.Serial() != serial || r.alloc.Stats().Meta.Revision != rev {
		t.Errorf("reloads that change nothing raised the serial from %d to %d, the revision from %d to %d",
			serial, r.Serial(), rev, r.alloc.Stats().Meta.Revision)
	}
	for _, properties := range []string{"ttl 50", "negative_ttl 7", "cooldown 12h", "ns 192.0.2.1", "meshes default"} {
		s.mustReload(with("pool 240.0.0.0/24\n "+properties, ""))
		s.settled()
		if r.Serial() <= serial {
			t.Errorf("%s: the serial is still %d", properties, serial)
		}
		serial = r.Serial()
	}
}
