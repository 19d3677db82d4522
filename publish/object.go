package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"
)

// member is one key of a JSON object with the text of its value.
type member struct {
	key string
	raw json.RawMessage // not empty
}

// readObject returns the members of a JSON object in the order of the text. It
// keeps what a Go map would hide: a key that is there twice.
func readObject(data []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	fail := func(err error) ([]member, error) {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the text ends early")
		}
		return nil, fmt.Errorf("not a JSON object, at byte %d: %w", dec.InputOffset(), err)
	}
	if start, err := dec.Token(); err != nil {
		return fail(err)
	} else if start != json.Delim('{') {
		return fail(fmt.Errorf("it starts with %.20q", fmt.Sprint(start)))
	}
	var members []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fail(err)
		}
		m := member{key: key.(string)} // the decoder takes nothing else there
		if err := dec.Decode(&m.raw); err != nil {
			return fail(err)
		}
		members = append(members, m)
	}
	if _, err := dec.Token(); err != nil {
		return fail(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fail(errors.New("more text follows it"))
	}
	return members, nil
}

// surrogate finds the escape of half a character. Such halves come in pairs, or
// they are nothing that UTF-8 can say.
var surrogate = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// lossyText reports whether the JSON decoder may have put U+FFFD in place of
// what it found in data. Two names could become one by that.
func lossyText(data []byte) bool { return !utf8.Valid(data) || surrogate.Match(data) }
