package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// errAbsent says that there is nothing at a path, not even a link.
var errAbsent = errors.New("no such file")

// readFile returns the content of the file at path, at most limit bytes of it.
// It returns errAbsent, or an error for the operator.
func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		if _, lerr := os.Lstat(path); errors.Is(lerr, fs.ErrNotExist) {
			return nil, errAbsent
		}
		return nil, fmt.Errorf("cannot be read: %w: make it readable, or remove it", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("is no regular file (%v): put its resources into one, or remove it", info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w: make it readable, or remove it", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("is larger than %d bytes: split it into several files", limit)
	}
	return data, nil
}
