package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// session is one run of the program: what it was told, where it reads and
// writes, and what it has open.
type session struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	// inTerm, outTerm and errTerm say which of the three a person looks at.
	inTerm, outTerm, errTerm bool
	// width is how many columns out has; it counts where out is a terminal.
	width int
	// patience is how long a server may take to say that it is there.
	patience time.Duration

	// What the command line says.
	admin, store, corefile string
	format                 format

	begun bool // the command line was understood
	open  []io.Closer
}

// newSession returns a session over three streams, of which any may be a terminal.
func newSession(in io.Reader, out, errs io.Writer, env func(string) string) *session {
	s := &session{in: in, out: out, err: errs, env: env, format: formatText, width: 80, patience: answerTime}
	_, s.inTerm = terminal(in)
	_, s.errTerm = terminal(errs)
	var fd int
	if fd, s.outTerm = terminal(out); s.outTerm {
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			s.width = w
		}
	}
	return s
}

// terminal reports whether a stream is a terminal, and its descriptor.
func terminal(stream any) (fd int, ok bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// bind defines the flags that every command has.
func (s *session) bind(f *pflag.FlagSet) {
	f.StringVar(&s.admin, "admin", "", "admin interface of a server: unix:PATH or HOST:PORT")
	f.StringVar(&s.store, "store", "", "store file, or its server's socket beside it")
	f.StringVar(&s.corefile, "corefile", "", "Corefile of the server, which says where its table is")
	f.VarP(&s.format, "output", "o", "output: "+strings.Join(formatNames(), ", "))
}

// note tells the user something that is no part of the output.
func (s *session) note(format string, args ...any) {
	fmt.Fprintln(s.err, printableLines(fmt.Sprintf(format, args...)))
}

// keep closes c when the command has ended.
func (s *session) keep(c io.Closer) { s.open = append(s.open, c) }

// close closes what the command had open, the last first.
func (s *session) close() error {
	var errs []error
	for i := len(s.open) - 1; i >= 0; i-- {
		errs = append(errs, s.open[i].Close())
	}
	s.open = nil
	return errors.Join(errs...)
}
