package kumaapi

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxToken bounds the length of a token file.
const maxToken = 64 << 10

// token is the secret in a file, which may be replaced at any time. No message
// shows it.
type token struct {
	file string // "" where there is none
}

// read returns the token, "" where there is none.
func (t *token) read() (string, error) {
	if t.file == "" {
		return "", nil
	}
	f, err := os.Open(t.file)
	if err != nil {
		return "", &failure{unreachable: true, what: fmt.Sprintf("the token file cannot be read (%v): create it, or make it readable", err)}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", &failure{unreachable: true, what: fmt.Sprintf("the token file cannot be read: %v", err)}
	}
	text := strings.TrimSpace(string(data))
	if text == "" || len(data) > maxToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &failure{unreachable: true, what: fmt.Sprintf("the token file %s does not hold one token: write nothing else into it", t.file)}
	}
	return text, nil
}
