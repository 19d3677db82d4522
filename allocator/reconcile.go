package allocator

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"go4.org/netipx"
)

// wentBack is why an entry has another address than before.
const wentBack = "the store had gone back to an older state"

// Reconcile makes the store what this replica, which leads, knows of the table,
// where the store has gone back to an older state: somebody has restored it from a
// snapshot. It is [Restore] of the table in memory: entries keep their addresses,
// unless one who knew only what the store has led for a while, and has given them to
// others. What the table had given out
// since this replica saw it last, lost addresses of a pool at most, is
// quarantined.
//
// The revision jumps above all that was ever seen. Large tables are written in
// parts; until the last, nobody but who had an address gets any. If that fails the
// table in memory is what it was, and to call it again finishes.
func (a *Allocator) Reconcile(ctx context.Context, lost uint64) (Restored, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return Restored{}, ErrClosed
	case a.follows:
		return Restored{}, ErrFollows
	}
	present, err := a.store.Load(ctx)
	if err != nil {
		return Restored{}, fmt.Errorf("reading what the store has gone back to: %w", err)
	}
	a.doubt = nil // it was never shown
	known := a.t.state(a.damaged)
	known.Meta.Clock = a.clock()
	target, done := a.reconciled(known, present, lost)
	written, err := a.rewrite(ctx, present, target)
	if err != nil {
		return Restored{}, fmt.Errorf("bringing the store from revision %d to what was known at %d: %w", present.Meta.Revision, known.Meta.Revision, err)
	}
	a.tellReconciled(known, present, done, lost)
	a.damaged, a.tried, a.reread, a.half = present.Damaged, nil, false, nil
	a.tellDamaged()
	a.show(func() { a.take(written) }, wentBack)
	done.Serial, done.Clock = written.Meta.Serial, written.Meta.Clock
	return done, nil
}

func (a *Allocator) tellReconciled(known, present State, done Restored, lost uint64) {
	var quarantined []string
	for _, q := range done.Quarantined[:min(len(done.Quarantined), 20)] {
		quarantined = append(quarantined, q.Range.String())
	}
	a.cfg.Logger.Error("the store had gone back to an older state of the table, as if it were restored from a snapshot:"+
		" it was made again what this replica knows",
		"id", known.Meta.ID, "from", present.Meta.Revision, "known", known.Meta.Revision, "entries", done.Entries,
		"displaced", len(done.Displaced), "lost at most", lost, "quarantined", quarantined, "for", a.cfg.Cooldown)
	for _, d := range done.Displaced {
		if !d.To.IsValid() {
			a.cfg.Logger.Warn("an entry does not get its address back, and waits for another", "entry", d.Key.String(), "address", d.From, "why", d.Why)
		}
	}
}

// reconciled returns the table that the store is to become.
func (a *Allocator) reconciled(known, present State, lost uint64) (State, Restored) {
	if a.half == nil || !a.half.has(present.Meta) {
		a.half = &half{since: answeredSince(known, present), from: present.Meta.Revision}
	}
	target, done := Restore(known, &a.half.since, Restoration{
		Now: a.cfg.Now(), Cooldown: a.cfg.Cooldown, Layout: a.cfg.Layout, GivenSince: &lost,
	})
	m, p := &target.Meta, present.Meta
	m.Revision, m.Serial, m.Clock = max(m.Revision, p.Revision+1), max(m.Serial, nextSerial(p.Serial, 0)), max(m.Clock, p.Clock)
	// Whatever else the store quarantines stays so.
	for _, q := range present.Meta.Quarantine {
		stands := func(p Quarantine) bool { return p.Range == q.Range }
		if slices.Contains(a.half.bridge, q) || slices.ContainsFunc(target.Meta.Quarantine, stands) || q.Until <= present.Meta.Clock {
			continue
		}
		q.Until += target.Meta.Clock - present.Meta.Clock
		target.Meta.Quarantine = append(target.Meta.Quarantine, q)
	}
	done.Quarantined = slices.Clone(target.Meta.Quarantine)
	// Nor is a record written over that cannot be read.
	target.Addrs = slices.DeleteFunc(target.Addrs, func(h Held) bool {
		return slices.ContainsFunc(present.Damaged, func(d Damage) bool { return d.Addr == h.Addr })
	})
	return target, done
}

// answeredSince returns what a store that has gone back tells of addresses that
// were answered since by somebody who did not know better: all of it, if another
// has led there before this one came, and else nothing, for it is old.
func answeredSince(known, present State) State {
	s := present
	s.Meta.ID += " (gone back)" // of the same it would be taken for old
	s.Meta.Quarantine = nil
	if anotherLed(known, present) {
		return s
	}
	s.Rows, s.Addrs = nil, nil
	s.Meta.Pools = slices.DeleteFunc(slices.Clone(s.Meta.Pools), func(p Pool) bool {
		return !slices.ContainsFunc(known.Meta.Pools, func(q Pool) bool { return q.Prefix == p.Prefix })
	})
	return s
}

// anotherLed reports whether a store that has gone back shows something that is
// newer than all that is known. Who got an address first is told by the wall clock.
func anotherLed(known, present State) bool {
	p, k := present.Meta, known.Meta
	if p.Revision > k.Revision || p.Serial > k.Serial || p.Clock > k.Clock {
		return true
	}
	holdings, newest := make(map[netip.Addr]Holding, len(known.Addrs)), int64(0)
	for _, h := range known.Addrs {
		holdings[h.Addr], newest = h.Holding, max(newest, h.Since)
	}
	return slices.ContainsFunc(present.Addrs, func(h Held) bool {
		k, ok := holdings[h.Addr]
		return h.Since > newest || ok && k.Owner != h.Owner && h.Since != 0 && h.Since >= k.Since
	})
}

// half is what a reconciliation that has failed has left: the store may be half
// written.
type half struct {
	// since is what was answered by somebody else, when the store was read first.
	since State
	// from is the store's revision then; begun are what the first transactions of
	// all attempts say of the table, and n how many these were.
	from  uint64
	begun []Meta
	n     []uint64
	// bridge is what is quarantined only while the store is half written.
	bridge []Quarantine
}

// tries notes an attempt of n transactions, and how the first of them leaves the
// table.
func (h *half) tries(first Meta, n int, bridge []Quarantine) {
	h.begun, h.n, h.bridge = append(h.begun, first), append(h.n, uint64(n)), append(h.bridge, bridge...)
}

// has reports whether the store is as it was, or as an attempt has left it. Nobody
// else would write the same clock.
func (h *half) has(m Meta) bool {
	if m.Revision == h.from {
		return true
	}
	for i, first := range h.begun {
		if done := m.Revision - first.Revision; m.Revision >= first.Revision && done < h.n[i] && m.Clock == first.Clock+time.Duration(done) {
			return true
		}
	}
	return false
}

// bridged returns what is quarantined while a table is half written: all that the
// pools have, so that no newcomer gets what is still to be written.
func bridged(m Meta, until Quarantine) []Quarantine {
	all := slices.Clone(m.Quarantine)
	for _, p := range m.Pools {
		first, last := Usable(p.Prefix)
		until.Range = netipx.IPRangeFrom(first, last)
		all = append(all, until)
	}
	return all
}
