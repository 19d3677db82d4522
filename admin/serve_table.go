package admin

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// pageRows and mostRows are how many rows a page of the table has, and at most.
const (
	pageRows = 1000
	mostRows = 10_000
)

func (h *handler) status(http.ResponseWriter, *http.Request, url.Values) (any, error) {
	s, cfg := h.t.Alloc.Stats(), h.t.Alloc.Settings()
	status := Status{
		Version: h.t.Version, Offline: h.t.Offline, Store: h.t.Store, StoreID: s.Meta.ID,
		Serial: s.Meta.Serial, Revision: s.Meta.Revision, Generation: s.Meta.Generation,
		Loaded: true, Synced: s.Meta.Synced, Started: h.t.Started.UTC().Truncate(0),
		CooldownSeconds: cfg.Cooldown.Seconds(), MaxRelease: cfg.MaxRelease.String(),
		Zones: list(h.names.zones()), Confirm: cfg.Confirm,
		Counts: Counts{
			Entries: s.Entries, Meshes: s.Meshes, Waiting: s.Waiting, Refused: s.Refused, Held: s.Held, Moves: s.Pending,
			Damaged: s.Damaged, Repaired: s.Repaired,
		},
	}
	h.role(&status)
	return status, nil
}

func (h *handler) meshes(http.ResponseWriter, *http.Request, url.Values) (any, error) {
	m := Meshes{Meshes: []Mesh{}}
	for _, c := range h.t.Alloc.MeshCounts() {
		m.Meshes = append(m.Meshes, Mesh{Name: c.Mesh, Entries: c.Entries})
	}
	return m, nil
}

func (h *handler) table(_ http.ResponseWriter, _ *http.Request, q url.Values) (any, error) {
	n, err := limit(q, pageRows, mostRows)
	if err != nil {
		return nil, err
	}
	after, err := parseAfter(q.Get("after"))
	if err != nil {
		return nil, err
	}
	mesh := q.Get("mesh")
	if q.Has("mesh") && mesh == "" {
		return nil, failf(http.StatusBadRequest, BadRequest, "mesh has no value: leave it out for all meshes")
	}
	p, ok := h.t.Alloc.Page(mesh, after, n)
	if !ok {
		return nil, failf(http.StatusNotFound, NotFound, "there is no mesh %.100q: GET /v1/meshes lists them", mesh)
	}
	answer := TablePage{
		Rows: []Row{}, Total: p.Total, Serial: p.Meta.Serial, Revision: p.Meta.Revision, Unknown: h.names.unknown(),
	}
	for _, l := range p.Lines {
		answer.Rows = append(answer.Rows, h.row(l))
	}
	if p.More {
		answer.Next = formatAfter(p.Lines[len(p.Lines)-1].Row.Key())
	}
	return answer, nil
}

// A place in the table is a key in its text form. That may have bytes that JSON
// cannot carry: they are packed.
func formatAfter(key vip.Key) string {
	return base64.RawURLEncoding.EncodeToString([]byte(key.String()))
}

// parseAfter reads what formatAfter returns, or an entry, which has a ":".
func parseAfter(s string) (vip.Key, error) {
	if s == "" {
		return vip.Key{}, nil
	}
	text := s
	if !strings.Contains(s, ":") {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			return vip.Key{}, failf(http.StatusBadRequest, BadRequest, "after %.80q is neither the next of a page nor an entry", s)
		}
		text = string(b)
	}
	e, err := vip.ParseEntry(text)
	if err != nil {
		return vip.Key{}, failf(http.StatusBadRequest, BadRequest, "after: %v", err)
	}
	return e.Key(), nil
}

// row returns a line of the table.
func (h *handler) row(l allocator.Line) Row {
	r := Row{
		Entry: l.Row.Entry.String(), Kind: l.Row.Entry.Kind.String(), Addresses: list(l.Row.Addrs()), Given: list(l.Row.Given()),
		Static: list(l.Static), Names: h.names.of(l.Row), Listings: []Listing{}, Waiting: l.Waits, Follows: l.Row.Follows(),
	}
	for _, l := range l.Row.Listings {
		r.Listings = append(r.Listings, listing(l))
	}
	return r
}

func listing(l vip.Listing) Listing {
	out := Listing{Mesh: l.Mesh, Name: l.Name, Outbounds: []Outbound{}}
	for _, o := range l.Outbounds {
		out.Outbounds = append(out.Outbounds, Outbound{Port: o.Port, Tags: o.TagMap(), Origin: o.Origin})
	}
	if t := l.Terms; t != nil {
		out.Static, out.Given, out.Hostnames, out.Follow = t.Static, t.Given, t.Hostnames, t.Follow
	}
	return out
}

func (h *handler) pools(http.ResponseWriter, *http.Request, url.Values) (any, error) {
	answer := Pools{Pools: []Pool{}}
	for _, s := range h.t.Alloc.PoolStates() {
		p := Pool{
			Prefix: s.Prefix, Retired: s.Retired, Drain: s.Drain, Size: s.Size, Live: uint64(s.Live),
			Cooling: uint64(s.Cooling), Past: uint64(s.Released - s.Cooling), Next: s.Next,
			Exclude: rangeTexts(s.Exclude), Reserve: rangeTexts(s.Reserve),
		}
		if used := p.Live + p.Cooling; used < p.Size {
			p.Free = p.Size - used
		}
		answer.Pools = append(answer.Pools, p)
	}
	return answer, nil
}

func rangeTexts(ranges []netipx.IPRange) []string {
	texts := []string{}
	for _, r := range ranges {
		texts = append(texts, r.String())
	}
	return texts
}

// list returns s, or an empty list for nil, which JSON would call null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
