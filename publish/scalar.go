package publish

import (
	"bytes"
	"fmt"

	"github.com/meshvip/coredns-meshvip/vip"
)

// simpleKey is the length in bytes up to which a key is written before a colon.
// Readers look 1024 characters ahead for that colon, and no further.
const simpleKey = 1000

// writePair writes a key and its value on lines that begin with indent.
func writePair(b *bytes.Buffer, indent, key, value string) {
	b.WriteString(indent)
	start := b.Len()
	writeScalar(b, key)
	if b.Len()-start > simpleKey {
		b.Truncate(start)
		b.WriteString("? ")
		writeScalar(b, key)
		b.WriteByte('\n')
		b.WriteString(indent)
	}
	b.WriteString(": ")
	writeScalar(b, value)
	b.WriteByte('\n')
}

// writeScalar writes s, which is UTF-8, as a YAML string: plain where every
// YAML 1.1 and 1.2 reader takes that for a string, else in double quotes with
// escapes for all that is not printable ASCII.
//
// The package sigs.k8s.io/yaml, which goes through JSON, cannot write every
// string (not U+007F), and takes some ten times as long over a mesh.
func writeScalar(b *bytes.Buffer, s string) {
	if plain(s) {
		b.WriteString(s)
		return
	}
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case ' ' <= r && r <= '~':
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
}

// plain reports whether s is a string without quotes too: a word of letters,
// digits and "._/-" that begins with a letter and is none of YAML's own. What
// begins with a digit may be a number.
func plain(s string) bool {
	switch vip.Fold(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '.' || c == '_' || c == '/' || c == '-'):
		default:
			return false
		}
	}
	return true
}
