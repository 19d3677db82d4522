package admin_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/admin"
)

// serve serves a table on an address until the test ends, and returns a client
// and the address in full.
func serve(t *testing.T, r *rig, address string) (*admin.Client, string) {
	t.Helper()
	l, err := admin.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(address, "unix:") {
		address = l.Addr().String()
	}
	s := admin.NewServer(admin.Observed(admin.Handler(r.table)), nil)
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	c, err := admin.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := errors.Join(s.Close(), <-done); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return c, address
}

// socketDir returns a directory whose path is short enough for sockets.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "admin")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestASocketIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := socketDir(t)
	path := filepath.Join(dir, "meshvip.db.sock")
	c, _ := serve(t, r, "unix:"+path)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the directory has %v", left)
	}
	if s := must[admin.Status](t)(c.Status(t.Context())); s.Version != "v1.2.3" {
		t.Errorf("status %+v", s)
	}
	if _, err := admin.Listen("unix:" + path); err == nil || !strings.Contains(err.Error(), "another server listens there") {
		t.Errorf("a living server's socket is taken: %v", err)
	}
	// A path alone does too.
	c2, err := admin.Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c2.Close()
	must[admin.Status](t)(c2.Status(t.Context()))
}

func TestTheSocketOfADeadServerIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(socketDir(t), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	l, err := admin.Listen("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestASocketThatIsAnothersByNowStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(socketDir(t), "s")
	l, err := admin.Listen("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("what another put there is gone: %v", err)
	}
}

func TestAnAddressThatCannotBeSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := socketDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for address, want := range map[string]string{
		"unix:" + file: "no socket: remove it",
		"unix:" + filepath.Join(dir, strings.Repeat("x", 200)): "write a shorter one",
		"unix:" + filepath.Join(dir, "no", "s"):                "needs a directory",
		l.Addr().String():                                      "choose another address",
	} {
		if l, err := admin.Listen(address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, %v, want %q", address, l, err, want)
		}
	}
	for _, address := range []string{"", "unix:", "localhost", "http://"} {
		if _, err := admin.Dial(address); err == nil {
			t.Errorf("%q is an address to dial", address)
		}
	}
}

