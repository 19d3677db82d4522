package record

import (
	"encoding/json"
	"unicode/utf8"
)

// Text is a text that need not be UTF-8.
type Text string

// base64Text is how a text is written that is not.
type base64Text struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements [json.Marshaler].
func (t Text) MarshalJSON() ([]byte, error) {
	if plain(t) { // most are
		return append(append(append(make([]byte, 0, len(t)+2), '"'), t...), '"'), nil
	}
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(base64Text{[]byte(t)})
}

// plain reports whether t stands in JSON as it is.
func plain[T ~string | ~[]byte](t T) bool {
	for i := range len(t) {
		if c := t[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Text) UnmarshalJSON(b []byte) error {
	if n := len(b); n >= 2 && b[0] == '"' && plain(b[1:n-1]) {
		*t = Text(b[1 : n-1])
		return nil
	}
	if len(b) > 0 && b[0] == '{' {
		var raw base64Text
		err := json.Unmarshal(b, &raw)
		*t = Text(raw.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}
