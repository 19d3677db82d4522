package test

import (
	"bufio"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/miekg/dns"
)

// playground is what "make cluster" starts, run from the top of the repository.
type playground struct {
	*server // of which only the process and what it prints count
	data    string
}

// startPlayground starts the cluster, and waits until it says what to try.
func startPlayground(t testing.TB) *playground {
	t.Helper()
	coredns, err := released()
	if err != nil {
		t.Fatal(err)
	}
	etcd, _ := etcdtest.Binary(t)
	program := filepath.Join(t.TempDir(), "cluster")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./test/cluster")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := &playground{server: &server{t: t, log: new(syncBuffer), done: make(chan struct{})}, data: filepath.Join(t.TempDir(), "cluster")}
	p.start(program, "-coredns", coredns, "-etcd", etcd, "-data", p.data)
	p.logged("Ctrl-C ends all.")
	return p
}

// start starts the program.
func (p *playground) start(program string, args ...string) {
	p.t.Helper()
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir = top
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended already
		<-p.done
		if p.t.Failed() {
			p.t.Logf("the cluster printed:\n%s", p.log)
		}
	})
}

// processes are those that the cluster has printed, by their names.
func (p *playground) processes() map[string]int {
	pids := make(map[string]int)
	for _, m := range regexp.MustCompile(`(?m)^(etcd|replica \d) +pid (\d+) `).FindAllStringSubmatch(p.log.String(), -1) {
		pids[m[1]], _ = strconv.Atoi(m[2])
	}
	return pids
}

// replicas are servers that answer where the cluster says that its replicas do.
func (p *playground) replicas() map[string]*server {
	all := make(map[string]*server)
	for _, m := range regexp.MustCompile(`(?m)^(replica \d) .* dns (127\.0\.0\.1:\d+),`).FindAllStringSubmatch(p.log.String(), -1) {
		all[m[1]] = &server{t: p.t, addr: m[2], done: p.done}
	}
	return all
}

// leader waits until the cluster says of a replica other than not that it leads.
func (p *playground) leader(not string) (name string) {
	p.t.Helper()
	p.wait("another than "+not+" to lead", func() bool {
		for line := range strings.Lines(p.log.String()) {
			if m := regexp.MustCompile(`(replica \d) \(pid \d+\) leads`).FindStringSubmatch(line); m != nil && m[1] != not {
				name = m[1]
			}
		}
		return name != ""
	})
	return name
}

// suggested returns the lines of the shell that the cluster suggests, from the one
// that begins with first to the one that begins with last.
func (p *playground) suggested(first, last string) string {
	p.t.Helper()
	var script strings.Builder
	on := false
	for scanner := bufio.NewScanner(strings.NewReader(p.log.String())); scanner.Scan(); {
		line := strings.TrimPrefix(scanner.Text(), "  ")
		on = on || strings.HasPrefix(line, first)
		if on {
			script.WriteString(line + "\n")
			if strings.HasPrefix(line, last) {
				return script.String()
			}
		}
	}
	p.t.Fatalf("the cluster suggests nothing from %q to %q", first, last)
	return ""
}

// sh lets a shell do what the cluster suggests.
func (p *playground) sh(script string) {
	p.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// TestAClusterOutlivesItsLeader does what "make cluster" suggests: it kills the
// replica that leads, adds a service, and asks the others all the while.
func TestAClusterOutlivesItsLeader(t *testing.T) {
	t.Parallel()
	p := startPlayground(t)
	pids, replicas := p.processes(), p.replicas()
	if len(pids) != 4 || len(replicas) != 3 {
		t.Fatalf("processes %v, replicas %v", pids, replicas)
	}
	leader := p.leader("")
	before := replicas[leader].resolveAll(exampleNames()...)
	survivors := replicas
	delete(survivors, leader)
	stop := make(chan struct{})
	asked := make(chan int, len(survivors))
	for name, s := range survivors {
		s.wait(name+" to have everything", func() bool {
			for n, addr := range before {
				if s.addr4(n) != addr {
					return false
				}
			}
			return true
		})
		go func() { asked <- askAllTheWhile(t, s, before, stop) }()
	}

	p.sh(p.suggested("kill -9", "kill -9"))
	p.logged(leader + " (pid " + strconv.Itoa(pids[leader]) + ") has ended (signal: killed) and is left dead")
	p.leader(leader)
	p.sh(p.suggested("cat >"+filepath.Join(p.data, "resources"), "END"))
	var added netip.Addr
	for name, s := range survivors {
		addr := s.resolves("added.mesh")
		if added.IsValid() && addr != added {
			t.Errorf("%s: added.mesh is %v here, and %v elsewhere", name, addr, added)
		}
		added = addr
		if ptr := s.ptr(addr); ptr != "added.mesh." {
			t.Errorf("%s: %v is %s", name, addr, ptr)
		}
	}
	for name, addr := range before {
		if addr == added {
			t.Errorf("%v of %s was given to added.mesh", addr, name)
		}
	}
	close(stop)
	for range survivors {
		if n := <-asked; n == 0 {
			t.Error("a survivor was asked nothing")
		}
	}

	p.signal(os.Interrupt)
	<-p.done
	if p.err != nil {
		t.Errorf("the cluster ended with %v on an interrupt", p.err)
	}
	for name, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s (pid %d) is still there (%v)", name, pid, err)
		}
	}
}

// askAllTheWhile asks a server for names whose addresses must be these, until stop,
// and returns how often.
func askAllTheWhile(t testing.TB, s *server, want answers, stop <-chan struct{}) (asked int) {
	tick := time.NewTicker(time.Millisecond) // others want the processor too
	defer tick.Stop()
	for {
		for name, addr := range want {
			select {
			case <-stop:
				return asked
			case <-tick.C:
			}
			r, err := s.queryWithin(patience, name, dns.TypeA)
			if err != nil {
				t.Errorf("%s: %s: %v", s.addr, name, err)
				return asked
			}
			if len(r.Answer) != 1 || !strings.HasSuffix(r.Answer[0].String(), "\t"+addr.String()) {
				t.Errorf("%s: %s is at %v throughout, and once:\n%v", s.addr, name, addr, r)
				return asked
			}
			asked++
		}
	}
}
