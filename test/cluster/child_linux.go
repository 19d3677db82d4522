package main

import "syscall"

// attributes are those of every child: a group of its own, and an end with this
// process, however that ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
