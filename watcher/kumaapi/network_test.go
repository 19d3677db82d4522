package kumaapi

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
)

// serve serves k on a port of its own.
func serve(t *testing.T, k http.Handler) *httptest.Server {
	srv := httptest.NewServer(k)
	t.Cleanup(srv.Close)
	return srv
}

// networked is a rig that asks over the network.
func networked(t *testing.T, k *fakekuma.Server, at string, opts Options) *rig {
	t.Helper()
	s, err := New(at, opts)
	if err != nil {
		t.Fatal(err)
	}
	return rigOf(t, k, s)
}

// write writes a file, in one step for who reads it.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAControlPlaneIsReadOverTheNetwork(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Set(func(s *fakekuma.Settings) { s.PageSize, s.ETags = 1, true })
	r := networked(t, k, serve(t, k).URL+"/", Options{}).pass().want(all).problems()
	r.pass().wantPuts()
	r.faults(&fakekuma.Fault{Path: "dataplanes", Page: 2, Cut: true})
	r.kuma.Remove("dataplanes", "m", "a") // or page 2 is as it was, and has no body
	r.kuma.Put("dataplanes", dp("default", "aa", "web"))
	r.pass().want(all).problems("/dataplanes: ...cut off after")
	r.faults(&fakekuma.Fault{Path: "dataplanes", Page: 2, Redirect: "/dataplanes?size=1000&offset=1"}).pass().problems("redirects more than 3 times")
}

func TestTheURLMayHaveAPathBeforeThatOfTheAPI(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Set(func(s *fakekuma.Settings) { s.Prefix, s.PageSize = "/api/kuma", 1 })
	srv := serve(t, k)
	networked(t, k, srv.URL+"/api/kuma", Options{}).pass().want(all).problems()
	networked(t, k, srv.URL, Options{}).pass().want("").
		problems("/meshes, /dataplanes: 404 Not Found, which every control plane has...with the path", ": it is not known what control plane")
}

func TestOnlyTheConfiguredHostIsAsked(t *testing.T) {
	t.Parallel()
	var strays atomic.Int32
	elsewhere := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strays.Add(1) }))
	k := twoMeshes()
	token := write(t, filepath.Join(t.TempDir(), "token"), "secret\n")
	k.Set(func(s *fakekuma.Settings) { s.Token, s.PageSize = "secret", 2 })
	r := networked(t, k, serve(t, k).URL, Options{TokenFile: token})
	r.faults(&fakekuma.Fault{Path: "dataplanes", Page: 1, Next: elsewhere.URL + "/dataplanes?offset=%d&size=2"}).pass().want(all).problems()
	r.faults(&fakekuma.Fault{Path: "dataplanes", Redirect: elsewhere.URL + "/dataplanes"}).pass().want(all).
		problems("it redirects to " + elsewhere.URL + "/dataplanes, which is not followed")
	if n := strays.Load(); n > 0 {
		t.Errorf("another host was asked %d times", n)
	}
}

