package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// version is the version of this build, as git describes it. The Makefile sets
// it at link time; a bare go build leaves it.
var version = "dev"

func main() { os.Exit(mainCode()) }

// endTime is how long a command that was interrupted may take to end by itself.
const endTime = 500 * time.Millisecond

// mainCode is main without its exit, for its deferred calls.
func mainCode() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second Ctrl-C ends the program as it would end any other.
	context.AfterFunc(ctx, stop)
	s := newSession(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, s, os.Args[1:]) }()
	select {
	case code := <-ended:
		return code
	case <-ctx.Done():
	}
	// A command that waits for a file, a pipe or an answer on a terminal does not
	// see its context. What it writes is there as a whole or not at all.
	select {
	case code := <-ended:
		return code
	case <-time.After(endTime):
	}
	if s.errTerm {
		fmt.Fprintln(os.Stderr) // it may have asked something, or drawn its progress
	}
	fmt.Fprintln(os.Stderr, "meshvipctl: "+errInterrupted.Error())
	return codeInterrupted
}
