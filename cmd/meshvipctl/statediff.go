package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// stateDifference returns the first thing in which two states differ, and "" where
// they are the same. Their backups are compared, line by line: a backup has all
// that a state has, in an order of its own.
func stateDifference(want, got allocator.State) string {
	a, b := backupLines(want), backupLines(got)
	defer a.Close()
	defer b.Close()
	x, y := bufio.NewReader(a), bufio.NewReader(b)
	for {
		had, errX := x.ReadBytes('\n')
		has, errY := y.ReadBytes('\n')
		switch {
		case errX != nil && errY != nil && len(had) == 0 && len(has) == 0:
			return ""
		case !bytes.Equal(had, has):
			return fmt.Sprintf("it should have %s, and has %s", shownLine(had), shownLine(has))
		}
	}
}

// backupLines returns the backup of a state as it is read.
func backupLines(s allocator.State) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(allocator.WriteBackup(w, s)) }()
	return r
}

// shownBytes is how much of a record is shown.
const shownBytes = 300

// shownLine returns a line of a backup for a message.
func shownLine(line []byte) string {
	line = bytes.ReplaceAll(bytes.TrimSpace(line), []byte(`,"`), []byte(`, "`)) // so that it can be wrapped
	if len(line) == 0 {
		return "nothing more"
	}
	if len(line) > shownBytes {
		return string(line[:shownBytes]) + "…"
	}
	return string(line)
}
