package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// maxTable bounds the tables that are read, in bytes: some four times what a
// mesh of a million entries takes.
const maxTable = 512 << 20

// Dir is a directory that tables are published to. Its methods may be called
// by several goroutines, for one mesh by one at a time.
type Dir struct{ path string }

// Open opens the directory, which it creates with its parents, mode 0755, where
// it is missing, and removes temporary files that a crash left there. It reads
// the directory's list of names, so its cost grows with the meshes: open once.
// The error names the directory and what to do. There is nothing to close.
func Open(dir string) (*Dir, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("publish directory %s: %w%s", dir, err, remedy(dir, err))
	}
	d := &Dir{path: dir}
	entries, err := d.entries()
	if err != nil {
		return nil, err
	}
	sweep(dir, entries)
	return d, nil
}

// Write replaces the two files of mesh by what rows, which are sorted by key,
// say: see [EncodeTable] and [EncodeOutbounds]. They are on disk on return, mode
// 0644; a file that has the same text already is not touched. An error that is
// a [SetAside] says that both were written and what they lack; any other names
// the file that was not written and what to do, and a file that was there is
// as it was.
func (d *Dir) Write(mesh string, rows []*vip.Row) error {
	s, err := stem(mesh)
	if err != nil {
		return fmt.Errorf("publishing to %s: %w", d.path, err)
	}
	table, aside := EncodeTable(mesh, rows)
	outbounds, _ := EncodeOutbounds(mesh, rows) // leaves the same rows out
	tableChanged, err := replace(d.path, s+tableSuffix, table)
	if err != nil {
		return fmt.Errorf("publishing mesh %q: %w", mesh, err)
	}
	outboundsChanged, err := replace(d.path, s+outboundsSuffix, outbounds)
	if err != nil {
		return fmt.Errorf("publishing mesh %q: %w", mesh, err)
	}
	if tableChanged || outboundsChanged {
		if err := syncDir(d.path); err != nil {
			return fmt.Errorf("publishing mesh %q: %w", mesh, err)
		}
	}
	if aside != nil {
		return fmt.Errorf("publishing mesh %q to %s: %w", mesh, d.path, aside)
	}
	return nil
}

// Remove removes the two files of mesh. It is no error if they are not there.
func (d *Dir) Remove(mesh string) error {
	s, err := stem(mesh)
	if err != nil {
		return nil // it never had files
	}
	removed := false
	for _, suffix := range []string{outboundsSuffix, tableSuffix} {
		err := os.Remove(filepath.Join(d.path, s+suffix))
		switch {
		case err == nil:
			removed = true
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("withdrawing mesh %q: %w%s", mesh, err, remedy(d.path, err))
		}
	}
	if removed {
		if err := syncDir(d.path); err != nil {
			return fmt.Errorf("withdrawing mesh %q: %w", mesh, err)
		}
	}
	return nil
}

// Read reads the table of every mesh, for a new store that takes the addresses
// up. A table with no rows is in tables too. Files and rows that cannot be read
// are set aside: bad has an error for each that names it. Files with names that
// do not end in ".json", or that start with a dot, are none of ours. The error
// is that of a directory that cannot be listed.
func (d *Dir) Read() (tables map[string][]*vip.Row, bad []error, err error) {
	entries, err := d.entries()
	if err != nil {
		return nil, nil, err
	}
	tables = make(map[string][]*vip.Row)
	for _, e := range entries {
		s, ok := strings.CutSuffix(e.Name(), tableSuffix)
		if !ok || strings.HasPrefix(s, ".") {
			continue
		}
		path := filepath.Join(d.path, e.Name())
		mesh, err := meshOf(s)
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", path, err))
			continue
		}
		rows, badRows, err := readTable(mesh, path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed since it was listed
		case err != nil:
			bad = append(bad, fmt.Errorf("%s: %w", path, err))
		default:
			tables[mesh] = rows
		}
		for _, err := range badRows {
			bad = append(bad, fmt.Errorf("%s: %w", path, err))
		}
	}
	return tables, bad, nil
}

// Meshes returns the meshes that have a file here, sorted. A server that was
// killed between a commit and its [Dir.Remove] finds out by it what to remove.
func (d *Dir) Meshes() ([]string, error) {
	entries, err := d.entries()
	if err != nil {
		return nil, err
	}
	var meshes []string
	for _, e := range entries {
		for _, suffix := range []string{tableSuffix, outboundsSuffix} {
			if s, ok := strings.CutSuffix(e.Name(), suffix); ok {
				if mesh, err := meshOf(s); err == nil {
					meshes = append(meshes, mesh)
				}
			}
		}
	}
	slices.Sort(meshes)
	return slices.Compact(meshes), nil
}

// entries lists the directory, sorted by name.
func (d *Dir) entries() ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("publish directory %s: %w%s", d.path, err, remedy(d.path, err))
	}
	return entries, nil
}

// readTable reads one file. It opens regular files only: a pipe would block.
func readTable(mesh, path string) (rows []*vip.Row, bad []error, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("not a regular file")
	}
	if info.Size() > maxTable {
		return nil, nil, fmt.Errorf("table of %d bytes, of %d at most", info.Size(), maxTable)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	return DecodeTable(mesh, data)
}
