package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// maxCheckFile is the greatest file that a server reads, see
// [file.Options.MaxFile].
const maxCheckFile = 16 << 20

// asked is an entry in one mesh.
type asked struct {
	mesh string
	key  vip.Key
}

// reading is what resource files say, and what is wrong with them.
type reading struct {
	home     kuma.Home
	desired  *watcher.Desired
	findings []finding
	files    int
	paths    []string // of content
	// where is the first place that asks for an entry by itself, and missing the
	// first that names a mesh; the meshes that are declared are in declared.
	where    map[asked]string
	named    map[string]string
	declared map[string]bool
	real     map[string]bool // directories that were read
}

// newReading returns a reading of nothing. exists are meshes that count as
// declared.
func newReading(home kuma.Home, exists []string) *reading {
	r := &reading{
		home: home, desired: watcher.NewDesired(), where: make(map[asked]string), named: make(map[string]string),
		declared: map[string]bool{vip.DefaultMesh: true}, real: make(map[string]bool),
	}
	var meshes []watcher.Resource
	for _, mesh := range exists {
		meshes = append(meshes, watcher.Resource{ID: kuma.ID{Type: kuma.TypeMesh, Name: mesh}, Where: "--exists"})
		r.declared[mesh] = true
	}
	// Behind every path, so that a document that declares one comes first.
	r.desired.Put("\xff--exists", meshes)
	return r
}

// read reads the file or directory at path, or stdin for "-". The error says
// that there is nothing to read.
func (r *reading) read(path string, stdin io.Reader) error {
	if path == "-" {
		data, err := io.ReadAll(io.LimitReader(stdin, maxCheckFile+1))
		if err != nil {
			return unopened("reading standard input: %w", err)
		}
		r.content("stdin", data)
		return nil
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil {
		return unopened("%w: name a file or a directory of resources", err)
	}
	if !info.IsDir() {
		r.file(path, info)
		return nil
	}
	before := r.files
	if err := r.dir(path); err != nil {
		return unopened("%w: make the directory readable", err)
	}
	if r.files == before {
		r.fault(path, "holds no resource file (*.yaml, *.yml, *.json): a server would take that for a directory that was lost")
	}
	return nil
}

// dir reads a directory as the file source does: hidden files and what editors
// leave behind are skipped, links are followed, each real directory once.
func (r *reading) dir(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || r.real[real] {
		return err
	}
	r.real[real] = true
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		at := filepath.Join(path, e.Name())
		info, err := os.Stat(at)
		switch {
		case err != nil && (isResourceFile(e.Name()) || e.IsDir()):
			r.files++
			r.fault(at, "cannot be read: %v: make it readable, or remove it", err)
		case err != nil:
		case info.IsDir():
			if err := r.dir(at); err != nil {
				r.fault(at, "cannot be read: %v: make the directory readable", err)
			}
		case isResourceFile(e.Name()):
			r.file(at, info)
		}
	}
	return nil
}

// isResourceFile reports whether a server reads a file of this name.
func isResourceFile(name string) bool {
	return !strings.HasPrefix(name, "#") && !strings.HasPrefix(name, "~") &&
		slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

func (r *reading) file(path string, info fs.FileInfo) {
	r.files++
	switch {
	case !info.Mode().IsRegular():
		r.fault(path, "is no regular file (%v): put its resources into one, or remove it", info.Mode().Type())
		return
	case info.Size() > maxCheckFile:
		r.fault(path, "is larger than %d bytes: split it into several files", maxCheckFile)
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		r.fault(path, "cannot be read: %v: make it readable, or remove it", err)
		return
	}
	r.content(path, data)
}

// content reads what a file holds.
func (r *reading) content(path string, data []byte) {
	switch {
	case len(data) > maxCheckFile:
		r.fault(path, "is larger than %d bytes: split it", maxCheckFile)
		return
	case len(bytes.TrimSpace(data)) == 0:
		r.fault(path, "is empty, and a server would take it for one that was cut short: write a comment into it if it is meant to hold nothing")
		return
	}
	resources, invalid, err := kuma.Decode(data)
	if err != nil {
		r.fault(path, "%v (nothing of it counts)", err)
		return
	}
	var all []watcher.Resource
	for _, res := range resources {
		at := fmt.Sprintf("%s:%d", path, res.Line)
		read, problems, err := watcher.Read(res, at, r.home)
		if err != nil {
			invalid = append(invalid, kuma.Invalid{ID: res.ID, Line: res.Line, Err: err})
			continue
		}
		for _, p := range problems {
			level := levelError
			if remark := res.Remark(); remark != "" && strings.HasSuffix(p.What, remark) {
				level = levelWarning
			}
			r.findings = append(r.findings, finding{Level: level, Place: p.Place, What: p.What})
		}
		r.note(read)
		all = append(all, read)
	}
	for _, inv := range invalid {
		// An unknown type without a name: nothing of ours.
		if !errors.Is(inv.Err, kuma.ErrForeign) {
			r.fault(fmt.Sprintf("%s:%d", path, inv.Line), "%s: %v (it would be set aside)", inv.ID, inv.Err)
		}
	}
	r.paths = append(r.paths, path)
	r.desired.Put(path, all)
}

// note remembers where things are asked for.
func (r *reading) note(res watcher.Resource) {
	if res.Type == kuma.TypeMesh {
		r.declared[res.Name] = true
	}
	if res.Mesh != "" {
		first(r.named, res.Mesh, res.Where)
	}
	for _, c := range res.Claims {
		first(r.named, c.Mesh, res.Where)
		first(r.where, asked{c.Mesh, c.Entry.Key()}, res.Where)
	}
}

// first puts a value where there is none.
func first[K comparable](m map[K]string, key K, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// fault adds an error.
func (r *reading) fault(place, format string, args ...any) {
	r.findings = append(r.findings, finding{Level: levelError, Place: place, What: fmt.Sprintf(format, args...)})
}
