package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/meshvip/coredns-meshvip/admin"
)

// tableReader reads a table page by page.
type tableReader struct {
	c    *connection
	mesh string // only what it lists; empty: all
	// limit bounds how many rows are read; 0 is all.
	limit int
	// read is how many were, and last the page that was read last.
	read int
	last admin.TablePage
}

// each calls f with the rows of every page.
func (r *tableReader) each(ctx context.Context, s *session, f func([]admin.Row) error) error {
	var bar *progress
	for q := (admin.TableQuery{Mesh: r.mesh}); ; {
		if r.limit > 0 {
			q.Limit = r.limit - r.read
		}
		page, err := r.c.Table(ctx, q)
		if told := (*admin.Error)(nil); r.mesh != "" && errors.As(err, &told) && told.Code == admin.NotFound {
			return notFound("there is no mesh %.100q: \"meshvipctl meshes\" lists those that there are", r.mesh)
		}
		if err != nil {
			return err
		}
		if bar == nil {
			bar = s.progress("reading the table", page.Total)
			defer bar.end()
		}
		if err := f(page.Rows); err != nil {
			return err
		}
		r.read += len(page.Rows)
		r.last = page
		bar.at(r.read)
		if q.After = page.Next; q.After == "" || r.limit > 0 && r.read >= r.limit {
			return nil
		}
	}
}

// streamTable writes a table as one JSON page, row by row as they are read.
func (s *session) streamTable(ctx context.Context, r *tableReader) error {
	out := bufio.NewWriterSize(s.out, 1<<16)
	io.WriteString(out, "{\n  \"rows\": [")
	sep := "\n    "
	err := r.each(ctx, s, func(rows []admin.Row) error {
		for _, row := range rows {
			b, err := indented(row, "    ")
			if err != nil {
				return err
			}
			io.WriteString(out, sep)
			out.Write(b)
			sep = ",\n    "
		}
		return nil
	})
	if err != nil {
		return err // what was written is no JSON, and the exit code says so
	}
	if r.read > 0 {
		io.WriteString(out, "\n  ")
	}
	whole := r.last
	whole.Rows = []admin.Row{}
	b, err := indented(whole, "")
	if err != nil {
		return err
	}
	// What comes after the rows, which are the page's first field.
	_, rest, _ := bytes.Cut(b, []byte("[]"))
	io.WriteString(out, "]")
	out.Write(rest)
	io.WriteString(out, "\n")
	return out.Flush()
}

// indented returns v as JSON in lines that begin with prefix, but for the first.
func indented(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, "  ")
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
