package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// listing is what a directory tree holds.
type listing struct {
	// files are the resource files, with what they are behind any links. The
	// info is nil where a link leads nowhere.
	files map[string]fs.FileInfo
	// dirs are all directories of the tree, the root first.
	dirs []directoryEntry
	// closed are the subdirectories that could not be listed.
	closed map[string]error
}

type directoryEntry struct {
	path string
	info fs.FileInfo
}

// walk lists the tree below root. Each real directory is listed once, under
// the first path that leads to it, so loops of links end. The error says that
// root itself cannot be listed.
func walk(root string) (listing, error) {
	w := walker{
		listing: listing{files: make(map[string]fs.FileInfo), closed: make(map[string]error)},
		real:    make(map[string]bool),
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return listing{}, err
	}
	if err := w.dir(root, real); err != nil {
		return listing{}, err
	}
	return w.listing, nil
}

type walker struct {
	listing
	real map[string]bool // real directories that were listed
}

// dir lists the directory at path, whose path without links is real.
func (w *walker) dir(path, real string) error {
	if w.real[real] {
		return nil
	}
	w.real[real] = true
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	w.dirs = append(w.dirs, directoryEntry{path, info})
	for _, e := range entries {
		if !isHidden(e.Name()) {
			w.entry(path, real, e)
		}
	}
	return nil
}

func (w *walker) entry(parent, realParent string, e fs.DirEntry) {
	path, real := filepath.Join(parent, e.Name()), filepath.Join(realParent, e.Name())
	isLink := e.Type()&fs.ModeSymlink != 0
	if !isLink && !e.IsDir() && !isResource(e.Name()) {
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil && !isLink && errors.Is(err, fs.ErrNotExist):
		return // gone since it was listed
	case err != nil && e.IsDir():
		w.closed[path] = err
	case err != nil:
		if isResource(e.Name()) {
			w.files[path] = nil
		}
	case info.IsDir():
		if isLink {
			if real, err = filepath.EvalSymlinks(path); err != nil {
				return // the link was swapped since; its event comes
			}
		}
		if err := w.dir(path, real); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.closed[path] = err
		}
	case isResource(e.Name()):
		w.files[path] = info
	}
}
