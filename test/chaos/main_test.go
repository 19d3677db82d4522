package chaos

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/loopback"
)

// patience bounds every wait of these tests. It is only reached when something
// is broken.
const patience = 90 * time.Second

// top is the top of the repository.
var top = func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}()

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

// binary builds cmd/coredns from this tree once, under the race detector if
// MESHVIP_TEST_RACE is set, and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	// "go test" looks again at the directories that are read here before it takes a
	// result from its cache.
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != top && (d.Name() == "bin" || d.Name() == "data" || d.Name()[0] == '.') {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(buildDir, "coredns")
	args := []string{"build", "-buildvcs=false", "-o", path}
	if os.Getenv("MESHVIP_TEST_RACE") != "" {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/coredns")...)
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building cmd/coredns: %w\n%s", err, out)
	}
	return path, nil
})

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
