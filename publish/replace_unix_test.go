//go:build unix

package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

// TestFullDiskLeavesTheFileAsItWas limits what the process may write to a file,
// which fails half-way as a full disk does. It is not parallel: the limit is
// the process's.
func TestFullDiskLeavesTheFileAsItWas(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := d.Write("m", nil); err != nil {
		t.Fatal(err)
	}
	before := files(t, path)
	var rows []*vip.Row
	for i := range 1000 {
		rows = append(rows, row(vip.Service, "m", fmt.Sprintf("s%03d", i), "240.0.0.1", "", serviceOutbound("s", 0)))
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	tight := limit
	tight.Cur = 20_000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &tight); err != nil {
		t.Fatal(err)
	}
	failed := d.Write("m", rows)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if failed == nil || !strings.Contains(failed.Error(), path+"/m.json") || !strings.Contains(failed.Error(), "make room on the disk of "+path) {
		t.Errorf("error %v", failed)
	}
	if after := files(t, path); len(after) != 2 || after["m.json"] != before["m.json"] {
		t.Errorf("files %q, want %q", after, before)
	}
	if err := d.Write("m", rows); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// TestUnwritableDirectoryIsAnErrorWithARemedy acts as a user who may read the
// directory but not write to it. It is not parallel: it changes who this is.
func TestUnwritableDirectoryIsAnErrorWithARemedy(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := d.Write("m", small()); err != nil {
		t.Fatal(err)
	}
	asReader(t, path, func() {
		for what, err := range map[string]error{"Write": d.Write("new", small()), "Remove": d.Remove("m")} {
			if err == nil || !strings.Contains(err.Error(), path+"/") || !strings.Contains(err.Error(), "let the server's user write to "+path) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := d.Write("m", small()); err != nil {
			t.Errorf("the same text, which needs no writing: %v", err)
		}
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, bad, err := again.Read(); err != nil || len(bad) > 0 || len(got) != 1 {
			t.Errorf("Read: %v, %v, %v", got, bad, err)
		}
	})
}

// asReader runs do without the right to write to path.
func asReader(t *testing.T, path string, do func()) {
	t.Helper()
	if err := os.Chmod(path, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(path, 0o755)
	if os.Geteuid() != 0 {
		do()
		return
	}
	// Root may write anywhere, so be nobody; the way to path must be open.
	if err := os.Chmod(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	if err := syscall.Seteuid(nobody); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Seteuid(0); err != nil {
			t.Fatal(err)
		}
	}()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("this runs as root, and other users cannot reach the temporary directory; set TMPDIR to one that they can: %v", err)
	}
	do()
}

// TestFilesAreForAnybodyToReadWhateverTheUmask is not parallel: the umask is
// the process's.
func TestFilesAreForAnybodyToReadWhateverTheUmask(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	umask := syscall.Umask(0o077)
	err := d.Write("m", small())
	syscall.Umask(umask)
	if err != nil {
		t.Fatal(err)
	}
	for name := range files(t, path) {
		if info, err := os.Stat(filepath.Join(path, name)); err != nil || info.Mode() != 0o644 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
