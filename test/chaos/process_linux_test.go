package chaos

import "syscall"

// diesWithParent ends a process when that of the test does, however that ends.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
