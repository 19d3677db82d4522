package allocator

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// verdict says whether an entry can have the static address that it is to have.
type verdict int

const (
	had     verdict = iota // it can, now
	waits                  // until the address has cooled down from another entry
	refused                // somebody has it, or nobody may
)

// assignStatics gives the static address of a family to the entries that lack
// an address of it. Those that cannot have theirs get an automatic one, unless
// it only cools down: they are stuck until it has. No entry loses an address by
// this, and of two that ask for the same the smaller key has it. It returns
// those that have waited for theirs until now, and can have what was theirs.
func (p *plan) assignStatics(needy []vip.Key, v4 bool, stuck map[vip.Key]bool) (back []vip.Key) {
	keys := make([]vip.Key, 0, len(p.t.waiting(v4).static))
	for key := range p.t.waiting(v4).static {
		if p.edits[key] == nil {
			keys = append(keys, key)
		}
	}
	for _, key := range needy {
		if p.t.static(key, p.edits[key].row, v4).IsValid() {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, vip.Key.Compare)
	for _, key := range keys {
		row := p.t.rows[key]
		if e := p.edits[key]; e != nil {
			row = e.row
		}
		addr := p.t.static(key, row, v4)
		v, was, why := p.judgeStatic(key, addr)
		put(&p.notes, seat{key, v4}, why)
		switch v {
		case had:
			p.take(key, p.edit(key), addr, was, false)
		case waits:
			stuck[key] = true
		case refused:
			if p.edits[key] == nil {
				back = append(back, key)
			}
		}
	}
	return back
}

// noteStatics notes the static addresses of a family that no pool is of.
func (p *plan) noteStatics(v4 bool) {
	for key, e := range p.edits {
		if want := p.t.static(key, e.row, v4); want.IsValid() && len(e.row.Listings) > 0 && lacks(e.row, v4) {
			_, _, why := p.judgeStatic(key, want)
			put(&p.notes, seat{key, v4}, why)
		}
	}
}

// judgeStatic says whether the entry of key can have addr, and if not, why. was
// is the holding of addr until now.
func (p *plan) judgeStatic(key vip.Key, addr netip.Addr) (v verdict, was *Holding, why string) {
	no := func(format string, args ...any) (verdict, *Holding, string) {
		return refused, nil, fmt.Sprintf("static address %v is refused: ", addr) + fmt.Sprintf(format, args...)
	}
	cools := func(owner vip.Key) (verdict, *Holding, string) {
		return waits, nil, fmt.Sprintf("static address %v is waited for: %v had it, and it cools down", addr, owner)
	}
	if err := p.layout.CheckStatic(addr); err != nil {
		return no("%v", err)
	}
	if other, ok := p.t.staticOf[addr]; ok && other != key {
		return no("the Corefile keeps it for %v", other)
	}
	if _, unreadable := p.t.reserved[addr]; unreadable {
		return no("the record of who has it cannot be read")
	}
	if p.given(addr) {
		return no("Kuma gave it to an entry of its own")
	}
	if c := p.addrs[addr]; c != nil {
		if c.New.Released {
			return cools(c.New.Owner)
		}
		return no("%v has it", c.New.Owner)
	}
	if row := p.t.live[addr].row; row != nil {
		return no("%v has it", row.Key())
	}
	h, ok := p.t.released.byAddr[addr]
	if _, is := p.t.quarantined(addr); is && (!ok || h.Released && h.Owner != key) {
		return waits, nil, fmt.Sprintf("static address %v is waited for: it is quarantined, for the table was restored and somebody may have had it", addr)
	}
	switch {
	case !ok:
		return had, nil, ""
	case h.Owner == key || h.Released && h.At <= p.now-p.cooldown:
		return had, &h, ""
	case !h.Released:
		return no("%v has it, whose row cannot be read", h.Owner)
	}
	return cools(h.Owner)
}

// note keeps and tells what became of static addresses.
func (a *Allocator) note(p *plan) {
	for s, why := range p.notes {
		if why == "" {
			continue
		}
		if a.notes[s] != why {
			a.cfg.Logger.Error("an entry does not have its static address", "entry", s.key.String(), "reason", why)
		}
		a.notes[s] = why
	}
	for s := range a.notes {
		row, why := a.t.rows[s.key], p.notes[s]
		if _, judged := p.notes[s]; row == nil || judged && why == "" || !judged && a.settledStatic(s, row) {
			delete(a.notes, s)
		}
	}
}

// settledStatic reports whether the entry has its static address, or is to have
// none.
func (a *Allocator) settledStatic(s seat, row *vip.Row) bool {
	want := a.t.static(s.key, row, s.v4)
	return !want.IsValid() || want == addrOf(row, s.v4) || len(row.Given()) > 0
}
