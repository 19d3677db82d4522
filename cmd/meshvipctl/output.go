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

// print shows v in the chosen format; text is what it is as text.
func (s *session) print(v any, text func(w io.Writer)) error {
	var b strings.Builder
	switch s.format {
	case formatJSON:
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return err
		}
	case formatYAML:
		y, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		b.Write(y)
	default:
		text(&b)
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}
