package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/meshvip/coredns-meshvip/test/loopback"
	"github.com/miekg/dns"
)

// ownPorts are those of servers that are measured.
var ownPorts = loopback.Ports{First: 11_000, Count: 1_000}

const (
	// alone is how many changes are made one by one, and atOnce how many
	// without waiting.
	alone, atOnce = 20, 1_000
	// patience bounds the wait for one answer.
	patience = 15 * time.Minute
)

// serve measures a real server over the store that is left and resource files of
// the fleet, and then over no store.
func (s *simulation) serve(ctx context.Context, w io.Writer) error {
	r := resources{filepath.Join(s.Dir, "resources")}
	if err := r.write(s.fleet); err != nil {
		return err
	}
	last := s.fleet.meshes[len(s.fleet.meshes)-1].live[0]
	if err := s.serving(ctx, w, "restart of a server", service(last), r); err != nil {
		return err
	}
	if err := os.Remove(s.file()); err != nil {
		return err
	}
	return s.serving(ctx, w, "first start of a server", service(last), r)
}

// serving starts a server, and tells when it knows a name, what memory it has, and
// what a change of files takes until it is answered.
func (s *simulation) serving(ctx context.Context, w io.Writer, what, name string, r resources) error {
	p, err := s.startServer(ctx)
	if err != nil {
		return err
	}
	defer p.stop()
	begun := time.Now()
	if err := p.answers(ctx, name); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: answers after %.2f s (%.2f s of processor time)", what, time.Since(begun).Seconds(), p.processor().Seconds())
	// That the files are followed shows when one of them has changed.
	if err := errors.Join(r.add(0), p.answers(ctx, r.added(0))); err != nil {
		return err
	}
	anon, file, peak := p.memory()
	fmt.Fprintf(w, ", has read its files after %.2f s (%.2f s)\n  resident: %d MiB, and %d MiB of files, the store's and its own; at most %d MiB\n",
		time.Since(begun).Seconds(), p.processor().Seconds(), anon>>10, file>>10, peak>>10)
	var times []time.Duration
	for i := range alone {
		begun := time.Now()
		if err := errors.Join(r.add(1+i), p.answers(ctx, r.added(1+i))); err != nil {
			return err
		}
		times = append(times, time.Since(begun))
	}
	begun, used := time.Now(), p.processor()
	for i := range atOnce {
		if err := r.add(1 + alone + i); err != nil {
			return err
		}
	}
	for i := range atOnce {
		if err := p.answers(ctx, r.added(1+alone+i)); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "  a file that changes is answered after %d ms; %d that change at once: %.0f changes a second, of %.2f ms of processor time each\n",
		median(times).Milliseconds(), atOnce, atOnce/time.Since(begun).Seconds(), 1000*(p.processor()-used).Seconds()/atOnce)
	return r.remove()
}

// server is one that runs.
type server struct {
	cmd  *exec.Cmd
	port string
	log  string
	done chan struct{} // closed when it has ended
}

// startServer starts the server.
func (s *simulation) startServer(ctx context.Context) (*server, error) {
	port, err := ownPorts.Find()
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("mesh.:%[1]s %[2]v:%[1]s {\n\tbind 127.0.0.1\n\terrors\n\tmeshvip {\n\t\tpool %[2]v\n\t\tsource file resources\n"+
		"\t\tstore bolt %[3]s\n\t\tcooldown %[4]v\n\t\tmax_release 100%%\n\t}\n}\n", port, s.Pool, fileName, s.Cooldown)
	if err := os.WriteFile(filepath.Join(s.Dir, "Corefile"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(s.Server)
	if err != nil {
		return nil, err
	}
	p := &server{port: port, log: filepath.Join(s.Dir, "server.log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.CommandContext(ctx, binary, "-conf", "Corefile")
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 30 * time.Second
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = s.Dir, log, log
	// What makes the simulation faster would give the server memory that it has not
	// as a rule.
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=")
	})
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.done)
	}()
	return p, nil
}

// answers waits until the server knows the address of a service.
func (p *server) answers(ctx context.Context, service string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, q := &dns.Client{Timeout: time.Second}, new(dns.Msg).SetQuestion(service+".mesh.", dns.TypeA)
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for {
		if r, _, err := c.ExchangeContext(ctx, q, "127.0.0.1:"+p.port); err == nil && len(r.Answer) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for an answer for %s: %w", service, ctx.Err())
		case <-p.done:
			printed, _ := os.ReadFile(p.log)
			return fmt.Errorf("the server has ended; it printed:\n%s", printed[max(0, len(printed)-2_000):])
		case <-pace.C:
		}
	}
}

// stop ends the server.
func (p *server) stop() {
	_ = p.cmd.Cancel() // it may have ended
	<-p.done
}

func (p *server) processor() time.Duration { return processor(strconv.Itoa(p.cmd.Process.Pid)) }

// memory returns what the server has in RAM of its own, what of files, and the most
// that it had in all, in KiB; 0 where the system does not tell.
func (p *server) memory() (anon, file, peak int) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0, 0
	}
	fields := map[string]*int{"RssAnon": &anon, "RssFile": &file, "VmHWM": &peak}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		if field := fields[name]; field != nil {
			_, _ = fmt.Sscan(value, field) // it stays 0
		}
	}
	return anon, file, peak
}
