package kumaapi

import (
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// goneAfter is how many complete passes in a row have to lack a resource before
// it counts as removed. The pages of a listing are cut out of a list that is made
// anew for each: where something is removed meanwhile, the next page begins one
// too late.
const goneAfter = 2

// mirror is the state machine of the source. It is told what each pass found,
// and collects what the feed is to be told. It does no input or output, and is not
// safe for concurrent use.
type mirror struct {
	base  string // URL of the control plane
	zone  string // ours
	kinds []*listed
	pass  uint64
	// changes are the places that declare something else than the feed was told
	// last; nil where they are gone.
	changes map[string][]watcher.Resource

	plane   controlPlane
	unknown string // why it is not known what control plane this is
	clear   bool   // a token goes to it in clear

	authority
	report
}

// listed is what is known of one kind.
type listed struct {
	*kind
	entries map[string]*entry // by place
	// pages are those of the last listing, if that was whole.
	pages []*page
	// missing is how many entries that listing lacked.
	missing int
	// known says that the kind was listed as a whole once, or was absent.
	known, absent, unsteady bool
	failure                 *failure // why it could not be listed the last time
	// bare says that no Dataplane has a service tag any more, although some had.
	bare bool
	// lost are items that are set aside, of which no last good version is known
	// and nothing else, for their identity could not be read. kept are others
	// without an identity, that may be some of those that the listing lacks.
	lost, kept []*item
	// troubled are the entries with which something is wrong.
	troubled map[string]*entry
}

// entry is one resource.
type entry struct {
	id     kuma.ID
	now    *item             // as it was listed last
	good   *item             // as it was last when it could count; nil if never
	put    *watcher.Resource // what the feed was told; nil if nothing
	missed int               // how many complete passes in a row lacked it
	pass   uint64            // the last one that had it
}

func newMirror(base string, home kuma.Home, follow bool, tables Tables) *mirror {
	m := &mirror{
		base: base, zone: home.Zone,
		changes:   make(map[string][]watcher.Resource),
		authority: newAuthority(follow, tables),
	}
	for _, k := range kinds {
		m.kinds = append(m.kinds, &listed{kind: k, entries: make(map[string]*entry), troubled: make(map[string]*entry)})
	}
	return m
}

// fail says that l could not be listed.
func (m *mirror) fail(l *listed, f *failure) { l.failure, l.absent = f, false }

// list says what a listing of l found.
func (m *mirror) list(l *listed, got listing) {
	l.failure, l.absent = nil, got.absent
	if got.absent {
		l.known, l.pages, l.unsteady = true, nil, false
		return
	}
	l.unsteady = !got.whole
	l.known = l.known || got.whole
	if got.whole && l.missing == 0 && slices.Equal(l.pages, got.pages) {
		return
	}
	m.pass++
	nameless := m.see(l, got.pages)
	l.judge(m.pass)
	l.weigh(m.pass, nameless)
	l.missing = 0
	for place, e := range l.entries {
		switch {
		case e.pass == m.pass:
			e.missed = 0
			m.take(l, place, e)
			continue
		case got.whole && !l.covered(e):
			e.missed++
		}
		if e.missed == goneAfter {
			m.drop(l, place, e)
		} else {
			l.missing++
		}
	}
	l.pages = got.pages
	if !got.whole {
		l.pages = nil
	}
}

// see notes which entries the pages have, and returns the items whose identity
// could not be read. Of two with one identity the last one counts: it was moved
// to a later page while these were read.
func (m *mirror) see(l *listed, pages []*page) (nameless []*item) {
	for _, p := range pages {
		for _, it := range p.items {
			if it.place == "" {
				nameless = append(nameless, it)
				continue
			}
			e := l.entries[it.place]
			if e == nil {
				e = &entry{id: it.id}
				l.entries[it.place] = e
			}
			e.now, e.pass = it, m.pass
		}
	}
	return nameless
}

// weigh says which of the items without an identity may be entries that this pass
// lacks, which then stay, and which are lost.
func (l *listed) weigh(pass uint64, nameless []*item) {
	l.lost, l.kept = nil, nil
	found := make(map[kuma.ID]bool) // many have the same that could be read
	for _, it := range nameless {
		is, weighed := found[it.id]
		if !weighed {
			for _, e := range l.entries {
				if is = e.pass != pass && it.id.Covers(e.id); is {
					break
				}
			}
			found[it.id] = is
		}
		switch {
		case !is:
			l.lost = append(l.lost, it)
		case !weighed:
			l.kept = append(l.kept, it)
		}
	}
}

// covered reports whether e may be one of the items whose identity could not be
// read.
func (l *listed) covered(e *entry) bool {
	return slices.ContainsFunc(l.kept, func(it *item) bool { return it.id.Covers(e.id) })
}

// judge says whether Dataplanes have lost all service tags at once. Newer
// versions of Kuma have none: that is no word of anybody's that these services
// are gone.
func (l *listed) judge(pass uint64) {
	l.bare = false
	for _, e := range l.entries {
		switch {
		case e.pass == pass && e.now.serves:
			l.bare = false
			return
		case e.pass == pass && e.now.bare && e.good != nil && e.good.serves:
			l.bare = true
		}
	}
}

// take lets e count as it was listed now.
func (m *mirror) take(l *listed, place string, e *entry) {
	if e.now.err == nil && !(l.bare && e.now.bare && e.good != nil && e.good.serves) {
		if e.good != e.now {
			e.good = e.now
			m.put(place, e)
		}
	}
	if e.now.err != nil || len(e.now.problems) > 0 || e.now.pinned && m.follow {
		l.troubled[place] = e
	} else {
		delete(l.troubled, place)
	}
}

// put tells the feed of e, where that is not what it was told.
func (m *mirror) put(place string, e *entry) {
	r := m.dress(&e.good.resource)
	if e.put != nil && e.put.Equal(r) {
		return
	}
	m.count(e.put, -1)
	m.count(r, 1)
	e.put = r
	m.changes[place] = []watcher.Resource{*r}
}

// drop lets e go.
func (m *mirror) drop(l *listed, place string, e *entry) {
	delete(l.entries, place)
	delete(l.troubled, place)
	if e.put != nil {
		m.count(e.put, -1)
		m.changes[place] = nil
	}
}

// retold says that Kuma's tables may be others.
func (m *mirror) retold() {
	for _, l := range m.kinds {
		for place, e := range l.entries {
			if e.good != nil {
				m.put(place, e)
			}
		}
	}
}

// read notes that a pass is over.
func (m *mirror) read(now time.Time) {
	if m.refused() {
		return
	}
	for _, l := range m.kinds {
		if l.failure != nil {
			return
		}
	}
	m.lastSync = now
}

// flush tells feed what changed, and reports whether anything did.
func (m *mirror) flush(feed watcher.Feed) bool {
	if len(m.changes) == 0 {
		return false
	}
	places := make([]string, 0, len(m.changes))
	for place := range m.changes {
		places = append(places, place)
	}
	slices.Sort(places)
	for _, place := range places {
		feed.Put(place, m.changes[place])
	}
	clear(m.changes)
	return true
}
