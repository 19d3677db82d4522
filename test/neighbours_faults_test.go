package test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// A zone has a name in any case, in the Corefile and in the question.
func TestAZoneInMixedCaseIsTransferred(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	p.zones = "MeSh 240.0.0.0/16"
	write(t, p.resources, "a.yaml", dataplane("default", "a", "Web"))
	s := launch(t, p.dir, strings.Replace(p.withTransfer("*", "pool 240.0.0.0/16"), "transfer {", "transfer mEsH 240.0.0.0/16 {", 1), "127.0.0.1:"+p.port)
	addr := s.resolves("wEb.MESH")
	_, want := s.transferred("mesh", fmt.Sprintf("web.mesh. 60 IN A %v", addr))
	_, wantBack := s.transferred("0.240.in-addr.arpa", fmt.Sprintf("%s 60 IN PTR web.mesh.", reverseOf(addr)))
	for _, zone := range []string{"MESH", "mEsH", "MeSh."} {
		if _, got, ok := s.transfer(zone); !ok || !slices.Equal(got, want) {
			t.Errorf("%s is transferred with %q, want %q", zone, got, want)
		}
	}
	if _, got, ok := s.transfer("0.240.IN-addr.ARPA"); !ok || !slices.Equal(got, wantBack) {
		t.Errorf("the reverse zone is transferred with %q, want %q", got, wantBack)
	}
}

// reverseOf returns the name of an address in the reverse tree.
func reverseOf(addr netip.Addr) string {
	name, _ := dns.ReverseAddr(addr.String()) // it is an address
	return name
}

// A name that DNS cannot carry is in no answer, and holds up no other in a
// transfer; one at the limit is everywhere.
func TestNamesAtTheLimitAreTransferredAndThoseBeyondAreNot(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	p.zones = "mesh 240.0.0.0/16"
	label := func(octets int) string { return strings.Repeat("x", octets) }
	most := strings.Join([]string{label(62), label(62), label(62), label(59)}, ".") // 253 with .mesh
	beyond := []string{label(64), most + "x", most + ".y", "dotted_" + label(64)}
	fine := []string{label(63), most, "neighbour", "a_" + label(63)}
	write(t, p.resources, "a.yaml", dataplane("default", "a", append(beyond, fine...)...))
	s := launch(t, p.dir, p.withTransfer("*", "pool 240.0.0.0/16"), "127.0.0.1:"+p.port)
	s.resolves("neighbour.mesh")
	_, there := s.transferred("mesh", fmt.Sprintf("neighbour.mesh. 60 IN A %v", s.addr4("neighbour.mesh")))
	_, back := s.transferred("0.240.in-addr.arpa", reverseOf(s.addr4("neighbour.mesh"))+" 60 IN PTR neighbour.mesh.")
	for _, name := range fine {
		name = dotted(name) + ".mesh"
		addr := s.addr4(name)
		if a := fmt.Sprintf("%s. 60 IN A %v", name, addr); !addr.IsValid() || !slices.Contains(there, a) {
			t.Errorf("the transfer lacks %q", a)
		}
		if ptr := fmt.Sprintf("%s 60 IN PTR %s.", reverseOf(addr), name); !slices.Contains(back, ptr) || s.ptr(addr) != name+"." {
			t.Errorf("the reverse zone lacks %q", ptr)
		}
	}
	for _, name := range beyond {
		s.logLine("name "+name+" of 0:"+name+" is not served", "DNS carries")
	}
	for _, rr := range slices.Concat(there, back) {
		owner, rest, _ := strings.Cut(rr, " ")
		if _, ok := dns.IsDomainName(owner); !ok || len(owner) > 254 {
			t.Errorf("in a transfer: %s %s", owner, rest)
		}
	}
	ptrs := slices.DeleteFunc(back, func(rr string) bool { return !strings.Contains(rr, " PTR ") })
	if len(ptrs) != len(fine) {
		t.Errorf("%d names of addresses are transferred, want %d: %q", len(ptrs), len(fine), ptrs)
	}
}

