package kuma

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// bounded are the functions of text/template that make text of values, in a
// form that makes little. Left as they are, "print $a $a" doubles a text, and
// "printf" pads one to a million bytes, line after line.
var bounded = template.FuncMap{
	"print":    within(fmt.Sprint),
	"println":  within(fmt.Sprintln),
	"html":     within(template.HTMLEscaper),
	"js":       within(template.JSEscaper),
	"urlquery": within(template.URLQueryEscaper),
	"printf":   printf,
}

// within bounds what goes into make and what comes out of it. In between is a
// small multiple of the first: an escape is a few bytes for one.
func within(make func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		if size(args) > maxRendered {
			return "", errRendered
		}
		if s := make(args...); len(s) <= maxRendered {
			return s, nil
		}
		return "", errRendered
	}
}

// maxWidth is the most digits of a width, a precision or an index of printf.
const maxWidth = 2

// maxFormatted bounds what printf may need while it works.
const maxFormatted = 1 << 17

func printf(format string, args ...any) (string, error) {
	n := size(args)
	if n > maxRendered || len(format) > maxRendered {
		return "", errRendered
	}
	// Each verb may show one of the arguments, and quotes ten bytes for one.
	if verbs := strings.Count(format, "%"); verbs*(10*n+100) > maxFormatted {
		return "", errors.New("printf has too many verbs for values that long")
	}
	digits := 0
	for _, c := range format {
		switch {
		case '0' <= c && c <= '9':
			if digits++; digits > maxWidth {
				return "", fmt.Errorf("printf may have no number of more than %d digits in its format", maxWidth)
			}
		case c == '*':
			return "", errors.New("printf may have no * in its format")
		default:
			digits = 0
		}
	}
	if s := fmt.Sprintf(format, args...); len(s) <= maxRendered {
		return s, nil
	}
	return "", errRendered
}

// size returns about how many bytes args have as text.
func size(args []any) int {
	n := 0
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			n += len(arg)
		case map[string]string:
			for k, v := range arg {
				n += len(k) + len(v) + 2
			}
		case naming:
			n += arg.size()
		default:
			n += 24 // a number or a truth value
		}
	}
	return n
}
