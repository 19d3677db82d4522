//go:build unix

package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// names returns the files of a listing, relative to dir.
func names(t *testing.T, dir string) []string {
	t.Helper()
	l, err := walk(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for path := range l.files {
		rel, err := filepath.Rel(dir, path)
		must(t, err)
		got = append(got, rel)
	}
	slices.Sort(got)
	return got
}

func TestLoopsOfLinksEnd(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "")
	write(t, filepath.Join(dir, "s", "b.yaml"), "")
	write(t, filepath.Join(other, "c.yaml"), "")
	must(t,
		os.Symlink("..", filepath.Join(dir, "s", "up")),
		os.Symlink(dir, filepath.Join(other, "back")),
		os.Symlink(other, filepath.Join(dir, "t")),
		os.Symlink(other, filepath.Join(dir, "u")),
		os.Symlink("self", filepath.Join(dir, "self")),
		os.Symlink("self.yaml", filepath.Join(dir, "self.yaml")),
	)
	// A ladder of directories with two links each would be 2^20 paths.
	for i := range 20 {
		rung := filepath.Join(other, fmt.Sprint("ladder", i))
		must(t, os.MkdirAll(rung, 0o755),
			os.Symlink(filepath.Join(other, fmt.Sprint("ladder", i+1)), filepath.Join(rung, "l")),
			os.Symlink(filepath.Join(other, fmt.Sprint("ladder", i+1)), filepath.Join(rung, "r")))
	}
	want := []string{"a.yaml", "s/b.yaml", "self.yaml", "t/c.yaml"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
}

func TestADirectoryThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	for _, name := range []string{"missing", "file"} {
		if _, err := walk(filepath.Join(dir, name)); err == nil {
			t.Errorf("walking %s is no error", name)
		}
	}
}

func TestFilesThatCannotBeReadSayWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "big.yaml"), "# 12345678901234")
	write(t, filepath.Join(dir, "fits.yaml"), "# 1234567")
	must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling.yaml")), syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600))
	for name, want := range map[string]string{
		"big.yaml":      "is larger than 9 bytes: split it",
		"dangling.yaml": "no such file or directory: make it readable, or remove it",
		"pipe.yaml":     "is no regular file",
	} {
		if _, err := readFile(filepath.Join(dir, name), 9); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if data, err := readFile(filepath.Join(dir, "fits.yaml"), 9); err != nil || len(data) != 9 {
		t.Errorf("a file of exactly the limit: %q, %v", data, err)
	}
	if _, err := readFile(filepath.Join(dir, "missing.yaml"), 9); !errors.Is(err, errAbsent) {
		t.Errorf("a missing file: %v", err)
	}
	if got := names(t, dir); len(got) != 4 {
		t.Errorf("files %v, want all four", got)
	}
}
