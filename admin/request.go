package admin

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// maxBody bounds the body of a request: a layout with tens of thousands of
// statics.
const maxBody = 8 << 20

// bodyTimeout bounds how long it may take to arrive.
const bodyTimeout = 30 * time.Second

// admit refuses what a browser may have been led to send, where a browser can
// reach: over TCP. Whoever can open the unix socket has its file's permission.
func admit(r *http.Request) error {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); !ok || local.Network() == "unix" {
		return nil
	}
	if r.Header.Get("Origin") != "" {
		return failf(http.StatusForbidden, BadRequest, "requests of web pages (with an Origin) are refused")
	}
	// Or a page whose name was made to lead here could ask.
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	} else if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" {
		return failf(http.StatusForbidden, BadRequest, "requests to the host %.100q are refused: use an IP address or localhost", r.Host)
	}
	return nil
}

// parameters returns the query of a request, in which nothing is unknown or
// stands twice.
func parameters(r *http.Request, known []string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, failf(http.StatusBadRequest, BadRequest, "the query cannot be read: %v", err)
	}
	for name, values := range q {
		switch {
		case !slices.Contains(known, name):
			return nil, failf(http.StatusBadRequest, BadRequest, "%s has no parameter %.40q", r.URL.Path, name)
		case len(values) > 1:
			return nil, failf(http.StatusBadRequest, BadRequest, "parameter %s stands there twice", name)
		}
	}
	return q, nil
}

// limit returns the parameter limit, which has a default and a maximum.
func limit(q url.Values, otherwise, most int) (int, error) {
	s := q.Get("limit")
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > most {
		return 0, failf(http.StatusBadRequest, BadRequest, "limit %.40q is not a number from 1 to %d", s, most)
	}
	return n, nil
}

// body reads the body of a request into v.
func body(w http.ResponseWriter, r *http.Request, v any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return failf(http.StatusUnsupportedMediaType, BadRequest, "the body must be JSON, with the header Content-Type: application/json")
	}
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTimeout)) // in the process there is none
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		_, err = d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			err = errors.New("something follows the first value")
		}
	}
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return failf(http.StatusRequestEntityTooLarge, BadRequest, "the body is larger than %d bytes", large.Limit)
	}
	return failf(http.StatusBadRequest, BadRequest, "the body cannot be read: %v", err)
}
