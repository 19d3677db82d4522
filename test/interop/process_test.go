package interop

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/loopback"
)

// patience bounds every wait of these tests. It is only reached when something
// is broken.
const patience = 60 * time.Second

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

// daemon is a server that runs in the foreground as a child of the tests.
type daemon struct {
	t    testing.TB
	name string
	addr string // where it answers DNS
	cmd  *exec.Cmd
	log  *syncBuffer
	done chan struct{} // closed when the process has ended
}

// start starts a server in dir, which answers at addr, and ends it with the
// test. What it printed is shown if the test fails.
func start(t testing.TB, dir, addr, path string, args ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, name: filepath.Base(path), addr: addr, log: new(syncBuffer), done: make(chan struct{})}
	d.cmd = exec.Command(path, args...)
	d.cmd.Dir = dir
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.SysProcAttr = attributes()
	d.cmd.WaitDelay = 5 * time.Second
	if err := d.cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", d.name, err)
	}
	go func() {
		_ = d.cmd.Wait() // how it ended is in what it printed
		close(d.done)
	}()
	t.Cleanup(func() {
		d.stop()
		for _, bad := range []string{"DATA RACE", "panic:", "fatal error:"} {
			if strings.Contains(d.log.String(), bad) {
				t.Errorf("%s printed %q", d.name, bad)
			}
		}
		if t.Failed() {
			t.Logf("%s printed:\n%s", d.name, tail(d.log.String(), 60))
		}
	})
	return d
}

// stop ends the server with SIGTERM, or SIGKILL where that does not help.
func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-d.done:
	case <-time.After(10 * time.Second):
	}
	d.kill()
}

// kill ends the server and its children with SIGKILL.
func (d *daemon) kill() {
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL) // it may have ended already
	<-d.done
}

// wait polls until cond holds, and fails the test if the server ends or time
// runs out before.
func (d *daemon) wait(limit time.Duration, what string, cond func() bool) {
	d.t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-d.done:
			d.t.Fatalf("waiting for %s: %s has ended", what, d.name)
		case <-deadline.C:
			d.t.Fatalf("waited %v in vain for %s", limit, what)
		case <-tick.C:
		}
	}
}

// ownPorts are those of this package's tests.
var ownPorts = loopback.Ports{First: 28_000, Count: 4_000}

// freePort returns a port of 127.0.0.1 that is free for TCP and UDP, and that
// no other test gets.
func freePort(t testing.TB) string {
	t.Helper()
	return ownPorts.Free(t)
}

// portOf returns the port of an address.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// write writes a file below dir by way of a rename, and returns its path.
func write(t testing.TB, dir, name, content string) string {
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
	return path
}

// tail returns the last n lines of s.
func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
