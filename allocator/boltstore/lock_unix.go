//go:build unix && !solaris && !aix

package boltstore

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// lockPause is how long to wait between two attempts to lock a file, as bbolt
// does.
const lockPause = 50 * time.Millisecond

// lockFile locks a file as bbolt does, so that no process has it open as a store
// until unlock is called. It does not look at what is in it.
func lockFile(path string, timeout time.Duration) (unlock func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(timeout); ; time.Sleep(lockPause) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, errors.Join(err, f.Close())
		case time.Now().After(deadline):
			return nil, errors.Join(allocator.ErrLocked, f.Close())
		}
	}
}
