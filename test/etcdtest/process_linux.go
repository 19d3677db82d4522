package etcdtest

import (
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/meshvip/coredns-meshvip/test/figures"
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
		stat, err := figures.ReadStat(path)
		if err != nil {
			continue // a thread that has ended since
		}
		if stat[0] != "T" {
			return false, nil
		}
	}
	return true, nil
}
