package admin

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// answered are the statuses that the tests have provoked, by method and path:
// the document must tell of each.
var answered struct {
	sync.Mutex
	m map[string]bool
}

// Observed returns a handler whose statuses are noted.
func Observed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := &observedAnswer{ResponseWriter: w}
		h.ServeHTTP(o, r)
		if _, ok := routes[r.URL.Path][r.Method]; ok {
			answered.Lock()
			defer answered.Unlock()
			if answered.m == nil {
				answered.m = make(map[string]bool)
			}
			answered.m[fmt.Sprint(r.Method, " ", r.URL.Path, " ", max(o.status, 200))] = true
		}
	})
}

type observedAnswer struct {
	http.ResponseWriter
	status int
}

func (o *observedAnswer) WriteHeader(status int) {
	o.status = status
	o.ResponseWriter.WriteHeader(status)
}

// Unwrap lets a [http.ResponseController] reach the answer.
func (o *observedAnswer) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// Flush implements [http.Flusher].
func (o *observedAnswer) Flush() { _ = http.NewResponseController(o.ResponseWriter).Flush() }

// all runs the tests and compares what they saw with the document.
type all struct{ *testing.M }

func (a all) Run() int {
	code := a.M.Run()
	undocumented := 0
	answered.Lock()
	defer answered.Unlock()
	for seen := range answered.m {
		var method, path, status string
		fmt.Sscan(seen, &method, &path, &status)
		if !documented(method, path, status) {
			fmt.Fprintf(os.Stderr, "the document does not tell that %s %s answers with %s\n", method, path, status)
			undocumented++
		}
	}
	return max(code, min(undocumented, 1))
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(all{m}) }
