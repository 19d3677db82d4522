package allocator

import "time"

// Due returns after how long something falls due by itself that [Allocator.Tick]
// does: an entry that waits can be served, moves are to be looked at, or a
// quarantine ends; ok is false if nothing does, or another does it. It is a lower
// bound, at least 0.
func (a *Allocator) Due() (d time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.follows:
		return 0, false
	case a.unread:
		return 0, true
	}
	now := a.clock()
	// What had cooled down when waiting entries were last served, and is still
	// there, cannot serve them.
	soonest := func(at time.Duration) (later bool) {
		if at < a.served && at+a.cfg.Cooldown <= a.served {
			return false
		}
		if left := max(at+a.cfg.Cooldown-now, 0); !ok || left < d {
			d, ok = left, true
		}
		return true
	}
	if a.wish > 0 {
		d, ok = max(a.wish-now, 0), true
	}
	for _, q := range a.t.meta.Quarantine {
		if left := max(q.Until-now, 0); !ok || left < d {
			d, ok = left, true
		}
	}
	p := a.newPlan(0)
	for _, v4 := range []bool{true, false} {
		w, stuck := a.t.waiting(v4), 0
		for key := range w.static {
			addr := a.t.static(key, a.t.rows[key], v4)
			switch v, _, _ := p.judgeStatic(key, addr); v {
			case had:
				return 0, true // what kept it from the entry has gone since
			case waits:
				stuck++
				if _, is := a.t.quarantined(addr); !is { // or it is counted above
					soonest(a.t.released.byAddr[addr].At)
				}
			}
		}
		if w.len() == stuck {
			continue
		}
		for i, s := range a.t.spaces {
			if s.closed || s.prefix.Addr().Is4() != v4 {
				continue
			}
			for addr, h := range a.t.released.available(s.prefix, now) {
				if a.t.given[addr] == 0 && a.t.meta.Pools[i].gives(addr) && soonest(h.At) {
					break
				}
			}
		}
	}
	return d, ok
}