// Inside a pool an address is ours, and outside somebody else's, whatever the
// pool's edges; two pools may lie side by side.
func TestAddressesBesideAPoolAreSomebodyElses(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	p.zones = "mesh 240.0.0.0/8 fd00::/16"
	write(t, p.resources, "a.yaml", dataplane("default", "a", "first"))
	corefile := p.corefile("pool 240.0.0.0/12 240.16.0.0/12 fd00:6d76:0:4000::/50", "static first 240.31.255.254",
		"fallthrough 240.0.0.0/8 fd00:6d76:0:4000::/50")
	others := map[string]string{
		"240.32.0.0": "above.mesh.", "239.255.255.255": "", "240.32.0.1": "", "240.15.255.255": "unowned.mesh.",
		"fd00:6d76:0:8000::": "above6.mesh.", "fd00:6d76:0:3fff:ffff:ffff:ffff:ffff": "below6.mesh.", "fd00:6d76:0:4000::77": "unowned6.mesh.",
	}
	var hosts strings.Builder
	for addr, name := range others {
		if name != "" {
			fmt.Fprintf(&hosts, "\t\t%s %s\n", addr, name)
		}
	}
	corefile = strings.Replace(corefile, "\tmeshvip {", "\thosts {\n"+hosts.String()+"\t}\n\tmeshvip {", 1)
	s := launch(t, p.dir, corefile, "127.0.0.1:"+p.port)
	if addr := s.resolves("first.mesh"); addr.String() != "240.31.255.254" || s.ptr(addr) != "first.mesh." {
		t.Errorf("first.mesh is at %v, whose name is %q", addr, s.ptr(addr))
	}
	if addr := s.addr6("first.mesh"); !netip.MustParsePrefix("fd00:6d76:0:4000::/50").Contains(addr) || s.ptr(addr) != "first.mesh." {
		t.Errorf("first.mesh is at %v, whose name is %q", addr, s.ptr(addr))
	}
	for addr, name := range others {
		if got := s.ptr(netip.MustParseAddr(addr)); got != name {
			t.Errorf("%s is %q, want %q", addr, got, name)
		}
	}
}

// A control plane that is out of reach takes nothing away but what only it knows.
func TestAControlPlaneOutOfReachIsServedAroundAndWaitedFor(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	s := p.start("source kuma http://127.0.0.1:" + freePort(t))
	for name, qtype := range map[string]uint16{"web.mesh": dns.TypeA, "nope.mesh": dns.TypeSRV, "1.0.0.240.in-addr.arpa": dns.TypePTR} {
		if r := s.ask(name, qtype); r.Rcode != dns.RcodeServerFailure {
			t.Errorf("%s, of which nothing is known: %s", name, dns.RcodeToString[r.Rcode])
		}
	}
	if s.isReady() {
		t.Error("ready although nothing is known")
	}
	s.kill()
	cp, url := controlPlane(t)
	cp.Put("dataplanes", dataplaneJSON("default", "one", "web"))
	s = p.start(fromKuma(url))
	web := s.resolves("web.mesh")
	s.wait("it to be ready", s.isReady)
	s.kill()
	// What was known is served, and what was not is known not to be.
	s = p.start("source kuma http://127.0.0.1:" + freePort(t))
	s.wait("it to be ready", s.isReady)
	if got := s.addr4("web.mesh"); got != web {
		t.Errorf("web.mesh is at %v, and was at %v", got, web)
	}
	if got := s.rcode("nope.mesh"); got != "NXDOMAIN" {
		t.Errorf("nope.mesh: %s", got)
	}
	s.servesOther()
}

// A reload that names the store of another process fails, says which it is, and
// changes nothing here or there.
func TestAReloadToTheStoreOfAnotherProcessFailsAndNamesIt(t *testing.T) {
	t.Parallel()
	p, other := exampleSite(t), exampleSite(t)
	s, holder := p.start(), other.start()
	before, there := s.resolveAll(exampleNames()...), holder.resolveAll(exampleNames()...)
	s.reloadTo(p, p.corefile("store bolt "+other.store), true)
	s.logLine("[ERROR] SIGUSR1", other.store, "in use by another process")
	write(t, p.resources, "new.yaml", dataplane("default", "new", "new"))
	s.resolves("new.mesh")
	s.unmoved(before)
	holder.unmoved(there)
	if got := holder.rcode("new.mesh"); got != "NXDOMAIN" {
		t.Errorf("new.mesh at the other server: %s", got)
	}
	// When the other has gone, its table is taken up.
	holder.stop()
	s.reloadTo(p, p.corefile("store bolt "+other.store), false)
	s.resolves("new.mesh")
	s.unmoved(there)
}
