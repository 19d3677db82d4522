package meshvip

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/root"
	_ "github.com/coredns/coredns/plugin/whoami"
	"github.com/miekg/dns"
	"go.uber.org/goleak"
)

// patience bounds every wait. It is only reached when something is broken.
const patience = 30 * time.Second

// Plugins that fail, each in its own way. CoreDNS sets plugins up, and starts
// them, in the order of the directives.
func init() {
	dnsserver.Directives = []string{
		"root", "metadata", "bind", "ready", "prometheus", "earlybadstop", "log", "any", "chaos", "rewrite", "cache", "transfer",
		"meshvip", "badsetup", "badstart", "badstop", "whoami", "view",
	}
	plugin.Register("badsetup", func(*caddy.Controller) error { return errors.New("badsetup fails") })
	plugin.Register("badstart", func(c *caddy.Controller) error {
		c.OnStartup(func() error { return errors.New("badstart fails") })
		return nil
	})
	badstop := func(c *caddy.Controller) error {
		c.OnShutdown(func() error { return errors.New("badstop fails") })
		return nil
	}
	plugin.Register("badstop", badstop)
	plugin.Register("earlybadstop", badstop)
	caddy.Quiet, dnsserver.Quiet = true, true
}

// site is a CoreDNS in this process, with its directory. In Corefiles, ADDR
// is its address and DIR its directory. Tests with sites do not run in
// parallel: CoreDNS has one list of instances.
type site struct {
	t    *testing.T
	dir  string
	port string
	inst *caddy.Instance
}

// newSite returns a site that is not running. The test fails if anything of it
// still runs at the end, but for what is CoreDNS's own.
func newSite(t *testing.T, coreDNS ...goleak.Option) *site {
	t.Helper()
	leaks := append(coreDNS, goleak.IgnoreCurrent())
	s := &site{t: t, dir: t.TempDir(), port: freePort(t)}
	if err := os.Mkdir(filepath.Join(s.dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.stop()
		goleak.VerifyNone(t, leaks...)
		registry.Lock()
		defer registry.Unlock()
		if n := len(registry.runtimes); n > 0 {
			t.Errorf("%d runtimes are left", n)
		}
	})
	return s
}

func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p, err := net.ListenPacket("udp", l.Addr().String())
		l.Close()
		if err == nil {
			p.Close()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			return port
		}
	}
	t.Fatal("no port is free for both TCP and UDP")
	return ""
}

func (s *site) input(corefile string) caddy.CaddyfileInput {
	corefile = strings.NewReplacer("PORT", s.port, "DIR", s.dir).Replace(corefile)
	return caddy.CaddyfileInput{Filepath: "Corefile", Contents: []byte(corefile), ServerTypeName: "dns"}
}

// start starts the site.
func (s *site) start(corefile string) {
	s.t.Helper()
	inst, err := caddy.Start(s.input(corefile))
	if err != nil {
		s.t.Fatal(err)
	}
	s.inst = inst
	s.up()
}

// up waits until the servers serve: CoreDNS does not stop one that it has
// started and that does not serve yet.
func (s *site) up() {
	s.t.Helper()
	for _, network := range []string{"udp", "tcp"} {
		s.wait("an answer over "+network, func() bool {
			c := &dns.Client{Net: network, Timeout: time.Second}
			_, _, err := c.Exchange(new(dns.Msg).SetQuestion(".", dns.TypeNS), "127.0.0.1:"+s.port)
			return err == nil
		})
	}
}

// reload reloads, as CoreDNS does when the Corefile has changed.
func (s *site) reload(corefile string) error {
	s.t.Helper()
	inst, err := s.inst.Restart(s.input(corefile))
	if err == nil {
		s.inst = inst
		s.up()
	}
	return err
}

// fails starts what must not start, and returns the error.
func (s *site) fails(corefile string) error {
	s.t.Helper()
	inst, err := caddy.Start(s.input(corefile))
	if err == nil {
		s.inst = inst
		s.stop()
		s.t.Fatal("the Corefile was taken")
	}
	return err
}

// running returns the only instance that CoreDNS has.
func running(t *testing.T) *caddy.Instance {
	t.Helper()
	all := caddy.Instances()
	if len(all) != 1 {
		t.Fatalf("%d instances, want 1", len(all))
	}
	return all[0]
}

// mustReload is reload that must work.
func (s *site) mustReload(corefile string) {
	s.t.Helper()
	if err := s.reload(corefile); err != nil {
		s.t.Fatal(err)
	}
}

// stop ends the site as CoreDNS does on SIGTERM.
func (s *site) stop() {
	if s.inst == nil {
		return
	}
	_ = s.inst.ShutdownCallbacks() // badstop
	if err := s.inst.Stop(); err != nil {
		s.t.Error(err)
	}
	s.inst = nil
}

