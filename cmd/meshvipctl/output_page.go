package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// page is text that a command writes for people. What goes onto it may have been
// written by anybody: what a terminal would take for a command is escaped.
type page struct {
	b strings.Builder
	// width is how many columns the page has, 0 where it is as wide as its lines:
	// nothing is wrapped or cut where a program reads it.
	width int
	color bool
}

// Write implements [io.Writer]. What is written this way is not escaped.
func (p *page) Write(b []byte) (int, error) { return p.b.Write(b) }

// String returns the text.
func (p *page) String() string { return p.b.String() }

// line writes one line. Strings among args are escaped.
func (p *page) line(format string, args ...any) {
	p.b.WriteString(printable(fmt.Sprintf(format, args...)))
	p.b.WriteByte('\n')
}

// title writes a line that begins something.
func (p *page) title(format string, args ...any) {
	p.b.WriteString(p.styled("1", printable(fmt.Sprintf(format, args...))))
	p.b.WriteByte('\n')
}

// labelWidth is where the text of a field begins, after its indent.
const labelWidth = 12

// field writes a label and what it says, wrapped under itself. An empty label
// goes on with the field above.
func (p *page) field(label, format string, args ...any) {
	p.hang("  "+pad(label, labelWidth), printable(fmt.Sprintf(format, args...)))
}

// warn is field for what an operator should see to.
func (p *page) warn(label, format string, args ...any) {
	p.hang("  "+p.styled("33", pad(label, labelWidth)), printable(fmt.Sprintf(format, args...)))
}

// hang writes text after head, which takes 2 + labelWidth columns, wrapped so
// that what follows stands under its beginning.
func (p *page) hang(head, text string) {
	const indent = 2 + labelWidth
	for i, l := range wrap(text, p.width-indent) {
		if i > 0 {
			head = strings.Repeat(" ", indent)
		}
		p.b.WriteString(strings.TrimRight(head+l, " ") + "\n")
	}
}

// styled returns text with an attribute of terminals, where the page has colour.
func (p *page) styled(sgr, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// wrap returns text in lines of at most width columns, broken at blanks only; as
// one line where width is no width.
func wrap(text string, width int) []string {
	if width < 20 {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && columns(line)+1+columns(word) > width {
			lines, line = append(lines, line), word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// pad fills text up with blanks to n columns, and one blank at least follows it.
func pad(text string, n int) string {
	return text + strings.Repeat(" ", max(n-columns(text), 1))
}

// columns returns how many columns text takes.
func columns(text string) int { return utf8.RuneCountInString(text) }

// printable returns text with whatever is not printable escaped as Go has it:
// control characters, newlines, bytes that are no UTF-8.
func printable(text string) string {
	for i, r := range text {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return text[:i] + escape(text[i:])
		}
	}
	return text
}

// printableLines is printable for each line of a text.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = printable(l)
	}
	return strings.Join(lines, "\n")
}

// escape is printable, for a text that needs it.
func escape(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		text = text[n:]
	}
	return b.String()
}
