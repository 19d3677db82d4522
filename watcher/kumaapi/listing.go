package kumaapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

const (
	// pageSize is the largest that Kuma gives.
	pageSize = 1000
	// maxPages bounds how many pages of one kind are read.
	maxPages = 100_000
	// maxTries is how often a list that changes while it is read is begun anew.
	maxTries = 3
)

// page is one page of a listing, as it was read. It is immutable: as long as its
// bytes are the same, all passes have the same one.
type page struct {
	total, next int
	items       []*item
}

// listing is a kind of which all pages were read.
type listing struct {
	pages []*page
	// whole says that it did not change meanwhile. Where it did, an item may be
	// missing that is there.
	whole bool
	// absent says that the control plane does not know the kind.
	absent bool
}

type sum = [sha256.Size]byte

// cached is a page as it was answered the last time.
type cached struct {
	etag string
	sum  sum
	page *page
}

// pager lists one kind, and knows what it read the last time.
type pager struct {
	*kind
	reader
	client *client
	path   string // that answered last
	pages  map[int]cached
}

func newPager(k *kind, r reader, c *client) *pager {
	return &pager{kind: k, reader: r, client: c, path: k.paths[0]}
}

// list reads all pages. A list that changes while it is read is read again, a few
// times.
func (p *pager) list(ctx context.Context) (listing, error) {
	var got listing
	var err error
	for range maxTries {
		if got, err = p.once(ctx); err != nil || got.whole || got.absent {
			break
		}
	}
	return got, err
}

// once reads all pages under the path that answers.
func (p *pager) once(ctx context.Context) (listing, error) {
	got, err := p.walk(ctx)
	if !errors.Is(err, errAbsent) {
		return got, err
	}
	for _, path := range p.paths {
		was := p.path
		if path == was {
			continue
		}
		p.path, p.pages = path, nil
		if got, err = p.walk(ctx); !errors.Is(err, errAbsent) {
			return got, err
		}
		p.path = was
	}
	if p.always {
		return listing{}, &failure{what: "404 Not Found, which every control plane has: check that the URL is that of a control plane's API, with the path that a proxy may put before it"}
	}
	return listing{absent: true}, nil
}

// walk follows the pages to the end. It returns errAbsent where there is no such
// path.
func (p *pager) walk(ctx context.Context) (listing, error) {
	pages := make(map[int]cached)
	known := p.known()
	var got listing
	steady, count := true, 0
	for offset := 0; offset != end; {
		c, err := p.get(ctx, offset, known)
		if errors.Is(err, errAbsent) && offset > 0 {
			err = &failure{what: fmt.Sprintf("404 Not Found in the middle of the listing, at offset %d: it is read again later", offset)}
		}
		if err != nil {
			return listing{}, err
		}
		pages[offset] = c
		got.pages = append(got.pages, c.page)
		count += len(c.page.items)
		steady = steady && c.page.total == got.pages[0].total
		next := c.page.next
		switch {
		case next == end:
		case next <= offset:
			return listing{}, &failure{what: fmt.Sprintf("after offset %d the listing goes on at %d, which never ends: check what stands between here and the control plane", offset, next)}
		case len(c.page.items) == 0, len(got.pages) == maxPages:
			return listing{}, &failure{what: fmt.Sprintf("the listing does not end (%d pages, the last one with %d items): check what stands between here and the control plane", len(got.pages), len(c.page.items))}
		}
		offset = next
	}
	if count == 0 && p.typ == kuma.TypeMesh {
		return listing{}, &failure{what: "it lists no mesh at all, so that nothing can be in any: check that the URL is that of a control plane's API, or create a mesh"}
	}
	got.whole = steady && count == got.pages[0].total
	p.pages = pages
	return got, nil
}

// known returns what has the items that were read the last time, by their bytes.
// It is made where a page has changed: most often none has.
func (p *pager) known() func() map[sum]*item {
	return sync.OnceValue(func() map[sum]*item {
		items := make(map[sum]*item)
		for _, c := range p.pages {
			for _, it := range c.page.items {
				items[it.sum] = it
			}
		}
		return items
	})
}

// get reads one page.
func (p *pager) get(ctx context.Context, offset int, known func() map[sum]*item) (cached, error) {
	path := p.path + "?size=" + strconv.Itoa(pageSize)
	if offset > 0 {
		path += "&offset=" + strconv.Itoa(offset)
	}
	before := p.pages[offset]
	a, err := p.client.get(ctx, path, before.etag)
	if err != nil {
		return cached{}, err
	}
	if a.unchanged {
		return before, nil
	}
	c := cached{etag: a.etag, sum: sha256.Sum256(a.body), page: before.page}
	if before.page != nil && c.sum == before.sum {
		return c, nil
	}
	b, err := parse(a.body)
	if err != nil {
		return cached{}, &failure{what: err.Error()}
	}
	c.page = &page{total: b.total, next: b.next, items: make([]*item, len(b.items))}
	items := known()
	for i, raw := range b.items {
		s := sha256.Sum256(raw)
		it := items[s]
		if it == nil {
			it = p.read(p.kind, raw)
			it.sum = s
			items[s] = it
		}
		c.page.items[i] = it
	}
	return c, nil
}
