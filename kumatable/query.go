package kumatable

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Query finds the tables in the database of a Kuma that keeps its resources in
// Postgres. What psql prints for it is what [Reader] reads, whether unaligned
// (-A), aligned, or as --csv; with -t, or with the heading:
//
//	psql -At -c "QUERY" kuma > tables.txt
//
// The table resources has a row for each resource. A Config has no mesh; its
// column spec is a text, {"config":"…"}, in which the table is a string.
const Query = `select name, spec from resources where type = 'Config' and name like 'kuma-%dns-vips' order by name`

// QueryJSON is Query with an answer that is one JSON list, for programs that
// print it as it is.
const QueryJSON = `select json_agg(r) from (` + Query + `) r`

var (
	// queriedLine finds the name in a row of the answer, however it is
	// separated from the spec.
	queriedLine = regexp.MustCompile(`^\s*"?([^\s"|,;{]+)"?\s*[|,;\t]`)
	// queriedHeading is the line above the rows.
	queriedHeading = regexp.MustCompile(`^\s*"?name"?\s*[|,;\t]\s*.*"?spec"?`)
	// queriedFrame is what psql draws around them.
	queriedFrame = regexp.MustCompile(`^(\s*[-+]+\s*|\(\d+ rows?\)|Time: .*)$`)
)

// looksQueried reports whether a text is an answer of psql, by its first line.
func looksQueried(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if queriedHeading.Match(line) || bytes.Equal(bytes.TrimSpace(line), []byte("(0 rows)")) {
		return true
	}
	m := queriedLine.FindSubmatch(line)
	return m != nil && bytes.IndexByte(line, '{') > 0 && (bytes.HasPrefix(m[1], []byte("kuma-")) || bytes.Contains(line, []byte(`config"`)))
}

// queried reads an answer of psql.
func (in *input) queried(s source, text []byte) {
	found := len(in.Tables)
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if heading, _, _ := bytes.Cut(line, []byte("{")); bytes.IndexByte(heading, ',') >= 0 {
		in.queriedCSV(s, text)
	} else {
		in.queriedLines(s, text)
	}
	if len(in.Tables) == found && len(in.Errors) == 0 {
		in.fail(s.from, errors.New("the query found no table: is this the database of a zone, or of a control plane that gives addresses?"))
	}
}

// queriedLines reads rows of one line each. They need no separator: the spec is
// the first JSON object.
func (in *input) queriedLines(s source, text []byte) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(line)) == 0 || queriedFrame.Match(line) || queriedHeading.Match(line) {
			continue
		}
		m := queriedLine.FindSubmatch(line)
		brace := bytes.IndexByte(line, '{')
		if m == nil || brace < 0 {
			in.fail(s.from, fmt.Errorf("line %d: %.40q is no row with a name and a spec", n, line))
			continue
		}
		scan := scanner{text: line, pos: brace}
		if err := scan.value(); err != nil {
			scan.pos = len(line)
		}
		in.row(s, string(m[1]), line[brace:scan.pos])
	}
}

// queriedCSV reads rows as psql --csv prints them.
func (in *input) queriedCSV(s source, text []byte) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			in.fail(s.from, fmt.Errorf("not CSV: %w", err))
			return
		}
		spec := ""
		for _, f := range fields[1:] {
			if strings.HasPrefix(f, "{") {
				spec = f
				break
			}
		}
		line, _ := r.FieldPos(0)
		switch {
		case spec != "":
			in.row(s, fields[0], []byte(spec))
		case line > 1 || fields[0] != "name":
			in.fail(s.from, fmt.Errorf("line %d: %.40q is no row with a name and a spec", line, strings.Join(fields, ",")))
		}
	}
}

// row reads a row of the database.
func (in *input) row(s source, name string, spec []byte) {
	config, err := configOf(spec)
	in.config(s, name, config, err)
}
