package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Client asks an admin interface. It may be used by several goroutines.
type Client struct {
	http *http.Client
	base string
}

// Dial returns a client of the server at an address: "unix:PATH" or a path with
// a "/" in it, "HOST:PORT", or a URL with http or https. It does not connect
// yet.
func Dial(address string) (*Client, error) {
	path, unix := strings.CutPrefix(address, "unix:")
	switch {
	case address == "" || unix && path == "":
		return nil, fmt.Errorf("%q is not an address: want unix:PATH or HOST:PORT", address)
	case strings.HasPrefix(address, "http://"), strings.HasPrefix(address, "https://"):
		if u, err := url.Parse(address); err != nil || u.Host == "" {
			return nil, fmt.Errorf("%q is not a URL of a server", address)
		}
		return NewClient(strings.TrimRight(address, "/"), nil), nil
	case unix || strings.Contains(address, "/"):
		t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}
		return NewClient("http://localhost", t), nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("%q is not an address: want unix:PATH or HOST:PORT", address)
	}
	return NewClient("http://"+address, nil), nil
}

// NewClient returns a client of the server at a base URL. A nil transport is
// one of its own over TCP.
func NewClient(base string, t http.RoundTripper) *Client {
	if t == nil {
		t = &http.Transport{}
	}
	return &Client{http: &http.Client{Transport: t}, base: base}
}

// InProcess returns a client of a handler in the same process.
func InProcess(h http.Handler) *Client { return NewClient("http://localhost", handlerTransport{h}) }

// Close gives idle connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Error is an answer that is an error. [errors.As] finds it in what the methods
// of a client return; other errors are of the connection.
type Error struct {
	Status  int // of HTTP
	Code    Code
	Message string
}

// Error returns the server's message.
func (e *Error) Error() string { return e.Message }

// Status asks for the server and its table at a glance.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.get(ctx, "/v1/status", nil, &s)
}

// Meshes asks for the names of meshes and how many entries they list.
func (c *Client) Meshes(ctx context.Context) (m Meshes, err error) {
	return m, c.get(ctx, "/v1/meshes", nil, &m)
}

// TableQuery says which rows of the table are wanted.
type TableQuery struct {
	// Mesh: only what it lists; empty: all.
	Mesh string
	// After is the Next of the page before, or an entry; empty: the first page.
	After string
	// Limit bounds the rows of the page; 0 is the server's choice.
	Limit int
}

// Table asks for a page of the table.
func (c *Client) Table(ctx context.Context, q TableQuery) (p TablePage, err error) {
	return p, c.get(ctx, "/v1/table", values("mesh", q.Mesh, "after", q.After, "limit", number(q.Limit)), &p)
}

// Rows asks for all rows that mesh lists, or for all where it is empty, page by
// page. After an error there are no more. What changes meanwhile may be among
// them before or after the change.
func (c *Client) Rows(ctx context.Context, mesh string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		q := TableQuery{Mesh: mesh}
		for {
			p, err := c.Table(ctx, q)
			if err != nil {
				yield(Row{}, err)
				return
			}
			for _, r := range p.Rows {
				if !yield(r, nil) {
					return
				}
			}
			if q.After = p.Next; q.After == "" {
				return
			}
		}
	}
}

// Pools asks for the pools and how far they are used.
func (c *Client) Pools(ctx context.Context) (p Pools, err error) {
	return p, c.get(ctx, "/v1/pools", nil, &p)
}

// Explain asks for all that is known of a name, an address or an entry.
func (c *Client) Explain(ctx context.Context, q string) (e Explanation, err error) {
	return e, c.get(ctx, "/v1/explain", url.Values{"q": {q}}, &e)
}

// Conflicts asks for what is not as somebody asked for it, at most limit of each
// sort; 0 is the server's choice.
func (c *Client) Conflicts(ctx context.Context, limit int) (x Conflicts, err error) {
	return x, c.get(ctx, "/v1/conflicts", values("limit", number(limit)), &x)
}

// Sources asks how the sources fare.
func (c *Client) Sources(ctx context.Context) (s Sources, err error) {
	return s, c.get(ctx, "/v1/sources", nil, &s)
}

// Changes asks for the changes after since, which is a serial, the ID of a
// change, or the Next of the answer before; empty: all that are remembered.
func (c *Client) Changes(ctx context.Context, since string, limit int) (x Changes, err error) {
	return x, c.get(ctx, "/v1/changes", values("since", since, "limit", number(limit)), &x)
}

// Verify lets the server read its store back and verify it. A broken store is
// no error.
func (c *Client) Verify(ctx context.Context) (v Verified, err error) {
	return v, c.get(ctx, "/v1/verify", nil, &v)
}

// Moves asks for the plan of moves that waits.
func (c *Client) Moves(ctx context.Context) (m Moves, err error) {
	return m, c.get(ctx, "/v1/moves", nil, &m)
}

// ConfirmMoves lets a plan be carried out. The code of the error is [Conflict]
// if another plan waits, or none.
func (c *Client) ConfirmMoves(ctx context.Context, plan string) (m Confirmed, err error) {
	return m, c.post(ctx, "/v1/moves/confirm", Confirm{Plan: plan}, &m)
}

// Plan asks what a layout would move. It changes nothing.
func (c *Client) Plan(ctx context.Context, l Layout) (m Moves, err error) {
	return m, c.post(ctx, "/v1/plan", l, &m)
}

// Held asks for the releases that are held.
func (c *Client) Held(ctx context.Context) (h Held, err error) {
	return h, c.get(ctx, "/v1/held", nil, &h)
}

// ReleaseHeld lets exactly the named holds go. The code of the error is
// [Conflict] if one of them is another by now; nothing has gone then.
func (c *Client) ReleaseHeld(ctx context.Context, names ...string) (r Released, err error) {
	return r, c.post(ctx, "/v1/held/release", Release{Holds: names}, &r)
}

// Backup asks for a backup of the whole table. The caller closes it; an error
// while it is read means that it is not whole.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) {
	resp, err := c.do(ctx, http.MethodGet, "/v1/backup", nil, nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

func (c *Client) get(ctx context.Context, path string, q url.Values, answer any) error {
	resp, err := c.do(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return err
	}
	return c.decode(resp, answer)
}

func (c *Client) post(ctx context.Context, path string, body, answer any) error {
	resp, err := c.do(ctx, http.MethodPost, path, nil, body)
	if err != nil {
		return err
	}
	return c.decode(resp, answer)
}

func (c *Client) decode(resp *http.Response, answer any) error {
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return fmt.Errorf("the answer to %s cannot be read: %w", resp.Request.URL.Path, err)
	}
	return nil
}

// do makes a request. Its error is an [*Error] where the server answered with
// one.
func (c *Client) do(ctx context.Context, method, path string, q url.Values, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = strings.NewReader(string(b))
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	req.URL.RawQuery = q.Encode()
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, readError(resp)
}

// readError returns the error that an answer says.
func readError(resp *http.Response) *Error {
	e := &Error{Status: resp.StatusCode, Code: Internal}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	var f Failure
	if json.Unmarshal(b, &f) == nil && f.Error != "" {
		e.Code, e.Message = f.Code, f.Error
		return e
	}
	e.Message = fmt.Sprintf("the server answered %s, and is not meshvip's admin interface perhaps", resp.Status)
	return e
}

// values returns a query of pairs of names and values, without those that have
// no value.
func values(pairs ...string) url.Values {
	q := make(url.Values)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
