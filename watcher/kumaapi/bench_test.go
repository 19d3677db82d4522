package kumaapi

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher"
)

// canned answers as a control plane does that has many Dataplanes, from texts that
// are made beforehand.
type canned struct {
	pages  [][]byte
	header http.Header
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte(`{"total":0,"items":[],"next":null}`)
	switch r.URL.Path {
	case "/":
		body = []byte(`{"version":"2.14.0"}`)
	case "/config":
		body = []byte(`{"mode":"zone"}`)
	case "/dataplanes":
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset")) // none is the first page
		body = c.pages[offset/pageSize]
	}
	return &http.Response{StatusCode: http.StatusOK, Header: c.header, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

// fill makes the pages of n Dataplanes.
func (c *canned) fill(n int, first string) {
	c.pages = nil
	for at := 0; at < n; at += pageSize {
		var items []string
		for i := at; i < min(n, at+pageSize); i++ {
			name := fmt.Sprintf("proxy-%06d", i)
			if i == n/2 {
				name = first
			}
			items = append(items, fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":%q,"creationTime":"2026-12-01T03:31:39Z","labels":{"kuma.io/env":"universal","kuma.io/zone":"default"},`+
				`"networking":{"address":"10.1.0.9","inbound":[{"port":8080,"tags":{"kuma.io/protocol":"http","kuma.io/service":"service-%d","kuma.io/zone":"default","version":"v1"}}]}}`, name, i/4))
		}
		next := "null"
		if at+pageSize < n {
			next = fmt.Sprintf(`"http://kuma/dataplanes?offset=%d&size=%d"`, at+pageSize, pageSize)
		}
		c.pages = append(c.pages, fmt.Appendf(nil, `{"total":%d,"items":[%s],"next":%s}`, n, strings.Join(items, ","), next))
	}
}

// BenchmarkPass reads everything once: where nothing has changed, and where one of
// the Dataplanes is another than before.
func BenchmarkPass(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		c := &canned{header: http.Header{"Content-Type": {"application/json"}}}
		c.fill(n, "first")
		other := &canned{}
		other.fill(n, "other")
		s, err := New(base, Options{transport: c})
		if err != nil {
			b.Fatal(err)
		}
		feed := &counted{}
		f := newFollower(s, feed)
		pass := func() {
			if !f.pass(b.Context()) {
				b.Fatal("the pass was given up")
			}
			f.tell()
		}
		pass()
		pass()
		if feed.puts != n || !feed.state.Read || feed.state.Incomplete != "" {
			b.Fatalf("%d puts, %+v, %q", feed.puts, feed.state, s.Status().Problems)
		}
		b.Run(fmt.Sprintf("unchanged/items=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pass()
			}
			if feed.puts != n {
				b.Fatalf("%d puts", feed.puts)
			}
		})
		b.Run(fmt.Sprintf("another/items=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.pages, other.pages = other.pages, c.pages
				before := feed.puts
				pass()
				if feed.puts > before+2 {
					b.Fatalf("%d puts", feed.puts-before)
				}
			}
		})
	}
}

// counted is a feed that counts.
type counted struct {
	heard
	puts int
}

func (c *counted) Put(string, []watcher.Resource) { c.puts++ }
