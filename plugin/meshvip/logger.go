package meshvip

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"unicode/utf8"

	clog "github.com/coredns/coredns/plugin/pkg/log"
)

var log = clog.NewWithPlugin(pluginName)

// logger returns a logger for the packages that know nothing of CoreDNS: it
// writes to CoreDNS's log, attributes as key=value behind the message.
func logger() *slog.Logger { return slog.New(logHandler{}) }

// logHandler implements slog.Handler on CoreDNS's log.
type logHandler struct{ attrs string }

func (logHandler) Enabled(_ context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || clog.D.Value()
}

func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(printable(r.Message))
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&b, a)
		return true
	})
	switch {
	case r.Level >= slog.LevelError:
		log.Error(b.String())
	case r.Level >= slog.LevelWarn:
		log.Warning(b.String())
	case r.Level >= slog.LevelInfo:
		log.Info(b.String())
	default:
		log.Debug(b.String())
	}
	return nil
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		writeAttr(&b, a)
	}
	return logHandler{attrs: b.String()}
}

// WithGroup implements slog.Handler. Nothing here uses groups.
func (h logHandler) WithGroup(string) slog.Handler { return h }

// writeAttr writes one attribute: quoted where it would be unclear otherwise.
func writeAttr(b *strings.Builder, a slog.Attr) {
	s := a.Value.Resolve().String()
	if s == "" || strings.ContainsAny(s, " \"=") || printable(s) != s {
		s = strconv.Quote(s)
	}
	b.WriteString(" " + a.Key + "=" + s)
}

// printable returns s with what would break a line of the log, or a terminal,
// escaped: names come from files that others write.
func printable(s string) string {
	unprintable := func(r rune) bool { return !strconv.IsPrint(r) }
	if utf8.ValidString(s) && !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || unprintable(r) {
			q := strconv.Quote(s[:n])
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
