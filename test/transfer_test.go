package test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// transfer transfers a zone, as dig does with AXFR. It returns the serial, and all
// other records as text, sorted; ok is false where there is no transfer.
func (s *server) transfer(zone string) (serial uint32, rrs []string, ok bool) {
	s.t.Helper()
	conn, err := s.dial()
	if err != nil {
		return 0, nil, false
	}
	defer conn.Close()
	ch, err := (&dns.Transfer{Conn: conn}).In(new(dns.Msg).SetAxfr(dns.Fqdn(zone)), s.addr)
	if err != nil {
		return 0, nil, false
	}
	for e := range ch {
		if e.Error != nil {
			return 0, nil, false
		}
		for _, rr := range e.RR {
			if soa, is := rr.(*dns.SOA); is {
				serial = soa.Serial
				continue
			}
			rrs = append(rrs, strings.Join(strings.Fields(rr.String()), " "))
		}
	}
	slices.Sort(rrs)
	return serial, rrs, true
}

// transferred waits until a zone is transferred and has the record.
func (s *server) transferred(zone, record string) (serial uint32, rrs []string) {
	s.t.Helper()
	s.wait(fmt.Sprintf("%q in the transfer of %s", record, zone), func() bool {
		var ok bool
		serial, rrs, ok = s.transfer(zone)
		return ok && slices.Contains(rrs, record)
	})
	return serial, rrs
}

// withTransfer returns the site's Corefile with plugin transfer in meshvip's block.
func (p *site) withTransfer(to string, lines ...string) string {
	return strings.Replace(p.corefile(lines...), "\tmeshvip {", "\ttransfer {\n\t\tto "+to+"\n\t}\n\tmeshvip {", 1)
}

func TestTransfersAfterARestartAreWhatTheyWere(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	p.zones = "mesh 240.0.0.0/16"
	write(t, p.resources, "a.yaml", dataplane("default", "a", "backend_kuma-demo_svc_5678", "web"))
	corefile := p.withTransfer("*", "pool 240.0.0.0/16")
	start := func() *server { return launch(t, p.dir, corefile, "127.0.0.1:"+p.port) }

	s := start()
	web := fmt.Sprintf("web.mesh. 60 IN A %v", s.resolves("web.mesh"))
	last, forward := s.transferred("mesh", web)
	_, reverse := s.transferred("0.240.in-addr.arpa", "0.240.in-addr.arpa. 60 IN NS ns.dns.0.240.in-addr.arpa.")
	for _, name := range []string{"backend.kuma-demo.svc.5678.mesh.", "backend_kuma-demo_svc_5678.mesh."} {
		if !slices.Contains(forward, fmt.Sprintf("%s 60 IN A %v", name, s.addr4(name))) {
			t.Errorf("the transfer lacks %s: %q", name, forward)
		}
	}
	for i := range 4 {
		if i%2 == 0 {
			s.kill()
		} else {
			s.stop()
		}
		s = start()
		serial, again := s.transferred("mesh", web)
		if int32(serial-last) < 0 {
			t.Fatalf("the serial was %d, and after restart %d it is %d", last, i, serial)
		}
		last = serial
		if !slices.Equal(again, forward) {
			t.Errorf("after restart %d the zone has %q, and before %q", i, again, forward)
		}
		if _, again, _ := s.transfer("0.240.in-addr.arpa"); !slices.Equal(again, reverse) {
			t.Errorf("after restart %d the reverse zone has %q, and before %q", i, again, reverse)
		}
	}
	// Gone is what is removed, while the source is read.
	write(t, p.resources, "a.yaml", dataplane("default", "a", "web"))
	s.wait("the transfer to have one service", func() bool {
		serial, rrs, ok := s.transfer("mesh")
		return ok && int32(serial-last) > 0 && slices.Contains(rrs, web) && len(rrs) < len(forward)
	})
}

// A CoreDNS with plugin secondary has what changes at once: it would ask for the
// serial a minute later only.
func TestASecondaryServerFollows(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	p.zones = "mesh 240.0.0.0/16"
	write(t, p.resources, "a.yaml", dataplane("default", "a", "first"))
	port := freePort(t)
	primary := launch(t, p.dir, p.withTransfer("127.0.0.1:"+port, "pool 240.0.0.0/16"), "127.0.0.1:"+p.port)
	first := primary.resolves("first.mesh")
	secondary := launch(t, t.TempDir(), fmt.Sprintf(`mesh:%s 240.0.0.0/16:%[1]s {
	bind 127.0.0.1
	errors
	secondary {
		transfer from 127.0.0.1:%s
	}
}
`, port, p.port), "127.0.0.1:"+port)
	secondary.wait("the secondary to have the zone", func() bool { return secondary.addr4("first.mesh") == first })
	for _, name := range []string{"second_x", "third"} {
		write(t, p.resources, name+".yaml", dataplane("default", name, name))
		addr := primary.resolves(name + ".mesh")
		for _, spelling := range []string{name, strings.ReplaceAll(name, "_", ".")} {
			secondary.wait(spelling+" at the secondary", func() bool { return secondary.addr4(spelling+".mesh") == addr })
		}
		want := primary.ptr(addr)
		secondary.wait("the PTR of "+name+" at the secondary", func() bool { return secondary.ptr(addr) == want })
	}
	p.remove("third.yaml")
	secondary.wait("third to be gone at the secondary", func() bool { return secondary.rcode("third.mesh") == "NXDOMAIN" })
}

// A server that has never read its source gives no zone away: a secondary would
// deny what it does not know yet.
func TestAnUnreadZoneIsNotTransferred(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	p.remove("")
	s := launch(t, p.dir, p.withTransfer("*"), "127.0.0.1:"+p.port)
	s.servesOther()
	for _, zone := range []string{"mesh", "240.in-addr.arpa"} {
		if _, rrs, ok := s.transfer(zone); ok {
			t.Errorf("%s is transferred with %q", zone, rrs)
		}
	}
	write(t, p.resources, "a.yaml", dataplane("default", "a", "web"))
	s.transferred("mesh", fmt.Sprintf("web.mesh. 60 IN A %v", s.resolves("web.mesh")))
}
