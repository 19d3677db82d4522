package admin

import (
	"io"
	"net/http"
)

// handlerTransport lets a client ask a handler without a connection. The answer
// is read while it is written, so that streams work.
type handlerTransport struct{ h http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	r, w := io.Pipe()
	// A server's request has these set.
	in := req.Clone(req.Context())
	in.Host, in.RequestURI = req.URL.Host, req.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	answer := &pipedAnswer{header: make(http.Header), body: w, begun: make(chan struct{})}
	go func() {
		defer in.Body.Close()
		t.h.ServeHTTP(answer, in)
		answer.WriteHeader(http.StatusOK)
		w.Close()
	}()
	<-answer.begun
	return &http.Response{
		Status: http.StatusText(answer.status), StatusCode: answer.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.sent, Body: r, ContentLength: -1, Request: req,
	}, nil
}

// pipedAnswer is a response whose body somebody reads meanwhile.
type pipedAnswer struct {
	header, sent http.Header
	body         *io.PipeWriter
	status       int // 0 before the header is sent
	begun        chan struct{}
}

// Header implements [http.ResponseWriter].
func (a *pipedAnswer) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter].
func (a *pipedAnswer) WriteHeader(status int) {
	if a.status != 0 {
		return
	}
	a.status, a.sent = status, a.header.Clone()
	close(a.begun)
}

// Write implements [http.ResponseWriter].
func (a *pipedAnswer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// Flush implements [http.Flusher]: what is written is there already.
func (a *pipedAnswer) Flush() { a.WriteHeader(http.StatusOK) }
