package test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// reloading returns a Corefile without the plugins that forget listeners of
// instances that failed (ready, prometheus). more is what comes further down.
func (p *site) reloading(more string) string {
	return fmt.Sprintf(`mesh:%[1]s 240.0.0.0/8:%[1]s {
	bind 127.0.0.1
	errors
	meshvip {
		pool 240.0.0.0/8
		source file %[2]s
		store bolt %[3]s
		publish %[4]s
	}
}
other.test:%[1]s {
	bind 127.0.0.1
	hosts {
		192.0.2.1 www.other.test
	}
}
%[5]s
`, p.port, p.resources, p.store, p.published, more)
}

// reloadTo has the server load corefile, and waits until it has, or has failed
// to as fails says.
func (s *server) reloadTo(p *site, corefile string, fails bool) {
	s.t.Helper()
	text := "Reloading complete"
	if fails {
		text = "[ERROR] SIGUSR1: starting with"
	}
	write(s.t, p.dir, "Corefile", corefile)
	before := strings.Count(s.log.String(), text)
	s.signal(syscall.SIGUSR1)
	s.wait(fmt.Sprintf("%q once more", text), func() bool { return strings.Count(s.log.String(), text) > before })
}

// holds is what a process holds that can leak.
type holds struct{ files, watches int }

func (s *server) holds() (h holds) {
	dir := fmt.Sprintf("/proc/%d/fdinfo", s.cmd.Process.Pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err == nil { // else it was closed meanwhile
			h.files++
			h.watches += strings.Count(string(info), "inotify wd:")
		}
	}
	return h
}

// load is a steady load of questions about one name.
type load struct {
	answered, lost, refused atomic.Int64
}

// ask asks for the address of name until stop is closed. An answer must be
// want. Lost are the questions that got none in time, refused those whose
// connection was not made or broke; they are asked again.
func (l *load) ask(t testing.TB, addr, network, name, want string, stop <-chan struct{}) {
	c := &dns.Client{Net: network, Timeout: 2 * time.Second}
	for {
		select {
		case <-stop:
			return
		default:
		}
		r, _, err := c.Exchange(new(dns.Msg).SetQuestion(name, dns.TypeA), addr)
		if err != nil {
			if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
				l.lost.Add(1)
			} else {
				l.refused.Add(1)
			}
			continue
		}
		l.answered.Add(1)
		got := dns.RcodeToString[r.Rcode]
		if len(r.Answer) > 0 {
			got = r.Answer[0].(*dns.A).A.String()
		}
		if got != want {
			t.Errorf("%s over %s: %s, want %s", name, network, got, want)
			return
		}
	}
}

func (l *load) String() string {
	return fmt.Sprintf("%d answered, %d lost, %d refused", l.answered.Load(), l.lost.Load(), l.refused.Load())
}

