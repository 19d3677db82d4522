package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// format is how a command shows what it found.
type format string

// The formats. The text of tables is for people, and may change in layout; json
// and yaml have the types of package admin as they are, and only grow.
const (
	formatText format = "table"
	formatJSON format = "json"
	formatYAML format = "yaml"
)

var formats = []format{formatText, formatJSON, formatYAML}

// String implements [pflag.Value].
func (f *format) String() string { return string(*f) }

// Type implements [pflag.Value].
func (f *format) Type() string { return "format" }

// Set implements [pflag.Value].
func (f *format) Set(s string) error {
	for _, known := range formats {
		if s == string(known) {
			*f = known
			return nil
		}
	}
	return fmt.Errorf("there is no format %q: choose one of %s", s, strings.Join(formatNames(), ", "))
}

// print shows v in the chosen format; text writes it as text.
func (s *session) print(v any, text func(p *page)) error {
	out, err := s.render(v, text)
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.out, out)
	return err
}

// render returns what print writes.
func (s *session) render(v any, text func(p *page)) (string, error) {
	switch s.format {
	case formatJSON:
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err := e.Encode(v)
		return b.String(), err
	case formatYAML:
		b, err := yaml.Marshal(v)
		return string(b), err
	}
	p := s.page()
	text(p)
	return p.String(), nil
}

// page returns an empty page for the session's output.
func (s *session) page() *page {
	if !s.outTerm {
		return &page{}
	}
	return &page{width: s.width, color: s.env("NO_COLOR") == "" && s.env("TERM") != "dumb"}
}
