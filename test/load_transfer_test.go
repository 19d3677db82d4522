package test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Each Corefile has a TTL of its own, by which one sees whose records they are.
func TestATransferOverAReloadIsWholeOrBrokenOff(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	const services = 4000
	var docs strings.Builder
	for n := range services {
		docs.WriteString(dataplane("default", fmt.Sprintf("s-%d", n), fmt.Sprintf("s-%04d", n)) + "---\n")
	}
	write(t, p.resources, "all.yaml", docs.String())
	corefile := func(ttl int) string {
		return strings.ReplaceAll(p.withTransfer("*", fmt.Sprintf("ttl %d", ttl)), "\tready "+p.ready+"\n", "")
	}
	s := launch(t, p.dir, corefile(30), "127.0.0.1:"+p.port)
	first := s.resolves("s-0000.mesh")
	s.resolves(fmt.Sprintf("s-%04d.mesh", services-1))

	var whole, broken atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for _, zone := range []string{"mesh", "240.in-addr.arpa", "mesh", "240.in-addr.arpa"} {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, rrs, ok := s.transfer(zone)
				if !ok { // CoreDNS closes the connections of the instance that goes
					broken.Add(1)
					continue
				}
				whole.Add(1)
				if wrong := notWhole(rrs, services); wrong != "" {
					t.Errorf("a transfer of %s %s", zone, wrong)
					return
				}
			}
		})
	}
	const reloads = 20
	for n := range reloads {
		done := whole.Load() + 2
		s.wait("transfers", func() bool { return whole.Load() >= done || t.Failed() })
		s.reloadTo(p, corefile(31+n), false)
	}
	close(stop)
	wg.Wait()
	t.Logf("%d transfers were whole, and %d broken off, over %d reloads", whole.Load(), broken.Load(), reloads)
	if n := broken.Load(); n > 2*4*reloads { // of four clients, each one or two at a hand-over
		t.Errorf("%d transfers were broken off", n)
	}
	if got := s.addr4("s-0000.mesh"); got != first {
		t.Errorf("s-0000.mesh is at %v, and was at %v", got, first)
	}
	s.stop()
}

// notWhole says what is wrong with the records of a transfer that is to have so
// many services, all by one Corefile; "" if nothing is.
func notWhole(rrs []string, services int) string {
	found := make(map[netip.Addr]bool)
	names, ttl := 0, ""
	for _, rr := range rrs {
		fields := strings.Fields(rr)
		if ttl == "" {
			ttl = fields[1]
		}
		if fields[1] != ttl {
			return fmt.Sprintf("has the TTLs %s and %s", ttl, fields[1])
		}
		switch {
		case fields[3] == "A" && !strings.HasPrefix(rr, "ns.dns."):
			found[netip.MustParseAddr(fields[4])] = true
		case fields[3] == "PTR":
			names++
		}
	}
	if max(len(found), names) != services {
		return fmt.Sprintf("has %d addresses and %d names, want %d", len(found), names, services)
	}
	return ""
}
