package kumatable

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// RowError says what is wrong with one row of a table.
type RowError struct {
	// Key is the row's key as it stands in the table; of format 4 the entry,
	// or the service where it is not known of which entry the row is.
	Key string
	// Line, from 1, and Offset, from 0 in bytes, are the place in the text.
	Line, Offset int
	// Kept says that the row was read all the same.
	Kept bool
	Err  error
}

// Error names the row and its place: the line, or the byte where the table is
// all in one line, as Kuma writes it.
func (e RowError) Error() string {
	if e.Line > 1 {
		return fmt.Sprintf("row %.80q, at line %d: %v", e.Key, e.Line, e.Err)
	}
	return fmt.Sprintf("row %.80q, at byte %d: %v", e.Key, e.Offset, e.Err)
}

// Unwrap returns what is wrong.
func (e RowError) Unwrap() error { return e.Err }

// errors returns what was set aside in the order of the text, which starts at
// base.
func (d *decoder) errors(base int) []RowError {
	slices.SortStableFunc(d.bad, func(x, y RowError) int { return cmp.Compare(x.Offset, y.Offset) })
	line, at := 1, 0
	for i := range d.bad {
		e := &d.bad[i]
		line += bytes.Count(d.text[at:e.Offset], []byte("\n"))
		at = e.Offset
		e.Line, e.Offset = line, e.Offset+base
	}
	return d.bad
}

// plainly puts an error of the JSON decoder in the words of tables.
func plainly(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	want := "an object"
	switch wrong.Type.Kind().String() {
	case "string":
		want = "text in quotes"
	case "slice":
		want = "a list"
	case "uint16":
		want = "a port from 0 to 65535"
	}
	if wrong.Field == "" {
		return fmt.Errorf("%s where %s belongs", wrong.Value, want)
	}
	return fmt.Errorf("%s: %s where %s belongs", wrong.Field, wrong.Value, want)
}

// errLossy says what [lossyText] is about.
var errLossy = errors.New("has bytes that are not UTF-8, so what was meant cannot be told")

// errForeignKind says of an entry that the tables of Kuma do not know its type.
func errForeignKind(kind fmt.Stringer, n int) error {
	return fmt.Errorf("tables of Kuma have no rows of type %d (%v), so this is none of its own: remove it", n, kind)
}
