package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/meshvip/coredns-meshvip/admin"
)

func TestAnInterruptIsNoErrorOfWhatItStopped(t *testing.T) {
	t.Parallel()
	cause := errors.New("a signal came")
	ctx, cancel := context.WithCancelCause(t.Context())
	broken := errors.New("it broke")
	if got := ended(ctx, context.Canceled); got != context.Canceled {
		t.Errorf("before it, an error became %v", got)
	}
	cancel(cause)
	for err, want := range map[error]error{
		nil:                                   nil,
		broken:                                broken,
		context.Canceled:                      errInterrupted,
		unopened("no server: %w", cause):      errInterrupted,
		fmt.Errorf("x: %w", context.Canceled): errInterrupted,
	} {
		if got := ended(ctx, err); got != want {
			t.Errorf("%v became %v, want %v", err, got, want)
		}
	}
}

func TestEveryErrorHasItsExitCode(t *testing.T) {
	t.Parallel()
	plain := errors.New("it broke")
	for _, tc := range []struct {
		err   error
		begun bool
		want  int
	}{
		{nil, true, 0},
		{errFound, true, 1},
		{wrong("a breach"), true, 1},
		{usage("a flag"), true, 2},
		{unopened("a file: %w", plain), true, 3},
		{fmt.Errorf("around: %w", usage("a flag")), true, 2},
		{errors.Join(plain, wrong("a breach")), true, 1},
		// Of cobra, before a command has begun.
		{plain, false, 2},
		// Of a place that could not be reached or read.
		{plain, true, 3},
		{fmt.Errorf("asking: %w", context.Canceled), true, 130},
		// Of a server.
		{&admin.Error{Code: admin.NotFound}, true, 4},
		{&admin.Error{Code: admin.BadRequest}, true, 2},
		{&admin.Error{Code: admin.Conflict}, true, 1},
		{&admin.Error{Code: admin.Unavailable}, true, 3},
		{&admin.Error{Code: admin.Internal}, true, 3},
	} {
		if got := exitCode(tc.err, tc.begun); got != tc.want {
			t.Errorf("exitCode(%v, %v) = %d, want %d", tc.err, tc.begun, got, tc.want)
		}
	}
}
