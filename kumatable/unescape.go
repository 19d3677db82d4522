package kumatable

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape reads the inside of a JSON string and leaves what is not UTF-8 as it
// stands, the escape of half a character too.
func unescape(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, n := escaped(s[i-1:])
			if r == utf8.RuneError && n == 0 {
				out = append(out, '\\', 'u')
				continue
			}
			out = utf8.AppendRune(out, r)
			i += n - 2
		default:
			out = append(out, c)
		}
	}
	return out
}

// escaped reads the character that the escape at the start of s is, and returns
// how many bytes that takes: 0 for half a character.
func escaped(s []byte) (r rune, n int) {
	r, ok := unit(s)
	switch {
	case !ok:
		return utf8.RuneError, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	low, ok := unit(s[6:])
	if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
		return pair, 12
	}
	return utf8.RuneError, 0
}

// unit reads one escape, such as \u0041.
func unit(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}
