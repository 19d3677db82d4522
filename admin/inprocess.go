package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// handlerTransport lets a client ask a handler without a connection. The answer
// is read while it is written, so that streams work.
type handlerTransport struct{ h http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	in := req.Clone(ctx)
	// A server's request has these set.
	in.Host, in.RequestURI = req.URL.Host, req.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	r, w := io.Pipe()
	answer := &pipedAnswer{header: make(http.Header), body: w, begun: make(chan struct{})}
	go func() {
		defer cancel()
		defer in.Body.Close()
		defer func() {
			if recover() != nil { // as a server does
				answer.WriteHeader(http.StatusInternalServerError)
				w.CloseWithError(errors.New("the handler has panicked"))
			}
		}()
		t.h.ServeHTTP(answer, in)
		answer.WriteHeader(http.StatusOK)
		w.Close()
	}()
	select {
	case <-answer.begun:
	case <-ctx.Done():
		r.CloseWithError(ctx.Err())
		return nil, ctx.Err()
	}
	// Who asks no more reads no more.
	unwatch := context.AfterFunc(req.Context(), func() { r.CloseWithError(req.Context().Err()) })
	return &http.Response{
		Status: fmt.Sprint(answer.status, " ", http.StatusText(answer.status)), StatusCode: answer.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.sent, Body: &pipedBody{PipeReader: r, end: func() { cancel(); unwatch() }}, ContentLength: -1, Request: req,
	}, nil
}

// pipedBody is the body of an answer: to close it ends the request.
type pipedBody struct {
	*io.PipeReader
	end func()
}

// Close implements [io.Closer].
func (b *pipedBody) Close() error {
	b.end()
	return b.PipeReader.Close()
}

// pipedAnswer is a response whose body somebody reads meanwhile.
type pipedAnswer struct {
	header, sent http.Header
	body         *io.PipeWriter
	status       int
	once         sync.Once
	begun        chan struct{} // closed when the header is sent
}

// Header implements [http.ResponseWriter].
func (a *pipedAnswer) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter].
func (a *pipedAnswer) WriteHeader(status int) {
	a.once.Do(func() {
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	})
}

// Write implements [http.ResponseWriter].
func (a *pipedAnswer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// Flush implements [http.Flusher]: what is written is there already.
func (a *pipedAnswer) Flush() { a.WriteHeader(http.StatusOK) }
