package kumatable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	// maxInput bounds a file, in bytes: some eight times what a mesh of a
	// million entries takes.
	maxInput = 1 << 30
	// maxYAML bounds a file of YAML, which takes some ten times its size to
	// read.
	maxYAML = 64 << 20
)

// errTooLarge is that of a file above maxInput.
var errTooLarge = fmt.Errorf("more than %d bytes: read it in parts", maxInput)

// Reader reads tables from files. What a file holds is told by its content:
//
//   - one table as it stands in a Config, whose mesh the file's name tells
//     (kuma-MESH-dns-vips, with any extension or none, or MESH.json);
//   - ConfigMaps, alone or in a List, as kubectl get -o yaml or -o json prints
//     them, other ConfigMaps beside them;
//   - Configs of Kuma, as YAML or JSON: {type: Config, name: …, config: "…"};
//   - rows of Kuma's database: what psql prints for [Query], unaligned, aligned
//     or as CSV, or those rows as JSON.
//
// A file may hold several of a kind. Of a directory the files are read whose
// name may be that of one, and not those of directories below.
//
// A file is read as a whole, up to 1 GiB; of YAML, which takes the most memory,
// up to 64 MiB.
type Reader struct {
	// Mesh is the mesh of bare tables, and of the table of all meshes. "" takes
	// the one that the file's name tells, or "default" for all meshes.
	Mesh string
	// Stdin is what "-" stands for; nil for the process's own.
	Stdin io.Reader
}

// Reading is what was found in files.
type Reading struct {
	// Tables are in the order of the files. There may be several of one mesh.
	Tables []Table
	// Skipped is how many resources, rows and files beside them are none of
	// Kuma's tables.
	Skipped int
	// Errors name the file, and where they are of one row ([RowError]) the
	// table and the row. What they do not speak of was read.
	Errors []error
}

// ReadAll reads files and directories, "-" for the standard input, with a
// [Reader] that is told nothing more.
func ReadAll(paths ...string) Reading { return Reader{}.Read(paths...) }

// Read reads files and directories; "-" is the standard input. A file that is
// named may be a pipe.
func (r Reader) Read(paths ...string) Reading {
	in := &input{Reader: r}
	for _, path := range paths {
		in.path(path)
	}
	return in.Reading
}

// input is a reading under way.
type input struct {
	Reader
	Reading
	nesting int // of lists
}

func (in *input) fail(from string, err error) {
	in.Errors = append(in.Errors, fmt.Errorf("%s: %w", from, err))
}

// path reads what stands at a path.
func (in *input) path(path string) {
	if path == "-" {
		stdin := in.Stdin
		if stdin == nil {
			stdin = os.Stdin
		}
		in.stream("standard input", "", stdin)
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		in.Errors = append(in.Errors, err) // it has the path
	case info.IsDir():
		in.directory(path)
	default:
		in.file(path)
	}
}

// directory reads the files of a directory, sorted by name.
func (in *input) directory(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		in.Errors = append(in.Errors, err)
		return
	}
	found := false
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !worthReading(e.Name()) {
			in.Skipped++
			continue
		}
		// A ConfigMap that is mounted is a directory of links.
		if info, err := os.Stat(path); err != nil {
			in.Errors = append(in.Errors, err)
			continue
		} else if !info.Mode().IsRegular() {
			in.Skipped++
			continue
		}
		found = true
		in.file(path)
	}
	if !found {
		in.fail(dir, fmt.Errorf("no file in it has a name by which it may hold a table: %s, or one that ends in %q", ConfigName("MESH"), extensions))
	}
}

// file reads a file that is no directory.
func (in *input) file(path string) {
	f, err := os.Open(path)
	if err != nil {
		in.Errors = append(in.Errors, err)
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxInput {
		in.fail(path, errTooLarge)
		return
	}
	in.stream(path, path, f)
}

// stream reads to the end of a stream. file is its name, "" if it has none.
func (in *input) stream(from, file string, r io.Reader) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(data) > maxInput {
		err = errTooLarge
	}
	if err != nil {
		in.fail(from, err)
		return
	}
	in.content(source{from, file}, data)
}

// source says where a text is from, for errors, and by which name of a file, ""
// if it has none, a bare table is known.
type source struct{ from, file string }

// within returns the source of a part.
func (s source) within(part string) source { return source{s.from + ": " + part, s.file} }

// bare reads the text of a table that stands alone.
func (in *input) bare(s source, text []byte) {
	mesh, global := in.Mesh, false
	if s.file != "" {
		named, err := meshOfFile(s.file)
		if err != nil && mesh == "" {
			in.fail(s.from, err)
			return
		}
		if global = err == nil && named == ""; !global && mesh == "" {
			mesh = named
		}
	} else if mesh == "" {
		in.fail(s.from, errors.New("a table does not say of which mesh it is: say mesh=NAME"))
		return
	}
	in.table(s, orDefault(mesh), global, text)
}

// named reads the text of a table by its name, where it is one.
func (in *input) named(s source, name string, text []byte) {
	mesh, ok := meshOfConfig(name)
	if !ok {
		in.Skipped++
		return
	}
	global := mesh == ""
	if global {
		mesh = orDefault(in.Mesh)
	}
	in.table(s.within(name), mesh, global, text)
}

// table takes up the table of mesh. Kuma has a Config without a text for a mesh
// that has no entries.
func (in *input) table(s source, mesh string, global bool, text []byte) {
	t, bad, err := Table{Mesh: mesh, Format: 3}, []RowError(nil), error(nil)
	if len(text) > 0 {
		t, bad, err = Decode(mesh, text)
	}
	if global && t.Format == 1 {
		t.Format = 0
	}
	t.From, t.Broken = s.from, err
	for _, e := range bad {
		in.fail(s.from, e)
	}
	if err != nil {
		in.fail(s.from, fmt.Errorf("table of mesh %q: %w; %d of its rows come before that", mesh, err, len(t.Rows)))
	}
	in.Tables = append(in.Tables, t)
}
