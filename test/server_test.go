package test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/binary"
	"github.com/meshvip/coredns-meshvip/test/loopback"
	"github.com/miekg/dns"
)

// patience bounds every wait of these tests. It is only reached when something
// is broken.
const patience = 60 * time.Second

// top is the top of the repository.
var top = binary.Top

// Builds of cmd/coredns: as it is released, and one that dies at failpoints.
var (
	released = build("")
	mortal   = build("failpoints")
)

// build returns a function that builds cmd/coredns with a build tag, once for
// all tests, and returns the path. MESHVIP_COREDNS names another build to test.
func build(tag string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		if ready := os.Getenv("MESHVIP_COREDNS"); ready != "" && tag == "" {
			return ready, nil
		}
		return binary.CoreDNS(buildDir, tag)
	})
}

// buildDir is where builds go.
var buildDir string

func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "meshvip-test"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// server is a running CoreDNS.
type server struct {
	t    testing.TB
	cmd  *exec.Cmd
	addr string // where it answers
	from string // the address that its client has, "" for any
	log  *syncBuffer
	done chan struct{} // closed when the process has ended
	err  error         // what Wait returned, after done
	// ready and metrics are where the plugins of these names listen, "" where
	// the Corefile does not have them.
	ready, metrics string
	// fine: what it printed need not be shown if the test fails.
	fine bool
}

// syncBuffer is a buffer that a process writes and a test reads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// ownPorts are those of this package's tests.
var ownPorts = loopback.Ports{First: 12_000, Count: 16_000}

// freePort returns a port of 127.0.0.1 that is free for TCP and UDP, and that
// no other test gets.
func freePort(t testing.TB) string {
	t.Helper()
	return ownPorts.Free(t)
}

// launch starts the binary in dir with the given Corefile, which it writes to
// dir/Corefile, and does not wait for anything. addr is where the Corefile
// lets it answer.
func launch(t testing.TB, dir, corefile, addr string) *server {
	t.Helper()
	return launchBuild(t, released, dir, corefile, addr)
}

// launchBuild is launch for some build, with env added to the environment.
func launchBuild(t testing.TB, build func() (string, error), dir, corefile, addr string, env ...string) *server {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Corefile"), []byte(corefile), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, addr: addr, log: new(syncBuffer), done: make(chan struct{})}
	s.cmd = exec.Command(bin, "-conf", "Corefile")
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(func() {
		s.kill()
		for _, bad := range []string{"DATA RACE", "panic", "fatal error"} {
			if strings.Contains(s.log.String(), bad) {
				t.Errorf("the server printed %q", bad)
			}
		}
		if t.Failed() && !s.fine {
			t.Logf("the server printed:\n%s", tail(s.log.String(), 60))
		}
	})
	return s
}

// kill ends the process with SIGKILL and waits for its end.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended already
	<-s.done
}

// stop ends the process with SIGTERM and waits for its end.
func (s *server) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Fatal("the server did not end on SIGTERM")
	}
}

func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// wait polls until cond holds, and fails the test if the server ends or time
// runs out before.
func (s *server) wait(what string, cond func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-s.done:
			s.t.Fatalf("waiting for %s: the server has ended: %v", what, s.err)
		case <-deadline.C:
			s.t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

// query asks one question over UDP.
func (s *server) query(name string, qtype uint16) (*dns.Msg, error) {
	return s.queryWithin(2*time.Second, name, qtype)
}

func (s *server) queryWithin(timeout time.Duration, name string, qtype uint16) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	m := new(dns.Msg).SetQuestion(dns.Fqdn(name), qtype)
	c := new(dns.Client)
	if s.from != "" {
		c.Dialer = &net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(s.from)}}
	}
	r, _, err := c.ExchangeContext(ctx, m, s.addr)
	return r, err
}

// ask is query that must be answered; it is tried again where UDP loses it.
func (s *server) ask(name string, qtype uint16) *dns.Msg {
	s.t.Helper()
	var r *dns.Msg
	s.wait("an answer to "+name, func() bool {
		var err error
		r, err = s.query(name, qtype)
		return err == nil
	})
	return r
}

// addr4 returns the A record of name, the zero Addr if there is none.
func (s *server) addr4(name string) netip.Addr {
	s.t.Helper()
	r := s.ask(name, dns.TypeA)
	for _, rr := range r.Answer {
		if a, ok := rr.(*dns.A); ok {
			addr, _ := netip.AddrFromSlice(a.A.To4())
			return addr
		}
	}
	return netip.Addr{}
}

// addr6 returns the AAAA record of name, the zero Addr if there is none.
func (s *server) addr6(name string) netip.Addr {
	s.t.Helper()
	for _, rr := range s.ask(name, dns.TypeAAAA).Answer {
		if a, ok := rr.(*dns.AAAA); ok {
			addr, _ := netip.AddrFromSlice(a.AAAA)
			return addr
		}
	}
	return netip.Addr{}
}

// ptr returns the PTR of addr, "" if there is none.
func (s *server) ptr(addr netip.Addr) string {
	s.t.Helper()
	rev, err := dns.ReverseAddr(addr.String())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, rr := range s.ask(rev, dns.TypePTR).Answer {
		if p, ok := rr.(*dns.PTR); ok {
			return p.Ptr
		}
	}
	return ""
}

// resolves waits until name has an address, and returns it.
func (s *server) resolves(name string) (addr netip.Addr) {
	s.t.Helper()
	s.wait(name+" to resolve", func() bool {
		addr = s.addr4(name)
		return addr.IsValid()
	})
	return addr
}

// logged waits until the server has printed text.
func (s *server) logged(text string) {
	s.t.Helper()
	s.wait(fmt.Sprintf("%q in the log", text), func() bool { return strings.Contains(s.log.String(), text) })
}

// tail returns the last n lines of s.
func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// write writes a file below dir, by way of a rename.
func write(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".tmp", []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}
