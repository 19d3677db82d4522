package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// failure is an error with its status and its code.
type failure struct {
	status int
	code   Code
	text   string
}

// Error implements error.
func (f *failure) Error() string { return f.text }

func failf(status int, code Code, format string, args ...any) error {
	return &failure{status, code, fmt.Sprintf(format, args...)}
}

// unknown is the failure of asking for a part that there is not.
func (h *handler) unknown(what string) error {
	why := "the server has none"
	if h.t.Offline {
		why = "no server runs, and the store alone does not say"
	}
	return failf(http.StatusServiceUnavailable, Unavailable, "%s are unknown: %s", what, why)
}

// classify returns an error as a failure.
func classify(err error) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, allocator.ErrOtherPlan), errors.Is(err, allocator.ErrOtherHold), errors.Is(err, allocator.ErrIncomplete):
		return &failure{http.StatusConflict, Conflict, err.Error()}
	case errors.Is(err, allocator.ErrClosed):
		return &failure{http.StatusServiceUnavailable, Unavailable, "the server is about to stop, or has begun anew: " + err.Error()}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &failure{http.StatusServiceUnavailable, Unavailable, "the request was given up: " + err.Error()}
	}
	return &failure{http.StatusInternalServerError, Internal, err.Error()}
}

func writeError(w http.ResponseWriter, r *http.Request, err error) {
	f := classify(err)
	if f.status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Connection", "close")
	}
	writeJSON(w, f.status, Failure{Error: f.text, Code: f.code})
}

// writeJSON writes an answer, whole: the length is known before the first byte.
func writeJSON(w http.ResponseWriter, status int, answer any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		status = http.StatusInternalServerError
		b.Reset()
		_ = e.Encode(Failure{Error: "the answer cannot be written: " + err.Error(), Code: Internal})
	}
	head(w, "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // who is gone is gone
}

// head sets the headers that every answer has.
func head(w http.ResponseWriter, media string) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}
