package test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/miekg/dns"
)

// ends sends a signal and waits for the end of the process.
func (s *server) ends(sig syscall.Signal) {
	s.t.Helper()
	s.signal(sig)
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Fatalf("the server did not end on %v", sig)
	}
}

// mayCome asks for a name that may come to exist, and notes the address
// that they are told.
func mayCome(name string, told *atomic.Pointer[netip.Addr]) question {
	return question{name + " A", name, dns.TypeA, func(_, r *dns.Msg) string {
		if len(r.Answer) == 0 {
			return authoritative(r, dns.RcodeNameError, 0)
		}
		addr, _ := netip.AddrFromSlice(r.Answer[0].(*dns.A).A.To4())
		if before := told.Swap(&addr); before != nil && *before != addr {
			return fmt.Sprintf("it was at %v", *before)
		}
		return authoritative(r, dns.RcodeSuccess, 1)
	}}
}

// owned reports whether an entry of the state has addr.
func owned(state allocator.State, addr netip.Addr) bool {
	for _, r := range state.Rows {
		if r.V4 == addr {
			return true
		}
	}
	return false
}

// Each time, services are on their way to the store, clients ask, and the new
// Corefile differs in what belongs to the table and in what belongs to the
// block. Some fail, after our part of them has started.
func TestTheServerEndsAtAnyMomentOfAReload(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 5))
	p := exampleSite(t)
	silent, profiles := silentPeer(t), "127.0.0.1:"+freePort(t)
	slow := strings.Repeat("192.0.2.1 www.other.test\n", 60_000) // plugin hosts reads it after we have started
	write(t, p.dir, "hosts", slow)
	corefile := func(n int) string {
		return strings.Replace(p.optional(optionsOf(n), silent, profiles), "hosts {", "hosts hosts {", 1)
	}
	known := make(answers)
	during := 0
	const times, each = 20, 40
	for n := range times {
		s := launch(t, p.dir, corefile(n), "127.0.0.1:"+p.port)
		known["backend.mesh"] = s.resolves("backend.mesh")
		s.unmoved(known)
		name := fmt.Sprintf("n-%d-0.mesh", n)
		var told atomic.Pointer[netip.Addr]
		c := gather(s, giveUp, []question{
			{"backend.mesh. A", "backend.mesh.", dns.TypeA, positive(known["backend.mesh"].String())},
			{"no-such.mesh. A", "no-such.mesh.", dns.TypeA, negative(dns.RcodeNameError)},
			{"mesh. SOA", "mesh.", dns.TypeSOA, rising},
			mayCome(name+".", &told),
		})
		c.everybody(s, 5)

		var docs strings.Builder
		for i := range each {
			docs.WriteString(dataplane("default", fmt.Sprintf("n-%d-%d", n, i), fmt.Sprintf("n-%d-%d", n, i)) + "---\n")
		}
		write(t, p.resources, fmt.Sprintf("n-%d.yaml", n), docs.String())
		next := corefile(rnd.IntN(64))
		if n%3 == 2 {
			next += "more.test:" + p.port + " {\n\tbind 192.0.2.77\n\twhoami\n}\n"
		}
		write(t, p.dir, "Corefile", next)
		moment := time.Duration(rnd.IntN(100)) * time.Millisecond
		<-time.After(time.Duration(rnd.IntN(40)) * time.Millisecond) // the files are read or not
		s.signal(syscall.SIGUSR1)
		// CoreDNS loses a second signal that comes before it looks at the first.
		for !strings.Contains(s.log.String(), "SIGUSR1: Reloading") {
			<-time.After(time.Millisecond)
		}
		<-time.After(moment)
		if log := s.log.String(); !strings.Contains(log, "Reloading complete") && !strings.Contains(log, "[ERROR] SIGUSR1") {
			during++
		}
		// On SIGTERM, CoreDNS reloads to the end. On SIGINT it does not, and has a
		// race of its own about the list of what to shut down.
		sig := syscall.SIGTERM
		if n%2 == 1 && os.Getenv("MESHVIP_TEST_RACE") == "" {
			sig = syscall.SIGINT
		}
		s.ends(sig)
		c.leaves()
		if s.err != nil {
			t.Errorf("the server ended with %v", s.err)
		}
		left := verify(t, p.store) // opens it, so the lock is free
		if addr := told.Load(); addr != nil {
			known[name] = *addr
			if !owned(left, *addr) {
				t.Errorf("%v was told, and is not in the store", *addr)
			}
		}
		if t.Failed() {
			t.Fatalf("in round %d of seed %d, by %v", n, seed, sig)
		}
	}
	if during < times/4 {
		t.Errorf("a reload was going on at %d of %d ends only: this has tested little", during, times)
	}
	t.Logf("%d of %d ended during the reload; %d names were told", during, times, len(known))

	s := launch(t, p.dir, corefile(0), "127.0.0.1:"+p.port)
	s.unmoved(known)
	s.resolves(fmt.Sprintf("n-%d-%d.mesh", times-1, each-1))
	s.stop()
}

// Plugin health lets a server that ends answer for a while, so that those who
// ask can turn to another. By then the other has the store.
func TestALameDuckAnswersWhileItsSuccessorHasTheStore(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	lame := "health 127.0.0.1:" + freePort(t) + " {\n\t\tlameduck 60s\n\t}"
	s := launch(t, p.dir, strings.Replace(p.corefile(), "errors", "errors\n\t"+lame, 1), "127.0.0.1:"+p.port)
	before := s.resolveAll(exampleNames()...)
	s.signal(syscall.SIGTERM)
	s.logged("Going into lameduck mode")

	heir := *p
	heir.port, heir.ready, heir.metrics = freePort(t), "127.0.0.1:"+freePort(t), "127.0.0.1:"+freePort(t)
	heir.dir = t.TempDir()
	next := heir.start()
	write(t, p.resources, "new.yaml", dataplane("default", "new", "new"))
	next.resolves("new.mesh")
	next.unmoved(before)
	next.unlogged("in use by another process")

	s.unmoved(before)
	for _, name := range []string{"backend.mesh", "stock.mesh"} {
		if ptr := s.ptr(before[name]); ptr != name+"." {
			t.Errorf("the name of %v is %q", before[name], ptr)
		}
	}
	if got := s.rcode("no-such.mesh"); got != "NXDOMAIN" {
		t.Errorf("no-such.mesh: %s", got)
	}
	if r := s.ask("backend.mesh", dns.TypeSRV); len(r.Answer) == 0 || len(r.Extra) == 0 {
		t.Errorf("backend.mesh SRV: %v", r)
	}
	s.kill()
	next.stop()
}
