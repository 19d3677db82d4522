package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/kumatable"
	"github.com/meshvip/coredns-meshvip/vip"
)

// Dir is a directory that tables are published to. Its methods may be called
// by several goroutines, for one mesh by one at a time.
type Dir struct {
	path    string
	options Options
}

// Open opens the directory, which it creates with its parents, mode 0755, where
// it is missing, and removes temporary files that a crash left there. It reads
// the directory's list of names, so its cost grows with the meshes: open once.
// Options, one at most, say which outbounds are written; without them it is those
// of services, hosts and fqdns. The error names the directory and what to do.
// There is nothing to close.
func Open(dir string, options ...Options) (*Dir, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("publish directory %s: %w%s", dir, err, remedy(dir, err))
	}
	d := &Dir{path: dir, options: optionsOf(options)}
	entries, err := d.entries()
	if err != nil {
		return nil, err
	}
	sweep(dir, entries)
	return d, nil
}

// Write replaces the two files of mesh by what rows, which are sorted by key,
// say: see [kumatable.Encode3] and [EncodeOutbounds]. They are on disk on return, mode
// 0644; a file that has the same text already is not touched. An error that is
// a [SetAside] says that both were written and what they lack; any other names
// the file that was not written and what to do, and a file that was there is
// as it was.
func (d *Dir) Write(mesh string, rows []*vip.Row) error {
	s, err := stem(mesh)
	if err != nil {
		return fmt.Errorf("publishing to %s: %w", d.path, err)
	}
	table, lacks := kumatable.Encode3(mesh, rows)
	outbounds, lacksToo := EncodeOutbounds(mesh, rows, d.options)
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
	if aside := both(lacks, lacksToo); aside != nil {
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
