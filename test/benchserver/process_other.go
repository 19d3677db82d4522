//go:build !linux

package main

import "syscall"

// attributes are those of every child: a group of its own, so that Ctrl-C is ours
// to handle and its children end with it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
