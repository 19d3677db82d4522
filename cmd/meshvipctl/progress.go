package main

import (
	"fmt"
	"time"
)

// progressEvery is how often a line of progress is drawn anew.
const progressEvery = 100 * time.Millisecond

// progress shows how far long work is, on a terminal. Elsewhere it shows nothing.
type progress struct {
	s     *session
	label string
	total int // 0: not known
	drawn time.Time
	shown bool
}

// progress begins to show the progress of work that label names, of total steps,
// or of who knows how many if that is 0.
func (s *session) progress(label string, total int) *progress {
	return &progress{s: s, label: label, total: total, drawn: time.Now()}
}

// at says that n steps are done. Work that is over at once draws nothing.
func (p *progress) at(n int) {
	if !p.s.errTerm || time.Since(p.drawn) < progressEvery {
		return
	}
	p.drawn, p.shown = time.Now(), true
	fmt.Fprintf(p.s.err, "\r\x1b[K%s", progressLine(p.label, n, p.total))
}

// end takes the line away.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.s.err, "\r\x1b[K")
		p.shown = false
	}
}

// progressLine returns the line after n of total steps.
func progressLine(label string, n, total int) string {
	if total == 0 {
		return fmt.Sprintf("%s: %d", label, n)
	}
	return fmt.Sprintf("%s: %d of %d (%d%%)", label, n, total, n*100/total)
}
