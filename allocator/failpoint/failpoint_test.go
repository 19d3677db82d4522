package failpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	hit    = regexp.MustCompile(`\bfailpoint\.Hit\(([^)]*)\)`)
	listed = regexp.MustCompile(`(?m)^//\t([a-z-]+) {2,}\S`)
)

// hits returns the argument of every call of Hit in the module, as it is
// written, tests aside.
func hits(t *testing.T) []string {
	t.Helper()
	var args []string
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range hit.FindAllSubmatch(text, -1) {
			args = append(args, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return args
}

func TestEveryPointIsListedAndStandsAtOnePlace(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range listed.FindAllSubmatch(doc, -1) {
		want = append(want, `"`+string(m[1])+`"`)
	}
	got := hits(t)
	slices.Sort(want)
	slices.Sort(got)
	if len(want) == 0 || !slices.Equal(want, got) {
		t.Errorf("doc.go lists\n%v\nand the code has\n%v", want, got)
	}
}
