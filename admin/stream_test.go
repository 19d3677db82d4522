package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// reader is a client that reads when a test lets it.
type reader struct {
	header http.Header
	writes chan string
	begun  chan struct{} // has one for each write, before that is read
}

func (r *reader) Header() http.Header { return r.header }
func (r *reader) WriteHeader(int)     {}
func (r *reader) Flush()              {}
func (r *reader) Write(b []byte) (int, error) {
	r.begun <- struct{}{}
	r.writes <- string(b)
	return len(b), nil
}

// streamed serves one stream to a reader until it ends, or the test does.
func streamed(t *testing.T, rec *Recorder, since string, beat time.Duration) (r *reader, done chan struct{}) {
	t.Helper()
	alloc, err := allocator.Open(t.Context(), memstore.New(), allocator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(&Table{Alloc: alloc, Changes: rec})
	h.heartbeat = beat
	ctx, cancel := context.WithCancel(t.Context())
	r, done = &reader{make(http.Header), make(chan string), make(chan struct{}, 1000)}, make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(r, httptest.NewRequestWithContext(ctx, "GET", "/v1/stream?since="+since, nil))
	}()
	t.Cleanup(func() {
		cancel()
		rec.Close()
		for {
			select {
			case <-r.writes:
			case <-done:
				return
			}
		}
	})
	return r, done
}

// commit is one of a revision that lists n entries.
func commit(revision uint64, n int) allocator.Commit {
	c := allocator.Commit{Meta: allocator.Meta{Serial: uint32(revision) + 100, Revision: revision}}
	for i := range n {
		e := vip.Entry{Name: fmt.Sprintf("s-%d-%d", revision, i)}
		c.Rows = append(c.Rows, allocator.RowChange{Key: e.Key(), New: &vip.Row{Entry: e, Listings: []vip.Listing{{Mesh: "m", Name: e.Name}}}})
	}
	return c
}

func wantWrite(t *testing.T, r *reader, want ...string) {
	t.Helper()
	got := <-r.writes
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("the stream says %.200q, want %q", got, w)
		}
	}
}

func TestAClientThatIsTooSlowIsCutOffAndToldWhereToGoOn(t *testing.T) {
	t.Parallel()
	rec := NewRecorder()
	rec.Begin(allocator.Meta{})
	r, done := streamed(t, rec, "0", time.Hour)
	wantWrite(t, r, ": stream")
	<-r.begun
	rec.Record(commit(1, 1))
	<-r.begun
	// It does not read that, until there is more than anybody remembers.
	for i := range 5 {
		rec.Record(commit(uint64(i)+2, ringRows-1))
	}
	wantWrite(t, r, "event: change\nid: 101.1\n")
	wantWrite(t, r, "event: gap\nid: 105.5\n", `data: {"since":"101.1","next":"105.5"}`)
	<-done
}

func TestASilentStreamSaysThatItIsAlive(t *testing.T) {
	t.Parallel()
	rec := NewRecorder()
	rec.Begin(allocator.Meta{})
	r, _ := streamed(t, rec, "0", time.Millisecond)
	wantWrite(t, r, ": stream")
	wantWrite(t, r, ": alive\n\n")
	wantWrite(t, r, ": alive\n\n")
}

func TestAStreamEndsWithTheRecorder(t *testing.T) {
	t.Parallel()
	rec := NewRecorder()
	rec.Begin(allocator.Meta{})
	r, done := streamed(t, rec, "0", time.Hour)
	wantWrite(t, r, ": stream")
	rec.Record(commit(1, 1))
	wantWrite(t, r, "id: 101.1")
	rec.Close()
	<-done
}

func TestThereAreOnlySoManyStreams(t *testing.T) {
	t.Parallel()
	rec := NewRecorder()
	t.Cleanup(rec.Close)
	h := newHandler(&Table{Changes: rec})
	for range maxStreams {
		h.streams <- struct{}{}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/stream", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "64 streams") {
		t.Errorf("one stream too many: %d %s", w.Code, w.Body)
	}
}

// TestMemoryIsBounded: whatever is recorded, no more is remembered than the
// bounds and the last commit.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	rec := NewRecorder()
	for i := range uint64(300) {
		rec.Record(commit(i+1, int(i*37)%400+1))
		rows := 0
		for _, r := range rec.ring {
			rows += r.rows
		}
		if rows != rec.rows || rows > ringRows || len(rec.ring) == 0 {
			t.Fatalf("%d rows are remembered, %d counted, of %d commits", rows, rec.rows, len(rec.ring))
		}
	}
	rec.Record(commit(301, 3*ringRows))
	rec.Record(commit(302, 1))
	if len(rec.ring) != 1 || rec.rows != 1 {
		t.Errorf("%d commits with %d rows are remembered", len(rec.ring), rec.rows)
	}
	if p := rec.after(cursor{serial: 400, revision: 300}, 1); p.complete || len(p.commits) != 1 {
		t.Errorf("after the forgotten one: %+v", p)
	}
	if p := rec.after(cursor{serial: 401, revision: 301}, 1); !p.complete || len(p.commits) != 1 {
		t.Errorf("after the last but one: %+v", p)
	}
}

func FuzzParseCursor(f *testing.F) {
	for _, s := range []string{"0", "1.2", "4294967295.18446744073709551614", "1.", ".1", "+1", "01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCursor(s)
		if err != nil {
			return
		}
		if again, err := parseCursor(c.String()); err != nil || again != c {
			t.Fatalf("%q is %v, read again %v, %v", s, c, again, err)
		}
	})
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"240.0.0.1", "::ffff:1.2.3.4", "1.0.0.240.in-addr.arpa.", "ip6.arpa", "fe80::1%eth0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, ok := parseAddress(s); ok && (!a.IsValid() || a.Is4In6() || a.Zone() != "") {
			t.Fatalf("%q is %v", s, a)
		}
	})
}

func FuzzParseAfter(f *testing.F) {
	for _, s := range []string{"0:web", "MDp3ZWI", "3:m/x", "*", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := parseAfter(s)
		if err != nil || key == (vip.Key{}) {
			return
		}
		if again, err := parseAfter(formatAfter(key)); err != nil || again != key {
			t.Fatalf("%q is %v, read again %v, %v", s, key, again, err)
		}
	})
}
