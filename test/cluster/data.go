package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// prepare makes the directory of what is kept, and locks it: two clusters on one
// would fight for it.
func (p paths) prepare() (unlock func(), err error) {
	if err := os.MkdirAll(p.data, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(p.data, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	unlock = func() { lock.Close() }
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another cluster runs in %s: end it, or choose another directory by -data", p.data)
	}
	if err == nil {
		err = p.copyResources()
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// kept is the directory of the resources that the replicas follow.
func (p paths) kept() string { return filepath.Join(p.data, "resources") }

// copyResources gives the replicas resources, unless a former run did. They appear
// at once, or the replicas would take a part of them for all.
func (p paths) copyResources() error {
	if _, err := os.Stat(p.kept()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := p.kept() + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.CopyFS(part, os.DirFS(p.resources)); err != nil {
		return err
	}
	return os.Rename(part, p.kept())
}
