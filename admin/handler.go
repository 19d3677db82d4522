package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// handler serves a table.
type handler struct {
	t     *Table
	names naming
	// busy is held by what takes long and is asked for once at a time.
	busy sync.Mutex
	// streams has one for each stream that is open.
	streams chan struct{}
	// heartbeat is the pause after which a silent stream says that it is alive.
	heartbeat time.Duration
}

// maxStreams bounds how many streams are open at a time.
const maxStreams = 64

// Handler returns the interface to t. It may serve any number of requests at a
// time.
func Handler(t *Table) http.Handler { return newHandler(t) }

func newHandler(t *Table) *handler {
	return &handler{t: t, names: newNaming(t), streams: make(chan struct{}, maxStreams), heartbeat: 15 * time.Second}
}

// endpoint is one method of one path.
type endpoint struct {
	method, path string
	// params are the query parameters that it knows.
	params []string
	// serve answers; what it returns is written as JSON, unless it has written
	// an answer itself.
	serve func(h *handler, w http.ResponseWriter, r *http.Request, q url.Values) (any, error)
}

// endpoints are all there are. The document of the interface, openapi.yaml, has
// the same.
func endpoints() []endpoint {
	get, post := http.MethodGet, http.MethodPost
	return []endpoint{
		{get, "/v1/status", nil, (*handler).status},
		{get, "/v1/meshes", nil, (*handler).meshes},
		{get, "/v1/table", []string{"mesh", "after", "limit"}, (*handler).table},
		{get, "/v1/pools", nil, (*handler).pools},
		{get, "/v1/explain", []string{"q"}, (*handler).explain},
		{get, "/v1/conflicts", []string{"limit"}, (*handler).conflicts},
		{get, "/v1/sources", nil, (*handler).sources},
		{get, "/v1/changes", []string{"since", "limit"}, (*handler).changes},
		{get, "/v1/stream", []string{"since"}, (*handler).stream},
		{get, "/v1/verify", nil, (*handler).verify},
		{get, "/v1/moves", nil, (*handler).moves},
		{post, "/v1/moves/confirm", nil, (*handler).confirm},
		{post, "/v1/plan", nil, (*handler).plan},
		{get, "/v1/held", nil, (*handler).held},
		{post, "/v1/held/release", nil, (*handler).release},
		{get, "/v1/backup", nil, (*handler).backup},
		{get, "/v1/openapi.yaml", nil, (*handler).document},
	}
}

// routes are the endpoints by path and method.
var routes = func() map[string]map[string]endpoint {
	m := make(map[string]map[string]endpoint)
	for _, e := range endpoints() {
		if m[e.path] == nil {
			m[e.path] = make(map[string]endpoint)
		}
		m[e.path][e.method] = e
	}
	return m
}()

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := h.answer(w, r)
	switch {
	case err != nil:
		writeError(w, r, h.following(err))
	case answer != nil:
		writeJSON(w, http.StatusOK, answer)
	}
}

func (h *handler) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := admit(r); err != nil {
		return nil, err
	}
	methods, ok := routes[r.URL.Path]
	if !ok {
		return nil, failf(http.StatusNotFound, NotFound, "there is no %.100q: see /v1/openapi.yaml", r.URL.Path)
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	e, ok := methods[method]
	if !ok {
		allowed := allow(methods)
		w.Header().Set("Allow", allowed)
		return nil, failf(http.StatusMethodNotAllowed, BadRequest, "%s does not know %.20q: use %s", r.URL.Path, r.Method, allowed)
	}
	q, err := parameters(r, e.params)
	if err != nil {
		return nil, err
	}
	return e.serve(h, w, r, q)
}

// allow returns the methods of a path, as the header Allow has them.
func allow(methods map[string]endpoint) string {
	var names []string
	for m := range methods {
		names = append(names, m)
		if m == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// once runs what takes long, if nothing else of the kind runs.
func (h *handler) once(what string, f func() error) error {
	if !h.busy.TryLock() {
		return failf(http.StatusServiceUnavailable, Unavailable, "%s waits for another that is under way: try again later", what)
	}
	defer h.busy.Unlock()
	return f()
}