func TestATokenMayBeReplacedAtAnyTimeAndIsNeverShown(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Set(func(s *fakekuma.Settings) { s.Token = "first-secret" })
	var logged bytes.Buffer
	token := filepath.Join(t.TempDir(), "token")
	r := networked(t, k, serve(t, k).URL, Options{TokenFile: token, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	r.pass().problems("the token file cannot be read").want("")
	write(t, token, " first-secret \n")
	r.pass().want(all).problems()
	r.set(func(s *fakekuma.Settings) { s.Token = "second-secret" })
	r.pass().want(all).problems(": 401 Unauthorized: the token is missing, has run out or was revoked")
	write(t, token, "second-secret")
	r.pass().want(all).problems()
	// It is replaced while a request is on its way.
	write(t, token, "first-secret")
	r.faults(&fakekuma.Fault{Path: "/config", Times: 1, Before: func() { write(t, token, "second-secret") }})
	r.set(func(s *fakekuma.Settings) { s.Version = "2.15.0" })
	r.pass().want(all).problems()
	for _, bad := range []string{"", " \n", "one-secret two-secret", "line-secret\nline", "umlaut-secret-ü", "nul-secret\x00", strings.Repeat("secret", 20_000)} {
		write(t, token, bad)
		r.pass().want(all).problems("the token file " + token + " does not hold one token")
	}
	shown := logged.String()
	for _, p := range r.f.Status().Problems {
		shown += p.What
	}
	if strings.Contains(shown, "secret") || shown == "" {
		t.Errorf("shown: %s", shown)
	}
}

func TestATokenThatGoesInClearIsTold(t *testing.T) {
	t.Parallel()
	token := write(t, filepath.Join(t.TempDir(), "token"), "secret")
	for at, clear := range map[string]bool{
		"http://kuma:5681": true, "http://192.0.2.1:5681": true, "http://[2001:db8::1]:5681": true,
		"https://kuma:5682": false, "http://localhost:5681": false, "http://127.0.0.1:5681": false, "http://[::1]:5681": false,
	} {
		s, err := New(at, Options{TokenFile: token, transport: twoMeshes().Transport()})
		if err != nil {
			t.Fatal(err)
		}
		r := rigOf(t, twoMeshes(), s).pass().want(all)
		if clear {
			r.problems("the token goes there in clear")
		} else {
			r.problems()
		}
	}
	newRig(t, twoMeshes(), Options{}).pass().problems()
}

func TestNobodyAtThePortIsToldOnce(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + l.Addr().String()
	l.Close()
	r := networked(t, twoMeshes(), at, Options{}).pass().want("").problems(at + ": it cannot be reached...check that the control plane runs")
	if !r.f.last.nothing || r.feed.state.Read {
		t.Errorf("%+v, %+v", r.f.last, r.feed.state)
	}
}

func TestAConnectionThatBreaksConcernsOneKind(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	breaks := false
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if breaks && r.URL.Path == "/dataplanes" {
			panic(http.ErrAbortHandler)
		}
		k.ServeHTTP(w, r)
	}))
	r := networked(t, k, srv.URL, Options{}).pass().want(all)
	breaks = true
	r.pass().want(all).problems("/dataplanes: the connection broke")
}

func TestWhatIsNoURLOfAControlPlaneIsRefused(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"":                                 "is no URL of a control plane",
		"kuma:5681":                        "is no URL of a control plane",
		"ftp://kuma":                       "is no URL of a control plane",
		"http://:5681":                     "is no URL of a control plane",
		"http://kuma:5681/?size=3":         "a query or a fragment",
		"http://kuma:5681/#dataplanes":     "a query or a fragment",
		"http://user:hunter2@kuma:5681":    "put a token into a file",
		"http://user:hunter2@kuma:port/":   "cannot be read",
		"http://kuma:5681/%zz":             "cannot be read",
		"http://[::1":                      "cannot be read",
		"http://kuma:5681\n":               "cannot be read",
		"http://user:hunter2@[::1:5681/%z": "cannot be read",
	} {
		_, err := New(at, Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", at, err)
		}
	}
	for _, opts := range []Options{{Cert: "c"}, {Key: "k"}, {Interval: -1}, {Timeout: -time.Second}, {MaxPage: -1}, {MaxPass: -1}} {
		if _, err := New(base, opts); err == nil || !strings.Contains(err.Error(), base) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
	s, err := New("HTTP://Kuma:5681/api//", Options{})
	if err != nil || s.URL() != "http://kuma:5681/api" {
		t.Errorf("%v, %v", s, err)
	}
}

func TestPlacesAreURLsThatLeadToTheResource(t *testing.T) {
	t.Parallel()
	k := fakekuma.New()
	k.Put("dataplanes", dp("default", "odd/na me?#%", "web"))
	r := started(t, k, Options{})
	for place := range r.feed.places {
		u, err := url.Parse(place)
		if err != nil || u.RawQuery+u.Fragment != "" {
			t.Errorf("%s: %v", place, err)
		}
	}
	r.wantPuts("/meshes/default", "/meshes/default/dataplanes/odd%2Fna%20me%3F%23%25")
}
