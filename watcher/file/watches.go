package file

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// notifier tells of file events. It is what this package uses of
// [fsnotify.Watcher].
type notifier interface {
	Add(path string) error
	Remove(path string) error
	Close() error
	// channels return the events and the errors. They may be read from until
	// Close.
	channels() (<-chan fsnotify.Event, <-chan error)
}

type systemNotifier struct{ *fsnotify.Watcher }

func (n systemNotifier) channels() (<-chan fsnotify.Event, <-chan error) { return n.Events, n.Errors }

// newSystemNotifier returns the operating system's notifier.
func newSystemNotifier() (notifier, error) {
	// The buffer lets a burst wait here while a batch is applied.
	w, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return nil, err
	}
	return systemNotifier{w}, nil
}

// watches keeps a watch on each directory of a tree, and on the root's parent,
// where the root itself appears and goes.
type watches struct {
	notifier notifier // nil where there is none
	dirs     map[string]fs.FileInfo
	err      error // why some directory has no watch
}

func (w *watches) watched(path string) bool { _, ok := w.dirs[path]; return ok }

// follow watches dirs and nothing else besides the parent of root, and reports
// whether any watch is new: what happened before it began was not seen.
func (w *watches) follow(root string, dirs []directoryEntry) (added bool) {
	if w.notifier == nil {
		return false
	}
	w.err = nil
	want := make(map[string]fs.FileInfo, len(dirs)+1)
	parent := filepath.Dir(root)
	if info, err := os.Stat(parent); err == nil {
		want[parent] = info
	}
	for _, d := range dirs {
		want[d.path] = d.info
	}
	// Old ones go first: a directory that was renamed is one watch under two
	// names, and would lose it with the old name.
	for path, info := range w.dirs {
		if now, ok := want[path]; !ok || !os.SameFile(info, now) {
			w.forget(path)
		}
	}
	for path, info := range want {
		if w.watched(path) {
			continue
		}
		if err := w.notifier.Add(path); err != nil {
			if path != parent {
				w.err = fmt.Errorf("watching a directory: %w", err)
			}
			continue
		}
		w.dirs[path] = info
		added = true
	}
	return added
}

// forget ends the watch of path. The system may have ended it already.
func (w *watches) forget(path string) {
	if w.watched(path) {
		_ = w.notifier.Remove(path)
		delete(w.dirs, path)
	}
}
