package file

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// effect is what an event asks for.
type effect int

const (
	nothing  effect = iota
	readOne         // the file has to be read
	listTree        // the tree has to be listed, and what differs in it read
)

// classify says what an event asks for. watched are the directories of the
// tree.
func classify(root string, ev fsnotify.Event, watched func(string) bool) effect {
	name := filepath.Base(ev.Name)
	switch {
	case watched(ev.Name), ev.Name == root:
		return listTree
	case filepath.Dir(ev.Name) == filepath.Dir(root):
		return nothing // a neighbour of the root
	case isResource(name):
		return readOne
	case isSwap(name):
		return listTree
	case isHidden(name) || !ev.Has(fsnotify.Create):
		return nothing
	}
	// A directory, or a link to one, may have come; other files do not count.
	if info, err := os.Lstat(ev.Name); err == nil && (info.IsDir() || info.Mode()&fs.ModeSymlink != 0) {
		return listTree
	}
	return nothing
}
