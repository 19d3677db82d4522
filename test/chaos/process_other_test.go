//go:build !linux

package chaos

import "syscall"

func diesWithParent() *syscall.SysProcAttr { return nil }
