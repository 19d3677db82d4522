package admin

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// headerTimeout bounds how long the head of a request may take, idleTimeout
	// how long a connection is kept for another one, answerTimeout how long an
	// answer may take to be read.
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	answerTimeout = 10 * time.Minute
	// closeTimeout bounds how long Close waits for what is under way.
	closeTimeout = 5 * time.Second
	// maxHeader bounds the head of a request.
	maxHeader = 64 << 10
)

// Server serves a handler on listeners.
type Server struct {
	http    *http.Server
	closing chan struct{}
}

// closingKey is the key of a context under which handlers find Server.closing.
type closingKey struct{}

// closingOf returns a channel that is closed when the server is to end, nil
// where there is no server.
func closingOf(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(closingKey{}).(chan struct{})
	return c
}

// NewServer returns a server of a handler. It tells log, if not nil, of panics
// and of connections that cannot be accepted.
func NewServer(h http.Handler, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{closing: make(chan struct{})}
	s.http = &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), closingKey{}, s.closing)
		},
	}
	s.http.RegisterOnShutdown(func() { close(s.closing) })
	return s
}

// Serve answers on a listener until the server is closed, and then returns nil.
// It closes the listener. It may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close stops the server: listeners are closed, streams end, and what is under
// way is waited for, for a few seconds. It is called once.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}
