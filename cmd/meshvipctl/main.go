package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is the version of this build, as git describes it. The Makefile sets
// it at link time; a bare go build leaves it.
var version = "dev"

func main() { os.Exit(mainCode()) }

// mainCode is main without its exit, for its deferred calls.
func mainCode() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second Ctrl-C ends the program as it would end any other.
	context.AfterFunc(ctx, stop)
	return run(ctx, newSession(os.Stdin, os.Stdout, os.Stderr, os.Getenv), os.Args[1:])
}
