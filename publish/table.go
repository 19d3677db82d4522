package publish

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// EncodeTable returns mesh's part of the table in Kuma's format 3, a JSON
// object with one row a line, which ends in a newline. rows are sorted by key,
// and so is the text; rows that mesh does not list are left out. A row has the
// mesh's own spelling and outbounds, and its IPv4 address, or else its IPv6
// one; a row that waits for an address has none. Kinds that are keyed by their
// mesh are left out, since the format does not know them.
//
// Entries that JSON cannot carry are left out and told in an error of type
// [SetAside], beside which the text stands. There is no other error.
func EncodeTable(mesh string, rows []*vip.Row) ([]byte, error) {
	var b bytes.Buffer
	sep := "{\n  "
	aside := listed(mesh, rows, func(r *vip.Row, l vip.Listing) {
		b.WriteString(sep)
		writeRow3(&b, r, l)
		sep = ",\n  "
	})
	if b.Len() == 0 {
		b.WriteString("{}\n")
	} else {
		b.WriteString("\n}\n")
	}
	return b.Bytes(), aside.asError()
}

// DecodeTable reads a table in Kuma's format 3, that of [EncodeTable] or of
// Kuma itself. The rows are sorted by key and have one listing, mesh's. A row
// without an address waits for one.
//
// A row that cannot be read, or of a kind that the format does not know, is set
// aside: bad has an error for it that names its key. Of two rows with one key the one that has an address is taken, or
// else the first spelling in sort order. The addresses are not judged: two rows
// may claim one.
//
// A document that is no table of format 3 is an error.
func DecodeTable(mesh string, data []byte) (rows []*vip.Row, bad []error, err error) {
	members, err := readObject(data)
	if err != nil {
		return nil, nil, fmt.Errorf("table of mesh %q: %w", mesh, err)
	}
	if f := format(members); f != "3" {
		return nil, nil, fmt.Errorf("table of mesh %q: it is of Kuma's format %s, and only format 3 can be read", mesh, f)
	}
	lossy := lossyText(data)
	for _, m := range members {
		r, err := readRow3(mesh, m, lossy)
		if err != nil {
			bad = append(bad, fmt.Errorf("row %.80q: %w", m.key, err))
			continue
		}
		rows = append(rows, r)
	}
	rows, twice := distinct(rows)
	return rows, append(bad, twice...), nil
}

// format tells which of Kuma's formats a table has. Where it is not plain that
// it is another one it is format 3, so that one odd row does not decide.
func format(members []member) string {
	if len(members) == 0 {
		return "3"
	}
	if len(members) == 1 && members[0].key == "v" {
		return "4"
	}
	for _, m := range members {
		if m.raw[0] != '"' {
			return "3"
		}
	}
	for _, m := range members {
		if _, err := vip.ParseEntry(m.key); err == nil {
			return "2"
		}
	}
	return "1"
}

// distinct sorts rows by key and sets aside what is there twice.
func distinct(rows []*vip.Row) ([]*vip.Row, []error) {
	waits := func(r *vip.Row) int { return 1 - min(1, len(r.Addrs())) }
	slices.SortStableFunc(rows, func(x, y *vip.Row) int {
		return cmp.Or(x.Key().Compare(y.Key()), cmp.Compare(waits(x), waits(y)), strings.Compare(x.Entry.Name, y.Entry.Name))
	})
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
