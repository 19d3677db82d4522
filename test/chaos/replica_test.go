package chaos

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
)

// replica is one CoreDNS, over all of its processes.
type replica struct {
	t   testing.TB
	n   int
	dir string
	// The addresses at which it answers, and at which its plugins of these names do.
	addr, ready, metrics string
	proxies              []*etcdtest.Proxy // to each member of etcd
	// block is what stands in the block of meshvip. NegativeTTL is beside it: a
	// reload changes it.
	block       string
	negativeTTL int

	process *process
	frozen  atomic.Bool // it is stopped with SIGSTOP
}

// process is one run of a replica.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// newReplica returns a replica that is not started yet.
func newReplica(t testing.TB, n int, etcd []*etcdtest.Server) *replica {
	t.Helper()
	r := &replica{
		t: t, n: n, dir: t.TempDir(), negativeTTL: 5,
		addr: "127.0.0.1:" + ownPorts.Free(t), ready: "127.0.0.1:" + ownPorts.Free(t), metrics: "127.0.0.1:" + ownPorts.Free(t),
	}
	for _, e := range etcd {
		r.proxies = append(r.proxies, etcdtest.NewProxy(t, e.Addr()))
	}
	t.Cleanup(func() {
		if r.process != nil {
			r.kill()
		}
		log := r.log()
		for _, bad := range []string{"DATA RACE", "panic", "fatal error"} {
			if strings.Contains(log, bad) {
				t.Errorf("replica %d printed %q", r.n, bad)
			}
		}
		if t.Failed() {
			lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
			t.Logf("replica %d printed at last:\n%s", r.n, strings.Join(lines[max(0, len(lines)-60):], "\n"))
		}
	})
	return r
}

// store returns the property of a store in etcd as the replica reaches it.
func (r *replica) store(prefix, more string) string {
	var endpoints []string
	for _, p := range r.proxies {
		endpoints = append(endpoints, "http://"+p.Addr())
	}
	return fmt.Sprintf("store etcd %s {\n\t\t\tprefix %s\n\t\t\t%s\n\t\t}", strings.Join(endpoints, " "), prefix, more)
}

func (r *replica) corefile() string {
	_, port, _ := strings.Cut(r.addr, ":")
	return fmt.Sprintf(`mesh:%s 240.0.0.0/8:%s {
	bind 127.0.0.1
	errors
	ready %s
	prometheus %s
	transfer {
		to *
	}
	meshvip {
		%s
		negative_ttl %d
	}
}
`, port, port, r.ready, r.metrics, r.block, r.negativeTTL)
}

// writeCorefile writes the Corefile by a rename.
func (r *replica) writeCorefile() {
	r.t.Helper()
	path := filepath.Join(r.dir, "Corefile")
	if err := os.WriteFile(path+".tmp", []byte(r.corefile()), 0o644); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		r.t.Fatal(err)
	}
}

// start starts a process and waits for nothing.
func (r *replica) start() {
	r.t.Helper()
	bin, err := coredns()
	if err != nil {
		r.t.Fatal(err)
	}
	r.writeCorefile()
	log, err := os.OpenFile(filepath.Join(r.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		r.t.Fatal(err)
	}
	defer log.Close()
	p := &process{cmd: exec.Command(bin, "-conf", "Corefile"), done: make(chan struct{})}
	p.cmd.Dir = r.dir
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = diesWithParent()
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // by a signal, mostly
		close(p.done)
	}()
	r.process = p
}

// log returns what all processes have printed.
func (r *replica) log() string {
	data, err := os.ReadFile(filepath.Join(r.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Error(err)
	}
	return string(bytes.ToValidUTF8(data, []byte("?")))
}

// alive fails the test if the process has ended by itself.
func (r *replica) alive() {
	r.t.Helper()
	select {
	case <-r.process.done:
		r.t.Fatalf("replica %d has ended by itself", r.n)
	default:
	}
}

// kill ends the process with SIGKILL and waits for its end.
func (r *replica) kill() {
	_ = r.process.cmd.Process.Kill() // it may have ended already
	<-r.process.done
	r.frozen.Store(false)
}

// stop ends the process with SIGTERM and waits for its end.
func (r *replica) stop() {
	r.t.Helper()
	r.signal(syscall.SIGTERM)
	select {
	case <-r.process.done:
	case <-time.After(patience):
		r.t.Fatalf("replica %d did not end on SIGTERM", r.n)
	}
}

func (r *replica) signal(sig os.Signal) {
	r.t.Helper()
	r.alive()
	if err := r.process.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

// freeze stops the process in its tracks, and thaw lets it go on.
func (r *replica) freeze() {
	r.t.Helper()
	r.frozen.Store(true)
	r.signal(syscall.SIGSTOP)
}

func (r *replica) thaw() {
	r.t.Helper()
	r.signal(syscall.SIGCONT)
	r.frozen.Store(false)
}

// reload gives the running process a changed Corefile.
func (r *replica) reload() {
	r.t.Helper()
	r.negativeTTL = 11 - r.negativeTTL
	r.writeCorefile()
	const done = "Reloading complete"
	before := strings.Count(r.log(), done)
	r.signal(syscall.SIGUSR1)
	eventually(r.t, fmt.Sprintf("the end of the reload of replica %d", r.n), func() bool {
		return strings.Count(r.log(), done) > before
	})
}

// network puts all ways of the replica to etcd in a state.
func (r *replica) network(become func(*etcdtest.Proxy)) {
	for _, p := range r.proxies {
		become(p)
	}
}
