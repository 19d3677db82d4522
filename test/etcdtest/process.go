package etcdtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience bounds every wait. It is only reached when something is broken.
const patience = 60 * time.Second

// output is what a process prints, written by it and read by a test.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// process is one run of a program.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// run starts a program, whose output goes to out.
func run(out *output, path string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = attributes()
	// ETCD_... in the environment is configuration too.
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "ETCD_") {
			p.cmd.Env = append(p.cmd.Env, variable)
		}
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in what it printed
		close(p.done)
	}()
	return p, nil
}

// kill ends the process at once, a stopped one too, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
}

// terminate asks the process to end, and waits for its end. A paused one goes on
// for that.
func (p *process) terminate() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	_ = p.resume()
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("process %d did not end on SIGTERM", p.cmd.Process.Pid)
	}
}

// pause stops the process where it is.
func (p *process) pause() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return poll("the process to stop", p.done, func() (bool, error) { return stopped(p.cmd.Process.Pid) })
}

// resume lets a process go on that was paused.
func (p *process) resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// errEnded is returned by poll when there is nothing left to wait for.
var errEnded = errors.New("the process has ended")

// poll waits until cond holds. It gives up when cond fails, ended is closed, or
// time runs out.
func poll(what string, ended <-chan struct{}, cond func() (bool, error)) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := cond()
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("waiting for %s: %w", what, errEnded)
		case <-deadline.C:
			return fmt.Errorf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}
