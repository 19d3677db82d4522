package admin

import (
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

func (h *handler) moves(http.ResponseWriter, *http.Request, url.Values) (any, error) {
	return moves(h.t.Alloc.Moves(), math.MaxInt), nil
}

func (h *handler) confirm(w http.ResponseWriter, r *http.Request, _ url.Values) (any, error) {
	var c Confirm
	if err := body(w, r, &c); err != nil {
		return nil, err
	}
	if c.Plan == "" {
		return nil, failf(http.StatusBadRequest, BadRequest, "plan is empty: name the plan that is to be carried out, see GET /v1/moves")
	}
	done, err := h.t.Alloc.ConfirmMoves(r.Context(), c.Plan)
	if err != nil {
		return nil, err
	}
	meta := h.t.Alloc.Stats().Meta
	return Confirmed{Plan: done.Name, Moves: moveList(done.List, len(done.List)), Generation: meta.Generation, Serial: meta.Serial}, nil
}

func (h *handler) plan(w http.ResponseWriter, r *http.Request, _ url.Values) (any, error) {
	var l Layout
	if err := body(w, r, &l); err != nil {
		return nil, err
	}
	layout, err := l.layout()
	if err == nil {
		err = layout.Check()
	}
	if err != nil {
		return nil, failf(http.StatusBadRequest, BadRequest, "%v", err)
	}
	var answer Moves
	err = h.once("planning", func() error {
		m, err := h.t.Alloc.PlanFor(layout)
		answer = moves(m, math.MaxInt)
		return err
	})
	return answer, err
}

// layout returns what l says, as the allocator has it.
func (l Layout) layout() (out allocator.Layout, err error) {
	if len(l.Pools) == 0 {
		return out, failf(http.StatusBadRequest, BadRequest, "the layout has no pool")
	}
	for _, p := range l.Pools {
		r := allocator.Range{Prefix: p.Prefix, Drain: p.Drain}
		if r.Exclude, err = parseRanges(p.Exclude); err != nil {
			return out, err
		}
		if r.Reserve, err = parseRanges(p.Reserve); err != nil {
			return out, err
		}
		out.Pools = append(out.Pools, r)
	}
	for _, s := range l.Statics {
		e, err := vip.ParseEntry(s.Entry)
		if err != nil {
			return out, failf(http.StatusBadRequest, BadRequest, "%v", err)
		}
		out.Statics = append(out.Statics, allocator.Static{Key: e.Key(), Addr: s.Address})
	}
	return out, nil
}

// parseRanges reads ranges: an address, "FROM-TO" or a CIDR each. What overlaps
// or touches is joined, as the Corefile's is, so that equal sets are equal plans.
func parseRanges(texts []string) ([]netipx.IPRange, error) {
	var b netipx.IPSetBuilder
	for _, s := range texts {
		r, ok := parseRange(s)
		if !ok {
			return nil, failf(http.StatusBadRequest, BadRequest, "%.100q is not a range: write an address, FROM-TO or a CIDR", s)
		}
		b.AddRange(r)
	}
	set, err := b.IPSet()
	if err != nil {
		return nil, failf(http.StatusBadRequest, BadRequest, "ranges: %v", err)
	}
	return set.Ranges(), nil
}

func parseRange(s string) (netipx.IPRange, bool) {
	switch {
	case strings.Contains(s, "/"):
		p, err := netip.ParsePrefix(s)
		return netipx.RangeOfPrefix(p), err == nil && p == p.Masked()
	case strings.Contains(s, "-"):
		r, err := netipx.ParseIPRange(s)
		return r, err == nil
	}
	a, err := netip.ParseAddr(s)
	return netipx.IPRangeFrom(a, a), err == nil && a.Zone() == ""
}

func (h *handler) held(http.ResponseWriter, *http.Request, url.Values) (any, error) {
	answer := Held{Holds: []Hold{}}
	for _, hold := range h.t.Alloc.Held() {
		answer.Holds = append(answer.Holds, holdOf(hold))
	}
	return answer, nil
}

func (h *handler) release(w http.ResponseWriter, r *http.Request, _ url.Values) (any, error) {
	var rel Release
	if err := body(w, r, &rel); err != nil {
		return nil, err
	}
	if len(rel.Holds) == 0 {
		return nil, failf(http.StatusBadRequest, BadRequest, "holds is empty: name what is to be released, see GET /v1/held")
	}
	report, err := h.t.Alloc.ReleaseHeld(r.Context(), rel.Holds...)
	if err != nil {
		return nil, err
	}
	return Released{Holds: rel.Holds, Addresses: report.Released, Serial: h.t.Alloc.Stats().Meta.Serial}, nil
}
