package interop

import "syscall"

// attributes are those of every child: a group of its own, so that its children
// end with it, and an end with the tests, however these end.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
