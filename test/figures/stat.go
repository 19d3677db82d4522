package figures

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit of times in /proc: 1/100 s wherever Linux has a user space.
const Tick = 10 * time.Millisecond

// Stat is what /proc/PID/stat says of a process, from its state on: see proc(5).
type Stat []string

// ReadStat reads the file of a process.
func ReadStat(path string) (Stat, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	// The name before the last parenthesis may hold anything.
	s := Stat(strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])))
	if len(s) < 13 {
		return nil, fmt.Errorf("%s has %d fields", path, len(s))
	}
	return s, nil
}

// ProcessorTime is utime and stime together.
func (s Stat) ProcessorTime() (time.Duration, error) {
	var ticks uint64
	for _, field := range s[11:13] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * Tick, nil
}
