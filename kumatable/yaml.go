package kumatable

import (
	"errors"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"
)

// yamlBreak finds the line between two documents. Nothing else can begin a line
// so: text that YAML quotes or indents would not be at the start of one.
var yamlBreak = regexp.MustCompile(`(?m)^---([ \t\r].*)?$`)

// yaml reads a stream of YAML documents.
func (in *input) yaml(s source, text []byte) {
	if len(text) > maxYAML {
		in.fail(s.from, fmt.Errorf("%d bytes of YAML, of %d at most: print it as JSON (kubectl get -o json), which is read in less memory", len(text), maxYAML))
		return
	}
	start, found := 0, false
	read := func(end int) {
		found = in.document(s, text, start, end) || found
	}
	for _, at := range yamlBreak.FindAllIndex(text, -1) {
		read(at[0])
		start = at[0] + len("---")
	}
	read(len(text))
	if !found {
		in.fail(s.from, errors.New("it is empty"))
	}
}

// document reads one YAML document, and reports whether there was one.
func (in *input) document(s source, text []byte, start, end int) bool {
	value, err := yaml.YAMLToJSON(text[start:end])
	if err != nil {
		line := 1
		for _, c := range text[:start] {
			if c == '\n' {
				line++
			}
		}
		in.fail(s.from, fmt.Errorf("the document at line %d is neither JSON nor YAML nor rows of a query: %w", line, err))
		return true
	}
	if string(value) == "null" {
		return false
	}
	in.value(s, value)
	return true
}

// flow reads an object in YAML's own form, {type: Config, name: …}, and reports
// whether it is one.
func (in *input) flow(s source, text []byte) bool {
	if len(text) > maxYAML {
		return false
	}
	value, err := yaml.YAMLToJSON(text)
	if err != nil || len(value) == 0 || value[0] != '{' {
		return false
	}
	in.value(s, value)
	return true
}
