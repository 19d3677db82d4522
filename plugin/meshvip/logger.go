package meshvip

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

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
	b.WriteString(r.Message)
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
	if strings.ContainsAny(s, " \t\n\"=") || s == "" {
		s = fmt.Sprintf("%q", s)
	}
	b.WriteString(" " + a.Key + "=" + s)
}
