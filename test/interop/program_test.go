package interop

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// told logs what a test has checked, where it holds.
func told(t testing.TB, format string, args ...any) {
	t.Helper()
	if !t.Failed() {
		t.Logf(format, args...)
	}
}

// debian names the package of each program that the tests use.
var debian = map[string]string{
	"delv": "bind9-dnsutils", "dig": "bind9-dnsutils", "host": "bind9-host", "named": "bind9",
	"dnssec-keygen": "bind9-utils", "named-checkzone": "bind9-utils", "named-compilezone": "bind9-utils",
	"kdig": "knot-dnsutils", "knotd": "knot", "unbound": "unbound", "nsd": "nsd",
	"getent": "libc-bin", "ip": "iproute2", "unshare": "util-linux",
}

// need returns the path of a program, and skips the test where there is none.
func need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/bin"} {
		if err != nil {
			path, err = exec.LookPath(filepath.Join(dir, program))
		}
	}
	if err != nil {
		lack(t, "there is no %s here: install Debian's package %s", program, debian[program])
	}
	return path
}

// lack skips a test for want of something, or fails it where everything has to
// be there.
func lack(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("MESHVIP_INTEROP") == "require" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// needServer is need for a server that Debian confines by AppArmor to its own
// directories: it copies the program, for it is confined by its path.
func needServer(t testing.TB, program string) string {
	t.Helper()
	path := need(t, program)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), program)
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// output runs a program that ends by itself and returns what it prints. It must
// succeed.
func output(t testing.TB, path string, args ...string) string {
	t.Helper()
	out, err := outputOf(path, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(path), strings.Join(args, " "), err, out)
	}
	return out
}

// outputOf is output that may fail. What is printed as an error is in the
// output then.
func outputOf(path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	err := cmd.Run()
	if err != nil {
		_, _ = io.Copy(&out, &errors) // to memory
	}
	return out.String(), err
}
