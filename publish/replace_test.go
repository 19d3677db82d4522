package publish

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

// TestReaderNeverSeesHalfAFile reads for as long as it takes to write two
// states in turn, a number of times.
func TestReaderNeverSeesHalfAFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := open(t, path)
	var long []*vip.Row
	for _, r := range small() {
		if _, ok := r.Listing("default"); ok {
			long = append(long, r)
		}
	}
	states := [][]*vip.Row{long, long[:1]}
	valid := make(map[string][]string) // texts by file
	for _, rows := range states {
		if err := d.Write("default", rows); err != nil {
			t.Fatal(err)
		}
		for name, text := range files(t, path) {
			valid[name] = append(valid[name], text)
		}
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for name, texts := range valid {
		readers.Go(func() {
			for n := 0; ; n++ {
				text, err := os.ReadFile(filepath.Join(path, name))
				if err != nil || !slices.Contains(texts, string(text)) {
					t.Errorf("read %d of %s: %v\n%s", n, name, err, text)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	readers.Go(func() { // another instance, as while the server reloads
		for {
			select {
			case <-done:
				return
			default:
				if _, err := Open(path); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for i := range 100 {
		if err := d.Write("default", states[i%2]); err != nil {
			t.Error(err)
		}
	}
	close(done)
	readers.Wait()
}

func TestOpenSweepsWhatACrashLeft(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	kept := []string{".meshvip-INUSE.tmp", ".other.tmp", ".meshvip-x", "meshvip-x.tmp", "m.json"}
	for _, name := range append([]string{".meshvip-LEFT.tmp", ".meshvip-.tmp"}, kept...) {
		if err := os.WriteFile(filepath.Join(path, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	beingWritten.Store(kept[0], nil)
	t.Cleanup(func() { beingWritten.Delete(kept[0]) })
	open(t, path)
	if got := slices.Sorted(maps.Keys(files(t, path))); !slices.Equal(got, slices.Sorted(slices.Values(kept))) {
		t.Errorf("files %q, want %q", got, kept)
	}
}

func TestFileThatCannotBeReplacedIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"m.json", "m.outbounds.yaml"} {
		path := t.TempDir()
		inTheWay := filepath.Join(path, name)
		if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		d := open(t, path)
		if err := d.Write("m", nil); err == nil || !strings.Contains(err.Error(), `mesh "m": `+inTheWay) {
			t.Errorf("Write: %v", err)
		}
		if err := d.Remove("m"); err == nil || !strings.Contains(err.Error(), inTheWay) {
			t.Errorf("Remove: %v", err)
		}
		if left, err := filepath.Glob(filepath.Join(path, tempPrefix+"*")); err != nil || len(left) > 0 {
			t.Errorf("left over: %q, %v", left, err)
		}
	}
}

func TestModeDoesNotFollowAnEarlierFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := replace(filepath.Dir(path), "f", []byte("new")); !changed || err != nil {
		t.Fatal(changed, err)
	}
	text, err := os.ReadFile(path)
	info, _ := os.Stat(path)
	if err != nil || !bytes.Equal(text, []byte("new")) || info.Mode() != 0o644 {
		t.Errorf("%q of mode %v, %v", text, info.Mode(), err)
	}
}
