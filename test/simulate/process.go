package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

// heap returns the bytes in use after a collection.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// written returns how many bytes this process has written to files since it began,
// 0 where the system does not tell.
func written() int {
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var n int
		if _, err := fmt.Sscanf(line, "wchar: %d", &n); err == nil {
			return n
		}
	}
	return 0
}

// processor returns the processor time that a process has used, "self" or by its
// number: what other work on the machine disturbs least. It is 0 where the system
// does not tell.
func processor(pid string) time.Duration {
	stat, err := figures.ReadStat("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	used, _ := stat.ProcessorTime() // they are numbers
	return used
}
