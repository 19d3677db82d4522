package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// stdStream is the name of standard input and output among paths.
const stdStream = "-"

// writeOut writes a file at path, or standard output for "-" and "". A file is
// replaced as a whole: it is on disk when writeOut returns nil, and as it was
// otherwise.
func (s *session) writeOut(path string, write func(io.Writer) error) error {
	if path != "" && path != stdStream {
		return replaceFile(path, write)
	}
	if s.outTerm {
		return write(s.out)
	}
	b := bufio.NewWriter(s.out)
	return errors.Join(write(b), b.Flush())
}

// replaceFile writes the file at path under another name first.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", path, errors.Join(err, f.Close(), os.Remove(f.Name())))
		}
	}()
	b := bufio.NewWriterSize(f, 1<<16)
	if err := write(b); err != nil {
		return err
	}
	if err := errors.Join(b.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
