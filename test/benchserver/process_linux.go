package main

import "syscall"

// attributes are those of every child: a group of its own, so that Ctrl-C is ours
// to handle and its children end with it; and an end when we are killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
