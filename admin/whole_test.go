package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// paths are all that can be asked for without a body.
var paths = []string{
	"/v1/status", "/v1/meshes", "/v1/table", "/v1/table?mesh=m&limit=1", "/v1/pools", "/v1/explain?q=0:web", "/v1/explain?q=240.0.0.1",
	"/v1/explain?q=web.mesh", "/v1/conflicts", "/v1/sources", "/v1/changes", "/v1/verify", "/v1/moves", "/v1/held",
}

// nulls returns the places in a JSON value that are null.
func nulls(at string, v any) (found []string) {
	switch v := v.(type) {
	case nil:
		return []string{at}
	case map[string]any:
		for k, v := range v {
			found = append(found, nulls(at+"."+k, v)...)
		}
	case []any:
		for i, v := range v {
			found = append(found, nulls(fmt.Sprintf("%s[%d]", at, i), v)...)
		}
	}
	return found
}

func TestNoListIsEverNull(t *testing.T) {
	t.Parallel()
	empty, full := newRig(t), explained(t)
	bare := &admin.Table{Alloc: full.alloc, Offline: true}
	poor := newRig(t, func(c *allocator.Config) { c.Layout = allocator.Ranges(netip.MustParsePrefix("10.0.0.0/32")) })
	poor.apply(part(set("m", many(20)...), set("n", "0:x")))
	poor.apply(part(vip.MeshUpdate{Mesh: "n", Gone: true}))
	for name, table := range map[string]*admin.Table{"empty": empty.table, "full": full.table, "bare": bare, "poor": poor.table} {
		h := admin.Observed(admin.Handler(table))
		for _, path := range paths {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			var v any
			if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
				t.Errorf("%s, %s: %v in %s", name, path, err, w.Body)
			}
			if found := nulls("", v); len(found) > 0 {
				t.Errorf("%s, %s: null at %v", name, path, found)
			}
			if w.Code == 500 || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s, %s: %d, %v", name, path, w.Code, w.Header())
			}
		}
	}
}

// TestEverythingCanBeAskedWhileTheTableChanges is for the race detector, and for
// answers that hang together.
func TestEverythingCanBeAskedWhileTheTableChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(full(set("m", "0:web"), set("n")))
	ctx, cancel := context.WithCancel(t.Context())
	var asking, watching sync.WaitGroup
	seen := make(chan uint64, 1000)
	watching.Go(func() {
		_ = r.Watch(ctx, "0", func(e admin.StreamEvent) error {
			if e.Gap == nil {
				seen <- e.Change.Revision
			}
			return nil
		})
		close(seen)
	})
	for range 3 {
		asking.Go(func() {
			for range 15 {
				for _, path := range paths {
					w := httptest.NewRecorder()
					admin.Handler(r.table).ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
					if w.Code != http.StatusOK && w.Code != http.StatusServiceUnavailable {
						t.Errorf("%s: %d %s", path, w.Code, w.Body)
					}
				}
				last := ""
				for row, err := range r.Rows(ctx, "") {
					if err != nil || row.Entry <= last {
						t.Errorf("after %s comes %s, %v", last, row.Entry, err)
					}
					last = row.Entry
				}
			}
		})
	}
	for i := range 60 {
		r.apply(part(set("n", fmt.Sprintf("0:n-%03d", i)), drop("m", "0:x")))
		if i%3 == 0 {
			r.apply(part(drop("n", fmt.Sprintf("0:n-%03d", i))))
		}
	}
	asking.Wait()
	want := r.alloc.Stats().Meta.Revision
	next := uint64(1)
	for revision := range seen {
		if revision != next {
			t.Fatalf("the stream tells of revision %d after %d", revision, next-1)
		}
		if next++; revision == want {
			break
		}
	}
	cancel()
	watching.Wait()
}

// TestAnAnswerInTheProcessIsThatOfAServer: the same bytes, the same status.
func TestAnAnswerInTheProcessIsThatOfAServer(t *testing.T) {
	t.Parallel()
	r := explained(t)
	_, address := serve(t, r, "127.0.0.1:0")
	for _, path := range append(paths, "/v1/openapi.yaml", "/nowhere", "/v1/table?limit=x") {
		resp, want := ask(t, "GET", address, path, "")
		got := httptest.NewRecorder()
		admin.Handler(r.table).ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if got.Code != resp.StatusCode || got.Body.String() != want && path != "/v1/explain?q=240.0.0.1" {
			t.Errorf("%s: %d %.200s, and over TCP %d %.200s", path, got.Code, got.Body, resp.StatusCode, want)
		}
	}
}

func TestAPanicIsNotTheEndOfATool(t *testing.T) {
	t.Parallel()
	c := admin.InProcess(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") }))
	_, err := c.Status(t.Context())
	wantCode(t, err, 500, admin.Internal, "500")
	half := admin.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"version":`)
		panic("a bug")
	}))
	if _, err := half.Status(t.Context()); err == nil {
		t.Error("half an answer is taken for one")
	}
}
