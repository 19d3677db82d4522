package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/meshvip/coredns-meshvip/admin"
)

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
