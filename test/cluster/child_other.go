//go:build !linux

package main

import "syscall"

// attributes are those of every child: a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