// runtime returns the only runtime there is.
func (s *site) runtime() *shared {
	s.t.Helper()
	registry.Lock()
	defer registry.Unlock()
	if n := len(registry.runtimes); n != 1 {
		s.t.Fatalf("%d runtimes, want 1", n)
	}
	for _, r := range registry.runtimes {
		return r
	}
	return nil
}

// settled waits until the last reload is in force.
func (s *site) settled() {
	s.t.Helper()
	r := s.runtime()
	for range 2 { // when the second is taken, the first is done
		registry.Lock()
		r.use(r.owners[len(r.owners)-1].settings)
		registry.Unlock()
		s.wait("the settings to be taken", func() bool { return len(r.next) == 0 })
	}
}

// wait polls until cond holds.
func (s *site) wait(what string, cond func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			s.t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

// query asks over UDP, again where a packet was lost.
func (s *site) query(name string, qtype uint16) (*dns.Msg, error) {
	c := &dns.Client{Timeout: 3 * time.Second}
	for try := 0; ; try++ {
		r, _, err := c.Exchange(new(dns.Msg).SetQuestion(name, qtype), "127.0.0.1:"+s.port)
		if err == nil || try == 2 {
			return r, err
		}
	}
}

// ask says in one word what the site answers: an address, a name, or what the
// server says instead.
func (s *site) ask(name string, qtype uint16) string {
	r, err := s.query(name, qtype)
	if err != nil {
		return err.Error()
	}
	if len(r.Answer) > 0 {
		switch rr := r.Answer[0].(type) {
		case *dns.A:
			return rr.A.String()
		case *dns.PTR:
			return rr.Ptr
		case *dns.SOA:
			return fmt.Sprint(rr.Serial)
		}
	}
	return dns.RcodeToString[r.Rcode]
}

// becomes waits until ask says want.
func (s *site) becomes(name string, qtype uint16, want string) {
	s.t.Helper()
	s.wait(name+" to be "+want, func() bool { return s.ask(name, qtype) == want })
}

// resolves waits until name has an address, and returns it.
func (s *site) resolves(name string) (addr string) {
	s.t.Helper()
	s.wait(name+" to resolve", func() bool {
		addr = s.ask(name, dns.TypeA)
		return isAddr(addr)
	})
	return addr
}

func isAddr(s string) bool { _, err := netip.ParseAddr(s); return err == nil }

// services makes file, below the directory src, list services of mesh.
func (s *site) services(file, mesh string, names ...string) {
	s.t.Helper()
	s.servicesIn("src", file, mesh, names...)
}

func (s *site) servicesIn(src, file, mesh string, names ...string) {
	s.t.Helper()
	docs := []string{"type: Mesh\nname: " + mesh + "\n"}
	for _, n := range names {
		docs = append(docs, "type: Dataplane\nmesh: "+mesh+"\nname: "+n+"\nnetworking:\n  address: 192.0.2.1\n  inbound:\n"+
			"  - port: 8080\n    tags:\n      kuma.io/service: "+n+"\n")
	}
	path := filepath.Join(s.dir, src, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path+".tmp", []byte(strings.Join(docs, "---\n")), 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		s.t.Fatal(err)
	}
}

// load asks questions until the function that it returns is called. Each must
// be answered as want says, by "NAME TYPE".
func (s *site) load(want map[string]string) (end func()) {
	s.t.Helper()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for q, a := range want {
		name, qtype, _ := strings.Cut(q, " ")
		wg.Go(func() {
			for !stop.Load() {
				if got := s.ask(name, dns.StringToType[qtype]); got != a {
					s.t.Errorf("%s: %s, want %s", q, got, a)
					return
				}
			}
		})
	}
	return func() { stop.Store(true); wg.Wait() }
}

// held is what a process holds that can leak.
type held struct{ goroutines, files, watches int }

// holds counts. Sockets of a reload that failed are closed by the collector.
func holds() (h held) {
	goruntime.GC()
	h.goroutines = goruntime.NumGoroutine()
	files, _ := os.ReadDir("/proc/self/fdinfo")
	for _, f := range files {
		info, err := os.ReadFile("/proc/self/fdinfo/" + f.Name())
		if err == nil {
			h.files++
			h.watches += strings.Count(string(info), "inotify wd:")
		}
	}
	return h
}

// holdsNoMore waits until no more is held than before.
func (s *site) holdsNoMore(before held) {
	s.t.Helper()
	var now held
	for deadline := time.Now().Add(patience); ; goruntime.Gosched() {
		now = holds()
		if now.goroutines <= before.goroutines && now.files <= before.files && now.watches <= before.watches {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%+v are held, before it was %+v", now, before)
		}
	}
}
