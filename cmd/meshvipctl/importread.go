package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/meshvip/coredns-meshvip/kumatable"
	"github.com/meshvip/coredns-meshvip/vip"
)

// tablesRead are Kuma's tables as files have them.
type tablesRead struct {
	tables  []kumatable.Table
	skipped int
	// bad rows were set aside, odd ones were read all the same, and of broken
	// files something is missing.
	bad, odd, broken []string
}

// readTables reads tables of Kuma's. mesh is that of tables whose names do not
// tell it.
func (s *session) readTables(paths []string, mesh string) tablesRead {
	p := s.progress("reading tables", 0)
	defer p.end()
	p.at(0)
	in := kumatable.Reader{Mesh: mesh, Stdin: s.in}.Read(paths...)
	r := tablesRead{tables: in.Tables, skipped: in.Skipped}
	for _, err := range in.Errors {
		var row kumatable.RowError
		switch {
		case !errors.As(err, &row):
			r.broken = append(r.broken, err.Error())
		case row.Kept:
			r.odd = append(r.odd, shortened(err.Error()))
		default:
			r.bad = append(r.bad, shortened(err.Error()))
		}
	}
	return r
}

// shownValue is how much is shown of a value that is not understood.
const shownValue = 40

// quoted is a value in a message, as %q writes it.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// shortened returns a message with its quoted values cut, for a row may have
// anything where a short word belongs.
func shortened(message string) string {
	return quoted.ReplaceAllStringFunc(message, func(q string) string {
		value := q[1 : len(q)-1]
		if columns(value) <= shownValue {
			return q
		}
		return `"` + strings.TrimRight(string([]rune(value)[:shownValue-1]), `\`) + `…"`
	})
}

// empty reports whether no table has a row that could be read.
func (r tablesRead) empty() bool {
	for _, t := range r.tables {
		if len(t.Rows) > 0 {
			return false
		}
	}
	return true
}

// rows returns the rows of all tables.
func (r tablesRead) rows() []*vip.Row {
	n := 0
	for _, t := range r.tables {
		n += len(t.Rows)
	}
	rows := make([]*vip.Row, 0, n)
	for _, t := range r.tables {
		rows = append(rows, t.Rows...)
	}
	return rows
}

// forgetRows lets go of the rows, for which somebody else cares.
func (r tablesRead) forgetRows() {
	for i := range r.tables {
		r.tables[i].Rows = nil
	}
}

// tell notes what is wrong with the tables.
func (r tablesRead) tell(s *session) {
	for _, list := range [][]string{r.broken, r.bad, r.odd} {
		for _, text := range list {
			s.note("%s", printable(text))
		}
	}
	if r.skipped > 0 {
		s.note("passed over, for they are no tables of virtual IPs: %d files, resources or rows", r.skipped)
	}
}
