package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
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

// processorTick is the unit of times in /proc: 1/100 s wherever Linux has a user
// space.
const processorTick = 10 * time.Millisecond

// processor returns the processor time that a process has used, "self" or by its
// number: what other work on the machine disturbs least. It is 0 where the system
// does not tell.
func processor(pid string) time.Duration {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	// The name before the last parenthesis may hold anything.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	var ticks int
	for _, f := range fields[11:13] { // utime and stime of proc(5), from the state on
		n, _ := strconv.Atoi(f) // it is a number
		ticks += n
	}
	return time.Duration(ticks) * processorTick
}
