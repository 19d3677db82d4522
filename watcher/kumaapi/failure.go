package kumaapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// errAbsent says that the control plane does not know a path.
var errAbsent = errors.New("404 Not Found")

// failure is why something could not be read, in words for an operator. It does
// not name the URL.
type failure struct {
	what string
	// unreachable says that nothing could be asked at all, so that nothing else
	// would be answered either.
	unreachable bool
	// slow says that there was no answer in time.
	slow bool
	// retryAfter is how long the control plane asks to be left alone.
	retryAfter time.Duration
}

func (f *failure) Error() string { return f.what }

// failed makes a failure of whatever error.
func failed(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return &failure{what: err.Error()}
}

// unanswered says why there is no answer at all.
func unanswered(err error, timeout time.Duration) *failure {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL
	}
	var f *failure
	var op *net.OpError
	var untrusted *tls.CertificateVerificationError
	var resolve *net.DNSError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &untrusted), errors.As(err, new(x509.UnknownAuthorityError)), errors.As(err, new(x509.HostnameError)):
		return &failure{unreachable: true, what: fmt.Sprintf("its certificate is not trusted (%v): give the file of the CA that signed it, and the name that the certificate has in the URL", err)}
	case errors.As(err, &op) && op.Op == "remote error":
		return &failure{unreachable: true, what: fmt.Sprintf("it refuses the TLS connection (%v): give a client certificate and key that it trusts", err)}
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, new(tls.RecordHeaderError)):
		return &failure{unreachable: true, what: "it does not speak TLS on this port: write http:// in the URL, or the port that does (5682)"}
	case errors.As(err, &resolve), errors.As(err, &op) && op.Op == "dial":
		return &failure{unreachable: true, what: fmt.Sprintf("it cannot be reached (%v): check that the control plane runs, the host and port of the URL, and the network between", err)}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{slow: true, what: fmt.Sprintf("no whole answer within %v: look at the load of the control plane, or allow more time", timeout)}
	}
	return &failure{what: fmt.Sprintf("the connection broke (%v): it is read again later", err)}
}

// refused says why an answer with this status is of no use.
func refused(r *http.Response, now time.Time) error {
	f := &failure{what: fmt.Sprintf("%d %s", r.StatusCode, http.StatusText(r.StatusCode)), retryAfter: retryAfter(r.Header, now)}
	switch code := r.StatusCode; {
	case code == http.StatusNotFound && mediaType(r.Header) == "text/html":
		f.what += " as a page of HTML: not a control plane answers but something before it: check the URL"
	case code == http.StatusNotFound:
		return errAbsent
	case code == http.StatusUnauthorized:
		f.what += ": the token is missing, has run out or was revoked: put a good one into the token file"
	case code == http.StatusForbidden:
		f.what += ": the user of the token may not read this: give it the right to, or another user's token"
	case code == http.StatusTooManyRequests:
		f.what += ": it is asked too often: make the interval longer"
	case code >= 500:
		f.what += ": look at the control plane's log; it is read again later"
	default:
		f.what += ": check that the URL is that of a control plane's API, with https:// where the port has TLS"
	}
	return f
}

// retryAfter returns how long a server asks to be left alone, 0 where it does not
// ask (RFC 9110, 10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return min(time.Duration(min(n, 1<<20))*time.Second, maxPause)
	}
	if t, err := http.ParseTime(text); err == nil && t.After(now) {
		return min(t.Sub(now), maxPause)
	}
	return 0
}
