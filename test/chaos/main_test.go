package chaos

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/binary"
	"github.com/meshvip/coredns-meshvip/test/loopback"
)

// patience bounds every wait of these tests. It is only reached when something
// is broken.
const patience = 90 * time.Second

// top is the top of the repository.
var top = binary.Top

// ownPorts are those of this package's tests.
var ownPorts = loopback.Ports{First: 2_000, Count: 2_000}

var buildDir string

func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "meshvip-chaos"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// coredns builds the server once, and returns its path.
var coredns = sync.OnceValues(func() (string, error) { return binary.CoreDNS(buildDir, "") })

// eventually waits until cond holds, and fails the test if it does not in time.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}
