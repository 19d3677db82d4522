package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/kumatable"
)

func TestTheHelpOfImportHasTheQueryThatTablesAreReadBy(t *testing.T) {
	t.Parallel()
	long := strings.Join(strings.Fields(importCommand(&session{}).Long), " ")
	if !strings.Contains(long, kumatable.Query) {
		t.Errorf("the help lacks %s", kumatable.Query)
	}
}

func TestWhatAFileHoldsIsToldByItsContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		text string
		want fileKind
	}{
		"backup.db":  {backupHead + `,"version":1}` + "\n", kindBackup},
		"table.db":   {`{"0:api":{}}`, kindTable},
		"maps.yaml":  {"kind: List\n", kindTable},
		"store.json": {"\x00\x00\x00\x00", kindStore},
		"empty.db":   {"", kindStore},
		"empty.json": {"", kindTable},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := kindOf(path); got != tc.want || err != nil {
			t.Errorf("%s is taken for kind %d, %v; want %d", name, got, err, tc.want)
		}
	}
}

func TestAServerIsToldFromAFileByItsName(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a:1")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"unix:/run/x.sock": true, "http://host:1": true, "127.0.0.1:9253": true, "[::1]:9253": true,
		"meshvip.db": false, "-": false, file: false,
	} {
		if isServer(name) != want {
			t.Errorf("%s is taken for a server: %v", name, !want)
		}
	}
}

func TestAnOldStoreIsKeptUnderANameThatNobodyHas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, kept := filepath.Join(dir, "meshvip.db"), filepath.Join(dir, "meshvip.db.before")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := keepFile(path, kept); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".x"); err != nil { // another takes its place
		t.Fatal(err)
	}
	if b, err := os.ReadFile(kept); string(b) != "old" || err != nil {
		t.Errorf("kept is %q, %v", b, err)
	}
	if err := keepFile(path+".x", kept); err == nil {
		t.Error("an older one that was kept is gone")
	}
}

func TestAFileIsReplacedAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out.json")
	for _, tc := range []struct {
		text string
		err  error
		want string
	}{{"one", nil, "one"}, {"two", os.ErrInvalid, "one"}, {"three", nil, "three"}} {
		err := replaceFile(path, writeThen(tc.text, tc.err))
		if (err != nil) != (tc.err != nil) {
			t.Errorf("%s: %v", tc.text, err)
		}
		if b, err := os.ReadFile(path); string(b) != tc.want || err != nil {
			t.Errorf("the file is %q, %v; want %q", b, err, tc.want)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 || err != nil {
			t.Errorf("left are %q, %v", left, err)
		}
	}
	if hidden, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(hidden) != 0 || err != nil {
		t.Errorf("left are %q, %v", hidden, err)
	}
}

// writeThen writes text and returns err.
func writeThen(text string, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		_, werr := io.WriteString(w, text)
		return cmp.Or(err, werr)
	}
}

func TestValuesInMessagesAreCutShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 60)
	for in, want := range map[string]string{
		`row "a", at byte 7: wrong`:                       `row "a", at byte 7: wrong`,
		`row "` + long + `": "b" and "` + long[:80] + `"`: `row "` + long[:78] + `…": "b" and "` + long[:80] + `"`,
		`"` + strings.Repeat("a", 38) + `\"bbb" x`:        `"` + strings.Repeat("a", 38) + `…" x`,
	} {
		if got := shortened(in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}