// The peer here is plugin hosts, in another server block of the same server:
// what the sockets lose when they change hands, it loses too. CoreDNS closes
// the TCP connections of the old instance, some before their question was read;
// a client asks again then.
func TestTwentyReloadsAreServedThroughoutAndLeakNothing(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	good := p.reloading("")
	broken := []string{
		p.reloading("more.test:" + port + " {\n\tbind 127.0.0.1\n\twhoami\n}"),
		p.reloading("more.test:" + p.port + " {\n\tbind 127.0.0.1\n\tforward . nowhere:x:y\n}"),
		strings.Replace(p.reloading("more.test:"+port+" {\n\tbind 127.0.0.1\n\twhoami\n}"), p.store, p.store+".other", 1),
		strings.Replace(good, "pool 240.0.0.0/8", "pool 240.0.0.0/33", 1),
	}
	s := launch(t, p.dir, good, "127.0.0.1:"+p.port)
	s.servesOther()
	backend := s.resolves("backend.mesh.").String()
	s.wait("a name that does not exist", func() bool { return s.rcode("no-such.mesh.") == "NXDOMAIN" })

	stop := make(chan struct{})
	var wg sync.WaitGroup
	loads := make(map[string]*load)
	for _, network := range []string{"udp", "tcp"} {
		for name, want := range map[string]string{"backend.mesh.": backend, "no-such.mesh.": "NXDOMAIN", "www.other.test.": "192.0.2.1"} {
			l := new(load)
			loads[network+" "+name] = l
			wg.Go(func() { l.ask(t, s.addr, network, name, want, stop) })
		}
	}
	s.wait("a load", func() bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(loads)), func(l *load) bool { return l.answered.Load() < 100 })
	})
	before := s.holds()
	handovers := int64(0)
	for n := range 20 {
		if n%2 == 0 {
			s.reloadTo(p, good, false)
			handovers++
		} else {
			s.reloadTo(p, broken[n/2%len(broken)], true)
		}
	}
	// The collector closes the sockets of reloads that failed, and the load
	// makes it run.
	s.wait(fmt.Sprintf("no more to be held than %+v", before), func() bool {
		now := s.holds()
		return now.files <= before.files && now.watches <= before.watches
	})
	close(stop)
	wg.Wait()
	for what, l := range loads {
		t.Logf("%s: %v", what, l)
	}
	peer := loads["udp www.other.test."]
	for what, l := range loads {
		if l.lost.Load() > 0 && peer.lost.Load() == 0 {
			t.Errorf("%s: %v, and of plugin hosts %v", what, l, peer)
		}
		// A client has one connection at a time, and only a hand-over breaks it.
		if l.refused.Load() > handovers {
			t.Errorf("%s: %v, over %d reloads that worked", what, l, handovers)
		}
	}

	write(t, p.resources, "new.yaml", dataplane("default", "new-1", "brand-new"))
	s.resolves("brand-new.mesh.")
	s.stop()
}

func TestTheServerEndsInTheMiddleOfAReload(t *testing.T) {
	t.Parallel()
	// CoreDNS looks at SIGTERM once the reload is over.
	signals := []syscall.Signal{syscall.SIGTERM}
	if os.Getenv("MESHVIP_TEST_RACE") == "" {
		// It shuts down on SIGINT while it reloads, and reads the new instance's
		// list of callbacks while plugins write to it: a race of its own.
		signals = append(signals, syscall.SIGINT)
	}
	for _, sig := range signals {
		for n, fails := range []bool{false, true, false, true} {
			p := exampleSite(t)
			s := launch(t, p.dir, p.reloading(""), "127.0.0.1:"+p.port)
			s.servesOther()
			s.resolves("backend.mesh.")
			next := strings.Replace(p.reloading(""), "pool 240.0.0.0/8", "pool 240.0.0.0/8 241.0.0.0/8", 1)
			if n > 1 {
				next = strings.Replace(next, p.store, p.store+".other", 1)
			}
			if fails {
				next += "more.test:" + p.port + " {\n\tbind 192.0.2.77\n\twhoami\n}\n"
			}
			write(t, p.dir, "Corefile", next)
			s.signal(syscall.SIGUSR1)
			// A second signal that comes before the first is looked at is lost:
			// that is CoreDNS's.
			s.logged("SIGUSR1: Reloading")
			s.signal(sig)
			select {
			case <-s.done:
			case <-time.After(patience):
				t.Fatalf("the server did not end on %v during a reload", sig)
			}
			verify(t, p.store) // opens it, so the lock is free
		}
	}
}

// A batch of many entries is on its way to the store.
func TestTheServerEndsWhileItWritesALargeTable(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	const files, each = 30, 1000
	for f := range files {
		var docs strings.Builder
		for n := range each {
			docs.WriteString(dataplane("default", fmt.Sprintf("d-%d-%d", f, n), fmt.Sprintf("s-%02d-%03d", f, n)))
			docs.WriteString("---\n")
		}
		write(t, p.resources, fmt.Sprintf("f%d.yaml", f), docs.String())
	}
	corefile := p.reloading("")
	s := launch(t, p.dir, corefile, "127.0.0.1:"+p.port)
	s.resolves("s-00-000.mesh.")
	s.stop()
	if n := len(verify(t, p.store).Rows); n == 0 {
		t.Error("what was answered is not in the store")
	}
	// What was not written then is written now.
	s = launch(t, p.dir, corefile, "127.0.0.1:"+p.port)
	s.resolves(fmt.Sprintf("s-%02d-%03d.mesh.", files-1, each-1))
	s.stop()
	if n := len(verify(t, p.store).Rows); n != files*each {
		t.Errorf("%d rows, want %d", n, files*each)
	}
}
