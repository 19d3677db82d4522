package kumatable

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// member is one key of a JSON object with the place of its value.
type member struct {
	key        string
	at         int // where the key starts
	start, end int // the value's text
	bad        error
}

// raw returns the text of the value.
func (m member) raw(text []byte) []byte { return text[m.start:m.end] }

// value returns the first byte of the value, 0 if there is none.
func (m member) value(text []byte) byte {
	if m.start == m.end {
		return 0
	}
	return text[m.start]
}

// scanner finds the members of JSON objects and the items of lists. It looks at
// brackets and strings only, so that a value which is no JSON is found by who
// reads it, and does not hide the others.
type scanner struct {
	text []byte
	pos  int
}

// errEnds says that a text was cut.
var errEnds = errors.New("the text ends early")

// fail names the place of an error.
func (s *scanner) fail(err error) error {
	return fmt.Errorf("not a JSON object, at byte %d: %w", s.pos, err)
}

// document returns the members of the object that is the whole text. Beside an
// error they are those that come before it.
func (s *scanner) document() ([]member, error) {
	s.space()
	members, err := s.object()
	if err != nil {
		return members, s.fail(err)
	}
	if s.space(); s.pos < len(s.text) {
		return members, s.fail(errors.New("more text follows it"))
	}
	return members, nil
}

// object returns the members of the object that starts here, in the order of
// the text, and goes behind it.
func (s *scanner) object() (members []member, err error) {
	if err := s.open('{'); err != nil {
		return nil, err
	}
	for {
		s.space()
		switch {
		case s.pos == len(s.text):
			return members, errEnds
		case s.text[s.pos] == '}' && len(members) == 0:
			s.pos++
			return nil, nil
		case s.text[s.pos] != '"':
			return members, fmt.Errorf("%.20q where a key belongs", s.text[s.pos:min(len(s.text), s.pos+20)])
		}
		m := member{at: s.pos}
		if err := s.quoted(); err != nil {
			return members, err
		}
		m.key, m.bad = unquote(s.text[m.at:s.pos])
		if s.space(); s.pos == len(s.text) {
			return members, errEnds
		} else if s.text[s.pos] != ':' {
			return members, fmt.Errorf("key %.80q is not followed by a colon", m.key)
		}
		s.pos++
		more, err := s.element('}', &m)
		if err != nil {
			return members, fmt.Errorf("in the value of %.80q: %w", m.key, err)
		}
		members = append(members, m)
		if !more {
			return members, nil
		}
	}
}

// list returns the items of the list that starts here, and goes behind it. The
// items have no keys.
func (s *scanner) list() (items []member, err error) {
	if err := s.open('['); err != nil {
		return nil, err
	}
	if s.space(); s.pos < len(s.text) && s.text[s.pos] == ']' {
		s.pos++
		return nil, nil
	}
	for {
		var m member
		more, err := s.element(']', &m)
		if err != nil {
			return items, err
		}
		m.at = m.start
		items = append(items, m)
		if !more {
			return items, nil
		}
	}
}

// open goes behind the bracket that stands here.
func (s *scanner) open(bracket byte) error {
	switch {
	case s.pos == len(s.text):
		return errEnds
	case s.text[s.pos] != bracket:
		return fmt.Errorf("it starts with %.20q", s.text[s.pos:min(len(s.text), s.pos+20)])
	}
	s.pos++
	return nil
}

// element finds the value that comes next, and what is behind it: a comma, so
// that there is more, or the closing bracket.
func (s *scanner) element(closing byte, m *member) (more bool, err error) {
	s.space()
	m.start = s.pos
	if err := s.value(); err != nil {
		return false, err
	}
	m.end = s.pos
	if s.space(); s.pos == len(s.text) {
		return false, errEnds
	}
	switch c := s.text[s.pos]; c {
	case ',', closing:
		s.pos++
		return c == ',', nil
	}
	return false, fmt.Errorf("%.20q follows it", s.text[s.pos:min(len(s.text), s.pos+20)])
}

// value goes behind the value that starts here.
func (s *scanner) value() error {
	for depth := 0; s.pos < len(s.text); {
		switch s.text[s.pos] {
		case '"':
			if err := s.quoted(); err != nil {
				return err
			}
			if depth == 0 {
				return nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return nil
			}
			if depth--; depth == 0 {
				s.pos++
				return nil
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return nil
			}
		}
		s.pos++
	}
	return errEnds
}

// quoted goes behind the string that starts here.
func (s *scanner) quoted() error {
	for i := s.pos + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			s.pos = i + 1
			return nil
		}
	}
	s.pos = len(s.text)
	return errEnds
}

// space goes behind white space.
func (s *scanner) space() {
	for ; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
		default:
			return
		}
	}
}

// unquote reads a JSON string. Beside an error it returns the text as it stands,
// so that two which are not the same stay two.
func unquote(quoted []byte) (string, error) {
	inner := quoted[1 : len(quoted)-1]
	if !utf8.Valid(inner) {
		return string(inner), errLossy
	}
	if !slices.ContainsFunc(inner, func(c byte) bool { return c == '\\' || c < ' ' }) {
		return string(inner), nil
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return string(inner), plainly(err)
	}
	if strings.ContainsRune(s, utf8.RuneError) && lossyText(inner) {
		return string(inner), errLossy
	}
	return s, nil
}
