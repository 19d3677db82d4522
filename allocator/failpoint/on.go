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

// env names the point and the hit at which to die.
const env = "MESHVIP_FAILPOINT"

var (
	deadly, hits = parse(os.Getenv(env))
	seen         atomic.Int64 // hits of deadly so far
)

// parse reads NAME:N. It panics on anything else: a test that kills nothing
// must not pass for one that found nothing.
func parse(s string) (name string, n int64) {
	if s == "" {
		return "", 0
	}
	name, count, _ := strings.Cut(s, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 || name == "" {
		panic(fmt.Sprintf("%s=%q is not NAME:N", env, s))
	}
	return name, n
}

// Hit marks a point at which a test can kill the process.
func Hit(name string) {
	if name != deadly || seen.Add(1) != hits {
		return
	}
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
