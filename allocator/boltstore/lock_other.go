//go:build !unix || solaris || aix

package boltstore

import (
	"errors"
	"fmt"
	"time"
)

// lockFile cannot tell here whether a process has the file open.
func lockFile(string, time.Duration) (unlock func(), err error) {
	return nil, fmt.Errorf("replacing a store: %w: move it away first", errors.ErrUnsupported)
}
