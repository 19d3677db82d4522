package fakekuma

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
)

// Transport returns what asks the control plane without a network, whatever the
// host of the URL, for tests on a clock of their own.
func (s *Server) Transport() http.RoundTripper { return inMemory{s} }

type inMemory struct{ s *Server }

// RoundTrip implements [http.RoundTripper].
func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	req := r.Clone(r.Context())
	req.Host = r.URL.Host
	req.RequestURI = r.URL.RequestURI()
	cut := m.serve(rec, req)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	resp := rec.Result()
	resp.Request = r
	if cut {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{}))
	}
	return resp, nil
}

// serve lets the control plane answer, and reports whether it broke off.
func (m inMemory) serve(w http.ResponseWriter, r *http.Request) (cut bool) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			cut = true
		default:
			panic(v)
		}
	}()
	m.s.ServeHTTP(w, r)
	return false
}

// broken is the end of a connection that was cut.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
