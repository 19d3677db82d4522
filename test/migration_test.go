package test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// tool builds cmd/meshvipctl once for all tests, and returns its path.
var tool = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "bin", "meshvipctl")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/meshvipctl")
	cmd.Dir = top
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, nil
})

// TestTheMigrationGuideIsRehearsed runs the commands of the guide's rehearsal as a
// reader would, in one shell.
func TestTheMigrationGuideIsRehearsed(t *testing.T) {
	t.Parallel()
	const guide = "examples/migration/README.md"
	ctl, err := tool()
	if err != nil {
		t.Fatalf("building cmd/meshvipctl: %v\n%s", err, ctl)
	}
	server, err := released()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, path := range map[string]string{"meshvipctl": ctl, "coredns": server} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	var commands []string
	for i, part := range strings.Split(section(t, guide, "Rehearsal"), "~~~") {
		if code, ok := strings.CutPrefix(part, " sh\n"); ok && i%2 == 1 {
			commands = append(commands, code)
		}
	}
	if len(commands) < 5 {
		t.Fatalf("found %d blocks of commands in %s", len(commands), guide)
	}
	// Here the copy is of its own, and on a port that is free.
	dir := filepath.Join(t.TempDir(), "rehearsal")
	if !strings.HasPrefix(commands[0], "cp -r examples/migration /tmp/rehearsal\n") {
		t.Fatalf("the rehearsal begins with %q", commands[0])
	}
	copyTree(t, filepath.Join(top, "examples", "migration"), dir)
	corefile := readDoc(t, "examples/migration/Corefile")
	write(t, dir, "Corefile", strings.ReplaceAll(corefile, ":1053", ":"+freePort(t)))
	script := "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nset -x\n" + strings.Join(commands[1:], "\n")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the rehearsal: %v\n%s", err, out)
	}
	for _, want := range []string{"240.0.0.6", "ledger", "nothing is in conflict"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the rehearsal does not show %q:\n%s", want, out)
		}
	}
	for _, store := range []string{"meshvip.db", "other.db"} {
		verify(t, filepath.Join(dir, store))
	}
}
