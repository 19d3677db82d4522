package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/meshvip/coredns-meshvip/admin"
)

// The exit codes, which scripts rely on. The texts are in root.go.
const (
	codeOK       = 0
	codeWrong    = 1 // what was asked for was looked at, and is not as it should be
	codeUsage    = 2
	codeUnopened = 3 // the table, or a file, could not be reached, opened or read
	codeNotFound = 4
	// As a shell has it for Ctrl-C.
	codeInterrupted = 130
)

// exitError is an error that ends the program with a code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// wrong is the error of something that was found not to be as it should be: a
// breach, a difference, a plan that is refused.
func wrong(format string, args ...any) error { return coded(codeWrong, format, args...) }

// usage is the error of a command line that means nothing.
func usage(format string, args ...any) error { return coded(codeUsage, format, args...) }

// unopened is the error of a table or file that cannot be reached, opened or read.
func unopened(format string, args ...any) error { return coded(codeUnopened, format, args...) }

// notFound is the error of something that is not there.
func notFound(format string, args ...any) error { return coded(codeNotFound, format, args...) }

func coded(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// errFound ends with code 1 and says nothing more: what was found is in the
// output.
var errFound error = &exitError{codeWrong, errors.New("")}

// errInterrupted is the error of a command that a signal ended.
var errInterrupted error = &exitError{codeInterrupted, errors.New("interrupted")}

// ended returns the error of a command in ctx: one that only says, in whatever
// words, that ctx was interrupted is errInterrupted.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return errInterrupted
	}
	return err
}

// exitCode returns the code that the program ends with after err. An error that
// has none of its own comes from a place that could not be reached or read;
// before a command has begun, from the command line.
func exitCode(err error, begun bool) int {
	var e *exitError
	var told *admin.Error
	switch {
	case err == nil:
		return codeOK
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &told):
		return codeOf(told.Code)
	case !begun:
		return codeUsage
	case errors.Is(err, context.Canceled):
		return codeInterrupted
	}
	return codeUnopened
}

// codeOf returns the exit code of what a server answers.
func codeOf(c admin.Code) int {
	switch c {
	case admin.NotFound:
		return codeNotFound
	case admin.BadRequest:
		return codeUsage
	case admin.Conflict:
		return codeWrong
	}
	return codeUnopened
}
