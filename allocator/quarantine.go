package allocator

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"go4.org/netipx"
)

// clip returns the part of r that lies in prefix, and whether there is any.
func clip(r netipx.IPRange, prefix netip.Prefix) (netipx.IPRange, bool) {
	whole := netipx.RangeOfPrefix(prefix)
	if !r.IsValid() || !r.Overlaps(whole) {
		return netipx.IPRange{}, false
	}
	from, to := r.From(), r.To()
	if from.Less(whole.From()) {
		from = whole.From()
	}
	if whole.To().Less(to) {
		to = whole.To()
	}
	return netipx.IPRangeFrom(from, to), true
}

// quarantined returns until when addr is kept from everybody but an owner that
// is remembered; ok is false if it is not.
func (t *table) quarantined(addr netip.Addr) (until time.Duration, ok bool) {
	for _, q := range t.meta.Quarantine {
		if q.Range.Contains(addr) {
			until, ok = max(until, q.Until), true
		}
	}
	return until, ok
}

// standing returns the quarantines whose time has not come.
func standing(all []Quarantine, now time.Duration) []Quarantine {
	return slices.DeleteFunc(slices.Clone(all), func(q Quarantine) bool { return q.Until <= now })
}

// lapse ends the quarantines whose time has come: their addresses are free.
func (a *Allocator) lapse(ctx context.Context) error {
	rest := standing(a.t.meta.Quarantine, a.clock())
	if len(rest) == len(a.t.meta.Quarantine) {
		return nil
	}
	d := a.metaDelta()
	d.Meta.Quarantine = rest
	return a.commit(ctx, d, func() {})
}
