package kumaapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// maxRedirects bounds redirects within the control plane.
const maxRedirects = 3

// client asks one control plane. It is used by one goroutine at a time.
type client struct {
	base      *url.URL
	timeout   time.Duration
	maxPage   int64
	maxPass   int64
	left      int64 // bytes that may still be read in this pass
	token     *token
	transport *transport
	http      http.Client
	buf       bytes.Buffer // of the last answer
}

// maxKept bounds how much of the longest answer's memory is kept for the next.
const maxKept = 8 << 20

// answer is what was answered to a question.
type answer struct {
	body []byte // until the next question
	etag string
	// unchanged says that the body is that of the etag that was asked with.
	unchanged bool
}

func newClient(base *url.URL, opts Options) (*client, error) {
	tr, err := newTransport(opts)
	if err != nil {
		return nil, err
	}
	c := &client{
		base: base, timeout: opts.Timeout, maxPage: opts.MaxPage, maxPass: opts.MaxPass,
		token: &token{file: opts.TokenFile}, transport: tr,
	}
	c.http = http.Client{Transport: tr, CheckRedirect: c.redirect}
	return c, nil
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// begin begins a pass.
func (c *client) begin() error {
	c.left = c.maxPass
	if c.buf.Cap() > maxKept {
		c.buf = bytes.Buffer{}
	}
	return c.transport.refresh()
}

// redirect follows what stays at the same scheme, host and port. All else would
// get the token.
func (c *client) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case req.URL.Scheme != c.base.Scheme || req.URL.Host != c.base.Host:
		return &failure{what: fmt.Sprintf("it redirects to %.100s, which is not followed, for that would get the token: if it is right, write it as the URL", req.URL.Redacted())}
	case len(via) > maxRedirects:
		return &failure{what: fmt.Sprintf("it redirects more than %d times: check the URL", maxRedirects)}
	}
	return nil
}

// get asks for a path below the base URL. It returns errAbsent for one that does
// not exist, a *failure, or ctx's error. etag is what the answer had the last
// time, "" if nothing.
func (c *client) get(ctx context.Context, path, etag string) (answer, error) {
	secret, err := c.token.read()
	if err != nil {
		return answer{}, err
	}
	a, status, err := c.once(ctx, path, etag, secret)
	if status == http.StatusUnauthorized {
		// It may have been replaced while it was on the way.
		again, tokenErr := c.token.read()
		if tokenErr == nil && again != secret {
			a, _, err = c.once(ctx, path, etag, again)
		}
	}
	return a, err
}

func (c *client) once(ctx context.Context, path, etag, secret string) (answer, int, error) {
	asking, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(asking, http.MethodGet, c.base.String()+"/"+path, nil)
	if err != nil {
		return answer{}, 0, &failure{what: err.Error()}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "meshvip")
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	r, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return answer{}, 0, ctx.Err()
		}
		return answer{}, 0, unanswered(err, c.timeout)
	}
	defer r.Body.Close()
	switch {
	case r.StatusCode == http.StatusNotModified && etag != "":
		return answer{etag: etag, unchanged: true}, r.StatusCode, nil
	case r.StatusCode != http.StatusOK:
		return answer{}, r.StatusCode, refused(r, time.Now())
	}
	if typ := mediaType(r.Header); typ != "application/json" {
		return answer{}, r.StatusCode, &failure{what: fmt.Sprintf("the answer is %s and not JSON: check that the URL is that of a control plane's API, and not of its GUI or of a login page before it", typ)}
	}
	data, err := c.readAll(ctx, r.Body)
	return answer{body: data, etag: r.Header.Get("ETag")}, r.StatusCode, err
}

// readAll reads a body, as far as it may be long.
func (c *client) readAll(ctx context.Context, body io.Reader) ([]byte, error) {
	limit := min(c.maxPage, c.left)
	c.buf.Reset()
	_, err := c.buf.ReadFrom(io.LimitReader(body, limit+1))
	data := c.buf.Bytes()
	c.left -= int64(len(data))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case int64(len(data)) > limit && limit < c.maxPage:
		return nil, &failure{what: fmt.Sprintf("all answers together are longer than %d bytes: check what answers there", c.maxPass)}
	case int64(len(data)) > limit:
		return nil, &failure{what: fmt.Sprintf("the answer is longer than %d bytes: check what answers there", c.maxPage)}
	case errors.Is(err, context.DeadlineExceeded):
		return nil, unanswered(err, c.timeout)
	case err != nil:
		return nil, &failure{what: fmt.Sprintf("the answer was cut off after %d bytes (%v): it is read again later", len(data), err)}
	}
	return data, nil
}

// mediaType returns the type of a body, for messages too.
func mediaType(h http.Header) string {
	typ, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return "of no known type"
	}
	return typ
}

// loopback reports whether the host of u is this machine.
func loopback(u *url.URL) bool {
	host := u.Hostname()
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// dialer opens connections. That takes at most as long as a whole answer.
func dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, KeepAlive: 15 * time.Second}
}
