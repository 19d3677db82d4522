package publish

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Temporary files have a name that no mesh's file has: these start with no dot.
const (
	tempPrefix = ".meshvip-"
	tempSuffix = ".tmp"
)

// beingWritten has the names of this process's temporary files: sweep leaves
// them alone. Names are random, so they need no directory.
var beingWritten sync.Map

// replace makes text the content of the file name in dir, for readers all at
// once, and reports whether it was not so before. The file is on disk on
// return; that it has its name is once syncDir has returned.
func replace(dir, name string, text []byte) (changed bool, err error) {
	path := filepath.Join(dir, name)
	if same(path, text) {
		return false, nil
	}
	temp := tempPrefix + rand.Text() + tempSuffix
	beingWritten.Store(temp, nil)
	defer beingWritten.Delete(temp)
	tempPath := filepath.Join(dir, temp)
	if err := writeFile(tempPath, text); err != nil {
		_ = os.Remove(tempPath)
		return false, fmt.Errorf("%s: %w%s", path, err, remedy(dir, err))
	}
	if err := os.Rename(tempPath, path); err != nil {
		_ = os.Remove(tempPath)
		return false, fmt.Errorf("%s: %w%s", path, err, remedy(dir, err))
	}
	return true, nil
}

// same reports whether the file has this text. One that cannot be read is to be
// replaced, and if there is more to it, that will tell.
func same(path string, text []byte) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(text)) {
		return false
	}
	old, err := os.ReadFile(path)
	return err == nil && bytes.Equal(old, text)
}

// writeFile writes a new file to disk, for anybody to read.
func writeFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644) // whatever the umask: proxies run as other users
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// syncDir brings what was renamed or removed in dir to disk. A file system that
// cannot do that keeps names in its own way.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%w%s", err, remedy(dir, err))
	}
	return nil
}

// sweep removes the temporary files that a crash left in dir. One that cannot
// be removed does no harm, and a directory that is only read may have some.
func sweep(dir string, entries []fs.DirEntry) {
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, tempPrefix) || !strings.HasSuffix(name, tempSuffix) {
			continue
		}
		if _, ok := beingWritten.Load(name); !ok {
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
}

// remedy says what to do about err, in the form that ends an error's text.
func remedy(dir string, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "; let the server's user write to " + dir + ", or publish to another directory"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return "; make room on the disk of " + dir
	case errors.Is(err, syscall.ENOTDIR):
		return "; move away the file that is in the place of a directory, or publish to another directory"
	case errors.Is(err, fs.ErrNotExist):
		return "; the directory " + dir + " is gone, create it again"
	}
	return ""
}
