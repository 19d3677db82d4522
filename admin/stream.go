package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// writeTimeout bounds how long a write to a stream may take: who does not read
// for that long is gone.
const writeTimeout = 30 * time.Second

// streamRows is about how much of what is remembered a stream takes at a time:
// what a client that does not read keeps from being forgotten.
const streamRows = 1000

// ready is news that is there.
var ready = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// stream answers with changes as they happen (server-sent events). A client is
// no more than a place in what the recorder remembers: it costs nothing there,
// and one that is too slow falls out of memory, is told so, and cut off.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, q url.Values) (any, error) {
	if h.t.Changes == nil {
		return nil, h.unknown("changes")
	}
	at, err := h.streamFrom(r, q)
	if err != nil {
		return nil, err
	}
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		return nil, failf(http.StatusServiceUnavailable, Unavailable, "%d streams are open: that is all there can be", cap(h.streams))
	}
	head(w, "text/event-stream")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil, nil
	}
	s := &sse{w: w, c: http.NewResponseController(w)}
	s.comment("stream")
	h.follow(r, s, at)
	return nil, nil
}

// streamFrom returns where a stream begins: where the client was, or where it
// asks for, or now.
func (h *handler) streamFrom(r *http.Request, q url.Values) (cursor, error) {
	since := r.Header.Get("Last-Event-ID")
	if since == "" {
		since = q.Get("since")
	}
	if since == "" {
		return h.t.Changes.position(), nil
	}
	c, err := parseCursor(since)
	if err != nil {
		return cursor{}, failf(http.StatusBadRequest, BadRequest, "since: %v", err)
	}
	return c, nil
}

// follow writes what comes after a place until the client or the recorder ends.
func (h *handler) follow(r *http.Request, s *sse, at cursor) {
	beat := time.NewTicker(h.heartbeat)
	defer beat.Stop()
	closing := closingOf(r.Context())
	for first := true; s.err == nil; first = false {
		p := h.t.Changes.after(at, streamRows)
		if !p.complete {
			s.event("gap", p.from.String(), Gap{Since: at.String(), Next: p.from.String()})
			if !first {
				return // it was too slow
			}
		}
		for _, commit := range p.commits {
			c := commit.change()
			s.event("change", c.ID, c)
			beat.Reset(h.heartbeat)
		}
		at = p.to
		news := p.news
		if p.more {
			news = ready
		} else if p.closed {
			return
		}
		select {
		case <-closing:
			return
		case <-r.Context().Done():
			return
		default:
		}
		select {
		case <-news:
		case <-beat.C:
			s.comment("alive")
		case <-closing:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// sse writes server-sent events. After an error it does nothing more.
type sse struct {
	w   http.ResponseWriter
	c   *http.ResponseController
	err error
}

func (s *sse) event(name, id string, data any) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\nid: %s\ndata: ", name, id)
	e := json.NewEncoder(&b) // it ends with one line feed, and has none inside
	e.SetEscapeHTML(false)
	if err := e.Encode(data); err != nil {
		s.err = err
		return
	}
	b.WriteByte('\n')
	s.write(b.Bytes())
}

func (s *sse) comment(text string) { s.write([]byte(": " + text + "\n\n")) }

func (s *sse) write(b []byte) {
	if s.err != nil {
		return
	}
	// A transport that has no deadline has a context.
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, s.err = s.w.Write(b); s.err == nil {
		s.err = s.c.Flush()
	}
}
