package admin

import (
	"net/http"
	"net/url"
)

// changesPage and mostChanges are how many rows and addresses that changed an
// answer tells of, and at most; it ends with a whole commit.
const (
	changesPage = 1000
	mostChanges = 100_000
)

func (h *handler) changes(_ http.ResponseWriter, _ *http.Request, q url.Values) (any, error) {
	if h.t.Changes == nil {
		return nil, h.unknown("changes")
	}
	n, err := limit(q, changesPage, mostChanges)
	if err != nil {
		return nil, err
	}
	from := h.t.Changes.beginning()
	if q.Has("since") {
		if from, err = parseCursor(q.Get("since")); err != nil {
			return nil, failf(http.StatusBadRequest, BadRequest, "since: %v", err)
		}
	}
	p := h.t.Changes.after(from, n)
	answer := Changes{Complete: p.complete, Changes: []Change{}, Next: p.to.String(), More: p.more}
	for _, commit := range p.commits {
		answer.Changes = append(answer.Changes, commit.change())
	}
	return answer, nil
}

func (h *handler) sources(http.ResponseWriter, *http.Request, url.Values) (any, error) {
	if h.t.Sources == nil {
		return nil, h.unknown("sources")
	}
	answer := Sources{Sources: []Source{}, Incomplete: h.t.Alloc.Incomplete()}
	for _, s := range h.t.Sources() {
		s.Problems = list(s.Problems)
		answer.Sources = append(answer.Sources, s)
	}
	return answer, nil
}

func (h *handler) verify(_ http.ResponseWriter, r *http.Request, _ url.Values) (any, error) {
	v := Verified{Breaches: []string{}}
	err := h.once("verifying", func() error {
		breaches, meta, err := h.t.Alloc.Breaches(r.Context())
		for _, b := range breaches {
			v.Breaches = append(v.Breaches, b.Error())
		}
		v.OK, v.Serial, v.Revision = len(breaches) == 0, meta.Serial, meta.Revision
		return err
	})
	return v, err
}
