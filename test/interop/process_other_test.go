//go:build !linux

package interop

import "syscall"

// attributes are those of every child: a group of its own, so that its children
// end with it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
