package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

func TestTheFirstSignalEndsACommandThatWaitsForItsInput(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		store := filepath.Join(t.TempDir(), "new.db")
		c := exec.Command("meshvipctl", "import", "-", "--mesh", "default", "--pool", "240.0.0.0/24", "--store", store)
		var errs bytes.Buffer
		c.Stderr = &errs
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: when it is written, the command reads.
		if _, err := in.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != codeInterrupted {
			t.Errorf("%v: it ended with %v", sig, err)
		}
		if got := errs.String(); got != "meshvipctl: interrupted\n" {
			t.Errorf("%v: it said %q", sig, got)
		}
		if _, err := os.Stat(store); !os.IsNotExist(err) {
			t.Errorf("%v: a store is there (%v)", sig, err)
		}
	}
}
