package test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// viewed returns a Corefile with one address for two worlds: clients at
// viewClient see the mesh payments, all others the mesh default. Both are
// transferred.
func (p *site) viewed() string {
	return fmt.Sprintf(`mesh:%[1]s 240.0.0.0/8:%[1]s {
	bind 127.0.0.1
	errors
	prometheus %[2]s
	view payments {
		expr client_ip() == '%[3]s'
	}
	transfer {
		to *
	}
	meshvip {
		pool 240.0.0.0/8
		source file %[4]s
		store bolt %[5]s
		meshes payments
	}
}
mesh:%[1]s 240.0.0.0/8:%[1]s {
	bind 127.0.0.1
	errors
	prometheus %[2]s
	transfer {
		to *
	}
	meshvip {
		meshes default
	}
}
`, p.port, p.metrics, viewClient, p.resources, p.store)
}

// dial connects the server's client to it over TCP.
func (s *server) dial() (*dns.Conn, error) {
	d := &net.Dialer{Timeout: patience}
	if s.from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(s.from)}
	}
	conn, err := d.Dial("tcp", s.addr)
	return &dns.Conn{Conn: conn}, err
}

// world is what a client is told of one mesh.
type world struct {
	*server
	mesh string
}

func (w *world) seesItsMeshOnly() (addrs answers) {
	w.t.Helper()
	addrs = make(answers)
	shown := nameable(map[string][]string{w.mesh: exampleEntries[w.mesh]})
	for _, name := range nameable(exampleEntries) {
		if !strings.HasSuffix(name, ".mesh") {
			continue // a host, in no zone of the site
		}
		if !slices.Contains(shown, name) {
			if r := w.ask(name, dns.TypeSRV); r.Rcode != dns.RcodeNameError || len(r.Ns) != 1 {
				w.t.Errorf("%s is not of mesh %s, and is answered: %v", name, w.mesh, r)
			}
			continue
		}
		addrs[name] = w.resolves(name)
		if ptr := w.ptr(addrs[name]); ptr != name+"." {
			w.t.Errorf("mesh %s: the name of %v is %q, want %s", w.mesh, addrs[name], ptr, name)
		}
	}
	return addrs
}

// seesNothingOf checks that the addresses that only others are shown have no
// name.
func (w *world) seesNothingOf(others, own answers) {
	w.t.Helper()
	for name, addr := range others {
		if own[name].IsValid() {
			continue
		}
		if rev, _ := dns.ReverseAddr(addr.String()); w.rcode(rev) != "NXDOMAIN" {
			w.t.Errorf("mesh %s: %v of %s exists", w.mesh, addr, name)
		}
	}
}

// transfersItsMeshOnly checks that the zones have the names of own with their
// addresses, there and back, and no other addresses.
func (w *world) transfersItsMeshOnly(own answers) {
	w.t.Helper()
	_, there, _ := w.transfer("mesh")
	_, back, _ := w.transfer("240.in-addr.arpa")
	for name, addr := range own {
		rev, _ := dns.ReverseAddr(addr.String())
		if a := fmt.Sprintf("%s. 60 IN A %v", name, addr); !slices.Contains(there, a) {
			w.t.Errorf("mesh %s: the transfer lacks %q", w.mesh, a)
		}
		if ptr := fmt.Sprintf("%s 60 IN PTR %s.", rev, name); !slices.Contains(back, ptr) {
			w.t.Errorf("mesh %s: the transfer lacks %q", w.mesh, ptr)
		}
	}
	addrs := make(map[string]bool) // names have two spellings
	for _, rr := range there {
		if owner, addr, ok := strings.Cut(rr, " 60 IN A "); ok && owner != "ns.dns.mesh." {
			addrs[addr] = true
		}
	}
	if ptrs := slices.DeleteFunc(back, func(rr string) bool { return !strings.Contains(rr, " PTR ") }); len(addrs) != len(own) || len(ptrs) != len(own) {
		w.t.Errorf("mesh %s: %d addresses and %d names are transferred, want %d", w.mesh, len(addrs), len(ptrs), len(own))
	}
}

// ports returns the ports of a name, by SRV.
func (s *server) ports(name string) (ports []uint16) {
	s.t.Helper()
	for _, rr := range s.ask(name, dns.TypeSRV).Answer {
		ports = append(ports, rr.(*dns.SRV).Port)
	}
	return ports
}

// outside returns an ExternalService document.
func outside(mesh, service string, port int) string {
	return fmt.Sprintf("type: ExternalService\nmesh: %s\nname: %s-%d\ntags:\n  kuma.io/service: %[2]s\nnetworking:\n  address: 192.0.2.1:%[3]d\n", mesh, service, port)
}

func TestTwoClientsSeeTwoWorldsOfOneTable(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := launch(t, p.dir, p.viewed(), "127.0.0.1:"+p.port)
	s.metrics = p.metrics
	other := *s
	other.from = viewClient
	shop, payments := world{s, "default"}, world{&other, "payments"}

	ofShop, ofPayments := shop.seesItsMeshOnly(), payments.seesItsMeshOnly()
	shop.seesNothingOf(ofPayments, ofShop)
	payments.seesNothingOf(ofShop, ofPayments)
	shop.transfersItsMeshOnly(ofShop)
	payments.transfersItsMeshOnly(ofPayments)

	// Both have a backend, which is one entry, on ports of its own in each.
	if ofShop["backend.mesh"] != ofPayments["backend.mesh"] {
		t.Errorf("backend is at %v and at %v", ofShop["backend.mesh"], ofPayments["backend.mesh"])
	}
	both := answers{}
	for _, as := range []answers{ofShop, ofPayments} {
		for name, addr := range as {
			both[name] = addr
		}
	}
	if want := len(ofShop) + len(ofPayments) - 1; len(both) != want {
		t.Errorf("%d names in both worlds, want %d: one is shared", len(both), want)
	}

	// What is asked in one world is not counted in the other.
	before := s.metricOf("requests_total", `view=""`)
	asked := s.metricOf("requests_total", `view="payments"`)
	if before == 0 || asked == 0 {
		t.Errorf("%v questions are counted of all, %v of the view", before, asked)
	}
	payments.ask("ledger.mesh", dns.TypeA)
	if got := s.metricOf("requests_total", `view="payments"`); got <= asked {
		t.Errorf("the view has %v questions, and had %v before one more", got, asked)
	}
	if got := s.metricOf("requests_total", `view=""`); got != before {
		t.Errorf("a question of the view made %v of %v questions of all", got, before)
	}

	// A change is seen by those whom it concerns, and by these alone.
	write(t, p.resources, "more.yaml", outside("payments", "more", 8443))
	more := payments.resolves("more.mesh")
	if got := shop.rcode("more.mesh"); got != "NXDOMAIN" {
		t.Errorf("a new service of payments is %s in default", got)
	}
	write(t, p.resources, "more-2.yaml", outside("default", "more", 9443))
	if got := shop.resolves("more.mesh"); got != more {
		t.Errorf("more is at %v in default and at %v in payments", got, more)
	}
	for _, w := range []struct {
		world
		port uint16
	}{{shop, 9443}, {payments, 8443}} {
		if got := w.ports("more.mesh"); !slices.Equal(got, []uint16{w.port}) {
			t.Errorf("mesh %s reaches more on port %d, and is told %d", w.mesh, w.port, got)
		}
	}
	s.stop()
	if rows := verify(t, p.store).Rows; len(rows) < len(both) {
		t.Errorf("the one store has %d rows, want at least %d", len(rows), len(both))
	}
}
