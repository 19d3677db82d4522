//go:build !linux

package etcdtest

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }

// stopped trusts that SIGSTOP stops a process at once.
func stopped(int) (bool, error) { return true, nil }
