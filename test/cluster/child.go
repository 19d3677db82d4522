package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// grace is how long a process may take to end when asked.
const grace = 15 * time.Second

// child is a process of the cluster.
type child struct {
	name string
	cmd  *exec.Cmd
	log  string        // the file that it prints to
	done chan struct{} // closed when it has ended
}

// spawn starts a program.
func spawn(name, log, program string, args ...string) (*child, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the process has its own
	c := &child{name: name, cmd: exec.Command(program, args...), log: log, done: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = f, f
	// Ctrl-C in a terminal is for us: we end them one after the other.
	c.cmd.SysProcAttr = attributes()
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait() // how it ended is in its ProcessState
		close(c.done)
	}()
	return c, nil
}

func (c *child) String() string { return fmt.Sprintf("%s (pid %d)", c.name, c.cmd.Process.Pid) }

// command is what a shell would start it with.
func (c *child) command() string { return strings.Join(c.cmd.Args, " ") }

// ended reports whether the process has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// stop ends the process, one that is stopped or does not listen too.
func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	_ = c.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-c.done:
	case <-time.After(grace):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// tail returns the end of what the process printed.
func (c *child) tail() string {
	printed, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(printed), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
