package kuma

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// chunk is the text of one document.
type chunk struct {
	text []byte
	// line is the number of the first line of text, from 1, and first that of
	// the first line that is more than a comment.
	line, first int
}

// checkText returns an error if data cannot be the text of a resource file.
func checkText(data []byte) error {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return fmt.Errorf("line %d: a NUL byte: the file is binary, or was cut short by a crash; write it again as UTF-8 text", lineAt(data, i))
	}
	if utf8.Valid(data) {
		return nil
	}
	i := 0
	for {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return fmt.Errorf("line %d: byte %#02x is not UTF-8: save the file as UTF-8 text", lineAt(data, i), data[i])
		}
		i += n
	}
}

// lineAt returns the number of the line that holds data[i].
func lineAt(data []byte, i int) int { return 1 + bytes.Count(data[:i], []byte("\n")) }

// split cuts a YAML stream into its documents. A line that begins with "---"
// is a document marker wherever it stands, also inside a scalar (YAML 1.2,
// c-forbidden), so it takes no parser to find them, and a comment with "---"
// in it is none.
func split(data []byte) []chunk {
	var chunks []chunk
	start, line, first := 0, 1, 0 // of the chunk at hand; first is 0 while it has no content
	marked := false               // it has its marker
	cut := func(at, next int) {
		if first > 0 {
			chunks = append(chunks, chunk{data[start:at], line, first})
		}
		start, line, first, marked = at, next, 0, false
	}
	for at, n := 0, 1; at < len(data); n++ {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		text := data[at:next]
		switch {
		case isMarker(text, "---"):
			if marked || first > 0 {
				cut(at, n)
			}
			marked = true
			if hasContent(text[3:]) {
				first = n
			}
		case isMarker(text, "..."):
			cut(next, n+1)
		case text[0] == '%' && first == 0 && !marked:
			// A directive belongs to the marker that follows.
		case first == 0 && hasContent(text):
			first = n
		}
		at = next
	}
	cut(len(data), 0)
	return chunks
}

// isMarker reports whether line is the marker, alone or before a blank.
func isMarker(line []byte, marker string) bool {
	if !bytes.HasPrefix(line, []byte(marker)) {
		return false
	}
	rest := line[len(marker):]
	return len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n'
}

// hasContent reports whether line is more than blanks and a comment.
func hasContent(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) > 0 && line[0] != '#'
}