// ask sends a request to a server over TCP and returns the answer.
func ask(t *testing.T, method, address, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func TestNoWebPageCanAskOverTCP(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, address := serve(t, r, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(address)
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
	}{
		{"GET", "/v1/status", nil, 200},
		{"GET", "/v1/status", []string{"Host", "localhost:" + port}, 200},
		{"GET", "/v1/status", []string{"Host", "[::1]:" + port}, 200},
		{"GET", "/v1/status", []string{"Host", "[::1]"}, 200},
		{"GET", "/v1/status", []string{"Host", "evil.example:" + port}, 403},
		{"GET", "/v1/status", []string{"Host", "127.0.0.1.evil.example"}, 403},
		{"GET", "/v1/status", []string{"Origin", "http://127.0.0.1"}, 403},
		{"POST", "/v1/plan", []string{"Origin", "null", "Content-Type", "application/json"}, 403},
		{"POST", "/v1/plan", []string{"Content-Type", "text/plain"}, 415},
		{"POST", "/v1/plan", nil, 415},
		{"POST", "/v1/plan", []string{"Content-Type", "application/json; charset=utf-8"}, 400},
	} {
		if resp, body := ask(t, c.method, address, c.path, "{}", c.headers...); resp.StatusCode != c.status {
			t.Errorf("%s %s %q: %s %s, want %d", c.method, c.path, c.headers, resp.Status, body, c.status)
		}
	}
}

func TestRequestsThatAreWrongAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, address := serve(t, r, "127.0.0.1:0")
	json := []string{"Content-Type", "application/json"}
	for _, c := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"GET", "/", "", 404, "openapi"},
		{"GET", "/v1/status/", "", 404, "not_found"},
		{"GET", "/v2/status", "", 404, "not_found"},
		{"GET", "/v1/../v1/status", "", 404, "not_found"},
		{"POST", "/v1/status", "", 405, "use GET, HEAD"},
		{"GET", "/v1/moves/confirm", "", 405, "use POST"},
		{"DELETE", "/v1/held", "", 405, "use GET, HEAD"},
		{"GET", "/v1/status?x=1", "", 400, "no parameter"},
		{"GET", "/v1/table?limit=1&limit=2", "", 400, "twice"},
		{"GET", "/v1/table?limit=0", "", 400, "limit"},
		{"GET", "/v1/table?limit=10001", "", 400, "limit"},
		{"GET", "/v1/table?limit=-1", "", 400, "limit"},
		{"GET", "/v1/table?limit=many", "", 400, "limit"},
		{"GET", "/v1/table?mesh=", "", 400, "mesh"},
		{"GET", "/v1/table?after=*", "", 400, "after"},
		{"GET", "/v1/table?after=9:x", "", 400, "after"},
		{"GET", "/v1/table?a;b", "", 400, "query"},
		{"GET", "/v1/explain", "", 400, "what to explain"},
		{"GET", "/v1/explain?q=" + strings.Repeat("a", 3000), "", 400, "what to explain"},
		{"GET", "/v1/conflicts?limit=x", "", 400, "limit"},
		{"GET", "/v1/changes?since=", "", 400, "since"},
		{"GET", "/v1/changes?since=-1", "", 400, "since"},
		{"GET", "/v1/changes?since=1.", "", 400, "since"},
		{"GET", "/v1/stream?since=1.2.3", "", 400, "since"},
		{"POST", "/v1/moves/confirm", "", 400, "cannot be read"},
		{"POST", "/v1/moves/confirm", "{", 400, "cannot be read"},
		{"POST", "/v1/moves/confirm", `{"plan":""}`, 400, "plan is empty"},
		{"POST", "/v1/moves/confirm", `{"plan":"0-1","force":true}`, 400, "unknown field"},
		{"POST", "/v1/moves/confirm", `{"plan":"0-1"} {}`, 400, "follows"},
		{"POST", "/v1/moves/confirm?plan=x", `{"plan":"0-1"}`, 400, "no parameter"},
		{"POST", "/v1/held/release", `{"holds":[]}`, 400, "holds is empty"},
		{"POST", "/v1/plan", `{"pools":[{"prefix":"nonsense"}]}`, 400, "cannot be read"},
		{"POST", "/v1/plan", `{"pools":["` + strings.Repeat("x", 9<<20) + `"]}`, 413, "larger"},
	} {
		resp, body := ask(t, c.method, address, c.target, c.body, json...)
		if resp.StatusCode != c.status || !strings.Contains(body, c.want) || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %.60s %.60s: %s %s, want %d and %q", c.method, c.target, c.body, resp.Status, body, c.status, c.want)
		}
		if c.status == 405 && !strings.Contains(c.want, resp.Header.Get("Allow")) {
			t.Errorf("%s %s: Allow is %q", c.method, c.target, resp.Header.Get("Allow"))
		}
	}
	resp, body := ask(t, "HEAD", address, "/v1/status", "")
	if resp.StatusCode != 200 || body != "" || resp.ContentLength <= 0 {
		t.Errorf("HEAD: %s, %q, %d bytes", resp.Status, body, resp.ContentLength)
	}
	if resp, _ := ask(t, "HEAD", address, "/v1/stream", ""); resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD of the stream: %s, %v", resp.Status, resp.Header)
	}
}

func TestAServerThatEndsEndsItsStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l, err := admin.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := admin.NewServer(admin.Observed(admin.Handler(r.table)), nil)
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+l.Addr().String()+"/v1/stream", nil)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), ":") {
		t.Fatalf("the stream begins with %q", lines.Text())
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if rest, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("the stream ends with %q, %v", rest, err)
	}
	if err := <-done; err != nil {
		t.Errorf("serving: %v", err)
	}
}

// TestAWatchGoesOnAfterTheServerCameBack: it connects again and lacks nothing.
func TestAWatchGoesOnAfterTheServerCameBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address := "unix:" + filepath.Join(socketDir(t), "s")
	start := func() func() {
		l, err := admin.Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		s := admin.NewServer(admin.Observed(admin.Handler(r.table)), nil)
		done := make(chan error)
		go func() { done <- s.Serve(l) }()
		return func() {
			if err := errors.Join(s.Close(), <-done); err != nil {
				t.Error(err)
			}
		}
	}
	stop := start()
	c, err := admin.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r.apply(full(set("m", "0:a")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan string)
	go func() {
		_ = c.Watch(ctx, "0", func(e admin.StreamEvent) error {
			if e.Gap != nil {
				got <- "gap"
				return nil
			}
			got <- eventTexts(*e.Change)[0]
			return nil
		})
		close(got)
	}()
	texts := []string{<-got}
	for _, name := range []string{"0:b", "0:c"} {
		stop()
		r.apply(part(set("m", name)))
		stop = start()
		texts = append(texts, <-got)
	}
	stop()
	cancel()
	for text := range got {
		texts = append(texts, text)
	}
	if want := []string{"mesh_created m", "listed 0:b m", "listed 0:c m"}; !slices.Equal(texts, want) {
		t.Errorf("watched %q, want %q", texts, want)
	}
}
