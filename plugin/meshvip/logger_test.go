package meshvip

import (
	"bytes"
	"errors"
	"io"
	golog "log"
	"strings"
	"sync"
	"testing"
	"unicode"

	clog "github.com/coredns/coredns/plugin/pkg/log"
)

// logged is what CoreDNS logs.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// has reports whether one line has all of parts.
func (l *logged) has(parts ...string) bool {
	for line := range strings.Lines(l.String()) {
		n := 0
		for _, p := range parts {
			if strings.Contains(line, p) {
				n++
			}
		}
		if n == len(parts) {
			return true
		}
	}
	return false
}

// logs returns what is logged from now on until the test ends. Tests that use
// it do not run in parallel.
func logs(t *testing.T) *logged {
	t.Helper()
	l := new(logged)
	golog.SetOutput(l)
	t.Cleanup(func() { golog.SetOutput(io.Discard) })
	return l
}

func TestTheLogIsCoreDNSs(t *testing.T) {
	out := logs(t)
	l := logger().With("store", "/var/lib/mesh vip.db")
	l.Info("all is well", "n", 3)
	l.Warn("odd", "name", "", "eq", "a=b")
	l.Error("broken", "error", errors.New(`no "such" file`))
	l.Debug("not shown")
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimSpace(line))
	}
	want := []string{
		`[INFO] plugin/meshvip: all is well store="/var/lib/mesh vip.db" n=3`,
		`[WARNING] plugin/meshvip: odd store="/var/lib/mesh vip.db" name="" eq="a=b"`,
		`[ERROR] plugin/meshvip: broken store="/var/lib/mesh vip.db" error="no \"such\" file"`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i, line := range lines {
		if !strings.HasSuffix(line, want[i]) {
			t.Errorf("%q, want %q", line, want[i])
		}
	}
	clog.D.Set()
	defer clog.D.Clear()
	l.Debug("shown")
	if !out.has("[DEBUG]", "shown") {
		t.Error("no debug line with plugin debug")
	}
}

// Names come from files that others write: none of them may forge a line, or
// speak to a terminal.
func TestALineOfTheLogIsOneLine(t *testing.T) {
	out := logs(t)
	for _, s := range []string{"a\n[ERROR] forged", "a\rb", "\x1b[2J", "a\u2028b", "\xff\xfe", "a\tb", "\u202eb"} {
		logger().Warn("left out: "+s, "name", s)
	}
	n := 0
	for line := range strings.Lines(out.String()) {
		n++
		for _, r := range strings.TrimSuffix(line, "\n") {
			if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
				t.Errorf("%q holds %q", line, r)
			}
		}
	}
	if n != 7 {
		t.Errorf("%d lines for 7", n)
	}
	if got := printable("Käse 世界"); got != "Käse 世界" {
		t.Errorf("what can be printed became %q", got)
	}
}
