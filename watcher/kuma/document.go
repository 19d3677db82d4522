package kuma

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxDepth bounds how deeply a document's mappings and lists may nest.
const maxDepth = 128

// document is one document of a stream: a mapping, or a list of them.
type document struct {
	line int
	body any
}

// documents reads all documents of data. Its errors name the line.
func documents(data []byte) ([]document, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := checkText(data); err != nil {
		return nil, err
	}
	var docs []document
	for _, c := range split(data) {
		// JSON is almost YAML, but not quite: YAML has no surrogate pairs.
		if more, ok := jsonDocuments(c); ok {
			docs = append(docs, more...)
			continue
		}
		body, err := yamlDocument(c)
		if err != nil {
			return nil, err
		}
		if body != nil {
			docs = append(docs, document{c.first, body})
		}
	}
	for _, d := range docs {
		switch d.body.(type) {
		case map[string]any, []any:
		default:
			return nil, fmt.Errorf("line %d: not a mapping of keys to values: the file was cut short, or is no resource file", d.line)
		}
	}
	return docs, nil
}

// jsonDocuments reads c as a stream of JSON values, and reports whether it is
// one.
func jsonDocuments(c chunk) ([]document, bool) {
	text := bytes.TrimLeft(c.text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return nil, false
	}
	var docs []document
	dec := json.NewDecoder(bytes.NewReader(c.text))
	for {
		start := int(dec.InputOffset())
		body, err := jsonValue(dec, 0)
		if errors.Is(err, io.EOF) {
			return docs, true
		}
		if err != nil {
			return nil, false // the YAML reader has the better messages
		}
		start += len(c.text[start:]) - len(bytes.TrimLeft(c.text[start:], " \t\r\n"))
		docs = append(docs, document{c.line - 1 + lineAt(c.text, start), body})
	}
}

// yamlDocument reads c as one YAML document, nil if it is empty.
func yamlDocument(c chunk) (any, error) {
	text, wrapped := wrapFlow(c.text)
	j, err := toJSON(text)
	if err != nil {
		return nil, yamlError(c, err)
	}
	body, err := jsonValue(json.NewDecoder(bytes.NewReader(j)), 0)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", c.first, err)
	}
	if wrapped {
		list, _ := body.([]any)
		if len(list) != 1 {
			return nil, fmt.Errorf("line %d: text after the end of the document: put a line with --- between documents", c.first)
		}
		body = list[0]
	}
	return body, nil
}

// wrapFlow puts a document in flow style, such as {a: b}, into a list. The
// YAML reader ignores whatever follows the end of a flow document; inside a
// list it has to read it.
func wrapFlow(text []byte) ([]byte, bool) {
	body := text
	for {
		body = bytes.TrimLeft(body, " \t\r\n")
		switch {
		case isMarker(body, "---"):
			body = body[3:]
			continue
		case len(body) > 0 && body[0] == '#':
			if i := bytes.IndexByte(body, '\n'); i >= 0 {
				body = body[i:]
				continue
			}
		}
		break
	}
	if len(body) == 0 || body[0] != '{' && body[0] != '[' {
		return text, false
	}
	// What stands before, markers and comments, is kept for its lines.
	head := len(text) - len(body)
	w := make([]byte, 0, len(text)+4)
	w = append(append(w, text[:head]...), '[')
	return append(append(w, body...), "\n]"...), true
}

// toJSON converts a YAML document, and turns a panic of the reader into an
// error: one file must not stop the rest.
func toJSON(text []byte) (j []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML reader failed on it: %v", r)
		}
	}()
	j, err = yaml.YAMLToJSONStrict(text)
	if err != nil && strings.Contains(err.Error(), "already set in map") && bytes.Contains(text, []byte("<<")) {
		// The strict reader takes a key that overrides a merged one for a
		// repetition, which it is not.
		return yaml.YAMLToJSON(text)
	}
	return j, err
}

var lineInError = regexp.MustCompile(`line (\d+): *`)

// yamlError says where in the stream c, and where the reader knows it where in
// c, err is. The reader counts lines from the beginning of c.
func yamlError(c chunk, err error) error {
	msg, line := err.Error(), c.first
	if m := lineInError.FindStringSubmatchIndex(msg); m != nil {
		if n, numErr := strconv.Atoi(msg[m[2]:m[3]]); numErr == nil {
			line = min(c.line-1+n, c.line-1+lineAt(c.text, len(c.text))) // it counts one too many at the end
		}
		msg = msg[:m[0]] + msg[m[1]:]
	}
	msg = string(bytes.Join(bytes.Fields([]byte(msg)), []byte(" ")))
	return fmt.Errorf("line %d or near it: %.300s; correct the document that begins in line %d", line, msg, c.first)
}

var errDeep = fmt.Errorf("nested more than %d deep: no resource is, so simplify or remove the document", maxDepth)

// jsonValue reads the next value of dec: map[string]any, []any, string,
// float64, bool or nil. It returns io.EOF at the end of the stream, and an
// error for a key that stands twice in one object, which [json.Unmarshal]
// would let pass.
func jsonValue(dec *json.Decoder, depth int) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		if depth > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return tok, nil
	}
	if depth == maxDepth {
		return nil, errDeep
	}
	if delim == '[' {
		list := []any{}
		for dec.More() {
			v, err := jsonValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, closing(dec)
	}
	m := map[string]any{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key := tok.(string) // the decoder allows nothing else here
		if _, twice := m[key]; twice {
			return nil, fmt.Errorf("the key %.80q stands twice: remove one", key)
		}
		if m[key], err = jsonValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	return m, closing(dec)
}

// closing reads the delimiter that ends a list or an object.
func closing(dec *json.Decoder) error {
	_, err := dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
