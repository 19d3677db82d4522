package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/meshvip/coredns-meshvip/kumatable"
	"github.com/meshvip/coredns-meshvip/vip"
)

// maxTable bounds the tables that are read, in bytes: some four times what a
// mesh of a million entries takes.
const maxTable = 512 << 20

// Read reads the table of every mesh, for a new store that takes the addresses
// up. It takes all of Kuma's formats: somebody may have put a table there. A
// table with no rows is in tables too.
//
// A file that cannot be read, or is not whole, is set aside, and so is a row: bad
// has an error for each that names it. Of rows with one key the first counts, in
// the order of [kumatable.Table]. Files with names that do not end in ".json", or
// that start with a dot, are none of ours. The error is that of a directory that
// cannot be listed.
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
	t, badRows, err := kumatable.Decode(mesh, data)
	if err != nil {
		return nil, nil, fmt.Errorf("table of mesh %q: %w", mesh, err)
	}
	for _, e := range badRows {
		bad = append(bad, e)
	}
	for _, f := range t.Foreign {
		bad = append(bad, fmt.Errorf("row %.80q: %v is not an address to take up: %s", f.Entry, f.Addr, f.Why))
	}
	rows, twice := distinct(t.Rows)
	return rows, append(bad, twice...), nil
}

// distinct sets aside what is there twice in rows that are sorted by key.
func distinct(rows []*vip.Row) ([]*vip.Row, []error) {
	var bad []error
	kept := rows[:0]
	for _, r := range rows {
		if n := len(kept); n > 0 && kept[n-1].Key() == r.Key() {
			bad = append(bad, fmt.Errorf("row %.80q: the table has the entry already, as %.80q with the address %v", r.Entry, kept[n-1].Entry, kept[n-1].Addrs()))
			continue
		}
		kept = append(kept, r)
	}
	return kept, bad
}
