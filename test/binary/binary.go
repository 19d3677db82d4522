// Package binary builds the server for tests.
package binary

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Top is the top of the repository.
var Top = func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}()

// CoreDNS builds cmd/coredns from this tree with a build tag, or none, under the
// race detector if MESHVIP_TEST_RACE is set. It returns the path of the program,
// which is in dir.
func CoreDNS(dir, tag string) (string, error) {
	if err := look(); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "coredns"+tag)
	args := []string{"build", "-buildvcs=false", "-tags", tag, "-o", path}
	if os.Getenv("MESHVIP_TEST_RACE") != "" {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/coredns")...)
	cmd.Dir = Top
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building cmd/coredns: %w\n%s", err, out)
	}
	return path, nil
}

// look looks at all directories that the program may be built of: "go test" looks
// at them again before it takes a result from its cache.
func look() error {
	return filepath.WalkDir(Top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == Top {
			return err
		}
		switch name := d.Name(); {
		case path == filepath.Join(Top, "bin"), path == filepath.Join(Top, "data"), name == "testdata", strings.HasPrefix(name, "."):
			return fs.SkipDir
		}
		return nil
	})
}
