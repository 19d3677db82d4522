package main

import (
	"bufio"
	"fmt"
	"strings"
)

// ask asks a question that "yes" lets something happen by, and returns whether
// it is to happen. Only a terminal is asked: see session.asks.
func (s *session) ask(format string, args ...any) bool {
	fmt.Fprintf(s.err, format+" [y/N] ", args...)
	line, _ := bufio.NewReader(s.in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}

// asks reports whether somebody is there who sees what is shown, and can answer.
func (s *session) asks() bool { return s.inTerm && s.outTerm && s.errTerm && s.format == formatText }
