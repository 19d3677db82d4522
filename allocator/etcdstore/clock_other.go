//go:build !linux

package etcdstore

import "time"

// now is a clock that nobody sets.
func now() time.Duration { return time.Since(started) }

var started = time.Now()
