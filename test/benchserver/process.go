package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/meshvip/coredns-meshvip/test/loopback"
	"github.com/miekg/dns"
)

// process is a server that runs.
type process struct {
	kind
	port string
	log  string        // a file with what it prints
	took time.Duration // from its start to its first answer
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startPatience bounds how long a server may load.
const startPatience = 5 * time.Minute

// start starts a server over a site, and waits until it answers for name.
func start(ctx context.Context, k kind, s site, name string) (*process, error) {
	port, err := ports.Find()
	if err != nil {
		return nil, err
	}
	config := s.path(k.name + ".conf")
	if err := os.MkdirAll(s.path(k.name+".d"), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, []byte(k.config(s, port)), 0o644); err != nil {
		return nil, err
	}
	p := &process{kind: k, port: port, log: s.path(k.name + ".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(k.binary, k.args(config)...)
	p.cmd.Dir = s.dir
	p.cmd.Env = append(os.Environ(), k.env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = attributes()
	begun := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", k.name, err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in what it printed
		close(p.done)
	}()
	if err := p.answers(ctx, name); err != nil {
		p.stop()
		return nil, err
	}
	p.took = time.Since(begun)
	return p, nil
}

// answers waits until the server answers a question for the address of name.
func (p *process) answers(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	c, q := &dns.Client{Timeout: time.Second}, new(dns.Msg).SetQuestion(name, dns.TypeA)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		r, _, err := c.ExchangeContext(ctx, q, "127.0.0.1:"+p.port)
		if err == nil && r.Rcode == dns.RcodeSuccess && (len(r.Answer) > 0 || p.unknown == "") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to answer: %w", p.name, ctx.Err())
		case <-p.done:
			return fmt.Errorf("%s has ended; it printed:\n%s", p.name, p.printed())
		case <-tick.C:
		}
	}
}

// printed is the end of what the server printed.
func (p *process) printed() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// stop ends the server with SIGTERM, and what is left of its group with SIGKILL, and
// waits until all of it is gone.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
	}
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for range 2000 { // somebody's child that is not waited for must not hold us up for ever
		if errors.Is(syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL), syscall.ESRCH) {
			break
		}
		<-pace.C
	}
	<-p.done
}

// ports are looked for below those that systems give to clients, so that no client
// gets a server's.
var ports = loopback.Ports{First: 16_000, Count: 4_000}

// lastName is a name that a server has when it has all.
func (s site) lastName() string {
	name, _ := service(s.n - 1)
	return dotted(name) + "." + zone
}
