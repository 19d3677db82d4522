//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// env says where to die.
const env = "MESHVIP_FAILPOINT"

// death is where, when and how to die.
type death struct {
	name  string
	hit   int64
	pause time.Duration
}

var (
	planned = parse(os.Getenv(env))
	hits    atomic.Int64 // of the planned point so far
)

// parse reads NAME:N or NAME:N:DURATION. It panics on anything else: a test
// that kills nothing must not pass for one that found nothing.
func parse(s string) (d death) {
	if s == "" {
		return death{}
	}
	fields := strings.Split(s, ":")
	var err error
	if len(fields) > 1 {
		d.name = fields[0]
		d.hit, err = strconv.ParseInt(fields[1], 10, 64)
	}
	if len(fields) == 3 && err == nil {
		d.pause, err = time.ParseDuration(fields[2])
	}
	if err != nil || d.name == "" || d.hit < 1 || len(fields) > 3 {
		panic(fmt.Sprintf("%s=%q is neither NAME:N nor NAME:N:DURATION", env, s))
	}
	return d
}

// Hit marks a point at which a test can kill the process.
func Hit(name string) {
	if name != planned.name || hits.Add(1) != planned.hit {
		return
	}
	time.Sleep(planned.pause)
	fmt.Fprintln(os.Stderr, "failpoint", name)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	for { // the signal may find another thread first
		time.Sleep(time.Hour)
	}
}
