package publish

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// open opens dir, or fails the test.
func open(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// files returns what stands in dir.
func files(t interface{ Fatal(...any) }, dir string) map[string]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		texts[e.Name()] = string(text)
	}
	return texts
}

func TestMissingDirectoryIsMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		open(t, path)
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o700 != 0o700 || info.Mode().Perm()&0o022 != 0 {
		t.Errorf("%v, %v; want a directory of mode 0755, less the umask", info, err)
	}
}

func TestDirectoryThatCannotBeIsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		_, err := Open(path)
		if err == nil || !strings.HasPrefix(err.Error(), "publish directory "+path+": ") || !strings.Contains(err.Error(), "move away the file") {
			t.Errorf("Open(%s): %v", path, err)
		}
	}
}

func TestWriteLeavesTwoFilesForAnybodyToRead(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	if err := open(t, path).Write("default", small()); err != nil {
		t.Fatal(err)
	}
	got := files(t, path)
	if len(got) != 2 || got["default.json"] != smallTable || got["default.outbounds.yaml"] != smallOutbounds {
		t.Errorf("files %q", got)
	}
	for name := range got {
		if info, err := os.Stat(filepath.Join(path, name)); err != nil || info.Mode() != 0o644 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestFileWithTheSameTextIsNotTouched(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := open(t, path)
	write := func() map[string]os.FileInfo {
		if err := d.Write("default", small()); err != nil {
			t.Fatal(err)
		}
		infos := make(map[string]os.FileInfo)
		for name := range files(t, path) {
			info, err := os.Stat(filepath.Join(path, name))
			if err != nil {
				t.Fatal(err)
			}
			infos[name] = info
		}
		return infos
	}
	write()
	long := time.Unix(1e9, 0)
	for _, name := range []string{"default.json", "default.outbounds.yaml"} {
		if err := os.Chtimes(filepath.Join(path, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	before, after := write(), write()
	for name, info := range after {
		if !info.ModTime().Equal(long) || !os.SameFile(info, before[name]) {
			t.Errorf("%s was written again, at %v", name, info.ModTime())
		}
	}
	// As long as before, and one byte another.
	damaged := strings.Replace(smallTable, "240.0.0.1", "240.0.0.7", 1)
	if err := os.WriteFile(filepath.Join(path, "default.json"), []byte(damaged), 0o644); err != nil {
		t.Fatal(err)
	}
	if write(); files(t, path)["default.json"] != smallTable {
		t.Error("a file with other text stays")
	}
}

func TestRemoveTakesOneMeshOnly(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := open(t, path)
	for _, mesh := range []string{"x", "x.outbounds", "X"} {
		if err := d.Write(mesh, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := d.Remove("x"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"%58.json", "%58.outbounds.yaml", "x.outbounds.json", "x.outbounds.outbounds.yaml"}
	if got := slices.Sorted(maps.Keys(files(t, path))); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	if got, err := d.Meshes(); err != nil || !slices.Equal(got, []string{"X", "x.outbounds"}) {
		t.Errorf("meshes %q, %v", got, err)
	}
	for _, mesh := range []string{"", strings.Repeat("a", 300)} {
		if err := d.Remove(mesh); err != nil {
			t.Errorf("mesh %.5q, which cannot have files: %v", mesh, err)
		}
	}
}

func TestMeshIsKnownByEitherOfItsFiles(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := open(t, path)
	for _, name := range []string{"a.json", "b.outbounds.yaml", "No.json", ".json", ".outbounds.yaml", "c.yaml", "README"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := d.Meshes(); err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("meshes %q, %v", got, err)
	}
}

func TestPublishedTablesAreReadBack(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		d, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		// The listings of meshes "a" and "b", under any names.
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 20, 60), 2, 2, rapid.ID[string]).Draw(t, "meshes")
		slices.Sort(names)
		rows := tables(texts()).Draw(t, "rows")
		for i, r := range rows {
			renamed := *r
			renamed.Listings = slices.Clone(r.Listings)
			for j, l := range renamed.Listings {
				renamed.Listings[j].Mesh = names[l.Mesh[0]-'a']
			}
			rows[i] = &renamed
		}
		for _, mesh := range names {
			if err := d.Write(mesh, rows); err != nil {
				t.Fatal(err)
			}
		}
		got, bad, err := d.Read()
		if err != nil || len(bad) > 0 || len(got) != len(names) {
			t.Fatalf("tables %v, set aside %v, error %v", got, bad, err)
		}
		for _, mesh := range names {
			if want, _ := stored(mesh, rows); !slices.EqualFunc(got[mesh], want, (*vip.Row).Equal) {
				t.Fatalf("mesh %q: %v came back as %v", mesh, want, got[mesh])
			}
		}
	})
}

func TestBadFilesAreSetAsideWithTheirName(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := open(t, path)
	for name, text := range map[string]string{
		"default.json":        smallTable,
		"empty.json":          "{}",
		"cut.json":            smallTable[:len(smallTable)/2],
		"zero.json":           "",
		"Prod.json":           "{}",
		"kuma.json":           `{"v":{"a":{"oe":[{"ap":[{"a":"240.0.0.1","o":"svc"},{"a":"10.0.0.1","o":"k8s"}]}]}}}`,
		"row.json":            `{"1:":{"address":"240.0.0.1"},"0:a":{"address":"240.0.0.2"}}`,
		"x.outbounds.yaml":    "[]",
		"notes.txt":           "x",
		".meshvip-x.tmp":      "x",
		".hidden.json":        "x",
		"default.json.backup": "x",
	} {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(path, "dir.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	huge := filepath.Join(path, "huge.json")
	if err := errors.Join(os.WriteFile(huge, nil, 0o644), os.Truncate(huge, maxTable+1)); err != nil { // a hole
		t.Fatal(err)
	}
	got, bad, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"default", "empty", "kuma", "row"}) {
		t.Errorf("tables of %q", names)
	}
	if len(got["default"]) != 4 || len(got["empty"]) != 0 || len(got["kuma"]) != 1 || len(got["row"]) != 1 {
		t.Errorf("tables %v", got)
	}
	want := []string{
		`Prod.json: the name is not that of a mesh; for mesh "Prod" it is %50rod.json`,
		`cut.json: table of mesh "cut": not a JSON object`,
		"dir.json: not a regular file",
		"huge.json: table of 536870913 bytes",
		`kuma.json: row "1:10.0.0.1": 10.0.0.1 is not an address to take up: it is the address of a Kubernetes Service`,
		`row.json: row "1:", at byte 1: `,
		`zero.json: table of mesh "zero": not a JSON object`,
	}
	if len(bad) != len(want) {
		t.Errorf("set aside: %v", bad)
	}
	for i := range min(len(bad), len(want)) {
		if !strings.HasPrefix(bad[i].Error(), path+string(filepath.Separator)+want[i]) {
			t.Errorf("set aside: %v; want %s", bad[i], want[i])
		}
	}
}

func TestEntriesSetAsideDoNotStopTheOthers(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	good := row(vip.Service, "m", "good", "240.0.0.1", "", serviceOutbound("good", 0))
	bad := row(vip.Service, "m", "\xff", "240.0.0.2", "", serviceOutbound("x", 0))
	err := open(t, path).Write("m", []*vip.Row{good, bad})
	if !errors.As(err, new(SetAside)) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), `"0:\xff"`) {
		t.Errorf("error %v", err)
	}
	for name, text := range files(t, path) {
		if !strings.Contains(text, "240.0.0.1") || strings.Contains(text, "240.0.0.2") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestGoneDirectoryIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "published")
	d := open(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, _, reading := d.Read()
	_, listing := d.Meshes()
	for what, err := range map[string]error{"Write": d.Write("m", small()), "Read": reading, "Meshes": listing} {
		if err == nil || errors.As(err, new(SetAside)) || !strings.Contains(err.Error(), "the directory "+path+" is gone, create it again") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := d.Remove("m"); err != nil {
		t.Errorf("Remove: %v", err)
	}
}

func TestMeshWithoutAFileNameIsNotWritten(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	for _, mesh := range []string{"", strings.Repeat("a", 300)} {
		if err := open(t, path).Write(mesh, small()); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("mesh %.5q: %v", mesh, err)
		}
	}
	if got := files(t, path); len(got) > 0 {
		t.Errorf("files %q", got)
	}
}
