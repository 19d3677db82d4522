package etcdtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// attributes are those of every etcd: it ends with the tests, however these end.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// stopped reports whether each thread of a process has stopped, which takes a
// moment after SIGSTOP.
func stopped(pid int) (bool, error) {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(stats) == 0 {
		return false, fmt.Errorf("process %d has no threads", pid)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // a thread that has ended since
		}
		// The state follows the name, which may hold anything, in parentheses.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), " ")
		if !strings.HasPrefix(rest, "T") {
			return false, nil
		}
	}
	return true, nil
}
