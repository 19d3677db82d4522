package file

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fsnotify/fsnotify"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
)

// counting is a notifier that knows what is watched.
type counting struct {
	*scripted
	watched map[string]bool
	closed  int
}

func (c *counting) Add(path string) error    { c.watched[path] = true; return nil }
func (c *counting) Remove(path string) error { delete(c.watched, path); return nil }
func (c *counting) Close() error             { c.closed++; return nil }

func TestWatchesAreOfTheTreeAndItsParentAndNothingElse(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root := filepath.Join(base, "root")
	write(t, filepath.Join(root, "s", "t", "a.yaml"), "# none")
	write(t, filepath.Join(root, ".git", "a.yaml"), "# none")
	c := &counting{scripted: newScripted(), watched: map[string]bool{}}
	w := watches{notifier: c, dirs: map[string]os.FileInfo{}}
	check := func(added bool, want ...string) {
		t.Helper()
		tree, _ := walk(root)
		if got := w.follow(root, tree.dirs); got != added {
			t.Errorf("new watches: %v, want %v", got, added)
		}
		var got []string
		for path := range c.watched {
			rel, err := filepath.Rel(base, path)
			must(t, err)
			got = append(got, rel)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("watched %v, want %v", got, want)
		}
	}
	check(true, ".", "root", "root/s", "root/s/t")
	check(false, ".", "root", "root/s", "root/s/t")
	must(t, os.Rename(filepath.Join(root, "s"), filepath.Join(root, "u")))
	check(true, ".", "root", "root/u", "root/u/t")
	must(t, os.RemoveAll(filepath.Join(root, "u")))
	check(false, ".", "root")
	must(t, os.RemoveAll(root))
	check(false, ".")
}

func TestRunClosesItsNotifier(t *testing.T) {
	t.Parallel()
	for range 20 {
		c := &counting{scripted: newScripted(), watched: map[string]bool{}}
		s := New(t.TempDir(), byEvents)
		s.notify = func() (notifier, error) { return c, nil }
		ctx, stop := context.WithCancel(t.Context())
		err := runBoth(ctx, s, watcher.NewUnion("d"), func(vip.Batch) error { stop(); return nil })
		if stop(); err != nil || c.closed != 1 {
			t.Errorf("Run returned %v, the notifier was closed %d times", err, c.closed)
		}
	}
}

func TestEventsAskForNoMoreThanTheyHaveTo(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root := filepath.Join(base, "root")
	write(t, filepath.Join(root, "dir", "x"), "")
	write(t, filepath.Join(root, "notes.txt"), "")
	must(t, os.Symlink("dir", filepath.Join(root, "link")))
	watched := func(path string) bool { return path == root || path == filepath.Join(root, "old") || path == base }
	for _, tc := range []struct {
		name string
		op   fsnotify.Op
		want effect
	}{
		{"root/a.yaml", fsnotify.Write, readOne},
		{"root/a.yaml", fsnotify.Remove, readOne},
		{"root/a.yaml", fsnotify.Chmod, readOne},
		{"root/.a.yaml.swp", fsnotify.Create, nothing},
		{"root/a.yaml~", fsnotify.Create, nothing},
		{"root/notes.txt", fsnotify.Create, nothing},
		{"root/notes.txt", fsnotify.Write, nothing},
		{"root/dir", fsnotify.Create, listTree},
		{"root/link", fsnotify.Create, listTree},
		{"root/old", fsnotify.Rename, listTree},
		{"root/..data", fsnotify.Create, listTree},
		{"root", fsnotify.Create, listTree},
		{"root", fsnotify.Remove, listTree},
		{"neighbour", fsnotify.Create, nothing},
		{"neighbour.yaml", fsnotify.Write, nothing},
	} {
		if got := classify(root, fsnotify.Event{Name: filepath.Join(base, tc.name), Op: tc.op}, watched); got != tc.want {
			t.Errorf("%v of %s asks for %v, want %v", tc.op, tc.name, got, tc.want)
		}
	}
}
