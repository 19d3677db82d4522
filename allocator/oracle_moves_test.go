package allocator_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// itinerary is what the oracle would move.
type itinerary struct {
	list, stuck []allocator.Move
	// id says what would move and why: it is the same where the plan's name is,
	// empty where nothing would.
	id string
	// after is the table with the moves made.
	after *oracle
}

// moves returns what should move: each row that is where it should not be, and
// for which there is a right address.
func (o *oracle) moves(now time.Duration) itinerary {
	c := o.clone()
	c.table = merge(c.durable, c.layout)
	c.given = make(map[netip.Addr]bool)
	c.seeGiven()
	var it itinerary
	causes := make(map[string]bool)
	for _, statics := range []bool{true, false} { // they come first
		for _, key := range c.keys() {
			for _, addr := range o.rows[key].Addrs() {
				want, to, cause := c.static(key, addr.Is4()), netip.Addr{}, ""
				if statics && want.IsValid() && want != addr && c.wish(key, want, now) == yes {
					to, cause = want, fmt.Sprint(key, " wants ", want)
				} else if !statics && c.rows[key].Has(addr) {
					to, cause = c.elsewhere(key, addr, now)
				}
				m := allocator.Move{Key: key, From: addr, To: to}
				switch {
				case cause == "":
				case !to.IsValid():
					it.stuck = append(it.stuck, m)
				default:
					c.release(key, addr, now)
					c.give(key, to)
					it.list = append(it.list, m)
					causes[cause] = true
				}
			}
		}
	}
	slices.SortFunc(it.list, func(a, b allocator.Move) int { return cmp.Or(a.Key.Compare(b.Key), a.From.Compare(b.From)) })
	if len(it.list) > 0 {
		it.id = fmt.Sprint(o.generation, causes)
	}
	it.after = c
	return it
}

// elsewhere returns where an entry should be that cannot stay at addr, and why
// not; the zero Addr where there is no such place, and no cause where it may
// stay, if only because the address of its choice cools down.
func (o *oracle) elsewhere(key vip.Key, addr netip.Addr, now time.Duration) (to netip.Addr, cause string) {
	want := o.static(key, addr.Is4())
	if want.IsValid() && want != addr && o.wish(key, want, now) == later {
		return netip.Addr{}, ""
	}
	if cause = o.outOfPlace(key, addr, o.chosen(key, addr.Is4()) == addr); cause == "" {
		return netip.Addr{}, ""
	}
	if o.rows[key].Follows() {
		return netip.Addr{}, cause
	}
	return o.next(addr.Is4(), now), cause
}

// outOfPlace says why the entry of key should not be at addr.
func (o *oracle) outOfPlace(key vip.Key, addr netip.Addr, static bool) string {
	r := o.rangeOf(addr)
	if r == nil {
		return "retired " + o.table[o.poolOf(addr)].Prefix.String()
	}
	first := func(ranges []netipx.IPRange) string {
		return ranges[slices.IndexFunc(ranges, func(r netipx.IPRange) bool { return r.Contains(addr) })].String()
	}
	switch {
	case inRanges(r.Exclude, addr):
		return "excluded " + first(r.Exclude)
	case o.given[addr]:
		return "given " + addr.String()
	case static:
	case inRanges(r.Reserve, addr):
		return "reserved " + first(r.Reserve)
	default:
		if other, kept := o.keptFor(addr); kept && other != key {
			return "kept " + addr.String() + " for " + other.String()
		}
	}
	return ""
}

// tickStages is the number of stages of a Tick.
const tickStages = 4

// stages are what time does, one after the other: quarantines end, those who
// wait are served,
// moves that are confirmed are made, past owners are forgotten. Each reports
// whether it writes anything.
func stages(t time.Duration, confirmed func(id string) bool) []func(o *oracle) bool {
	return []func(o *oracle) bool{
		func(o *oracle) bool { return o.lapse(t) },
		func(o *oracle) bool { return o.apply(vip.Batch{Incomplete: o.incomplete}, t) },
		func(o *oracle) bool { return o.move(t, confirmed) },
		func(o *oracle) bool { return o.forgetSome(t) },
	}
}

// move makes the moves that are confirmed, and plans what should move then.
func (o *oracle) move(t time.Duration, confirmed func(id string) bool) bool {
	now := o.at(t)
	o.planned, o.looked = o.moves(now), now
	if o.planned.id == "" || !confirmed(o.planned.id) {
		return false
	}
	it := o.planned
	o.commit(now, true, func() { o.rows, o.past, o.table = it.after.rows, it.after.past, it.after.table })
	o.moved, o.planned, o.looked = it.list, o.moves(o.at(t)), o.at(t)
	return true
}

// forgetSome forgets the longest released addresses past their cooldown, until
// as many are left as there are entries, or as the configuration says.
func (o *oracle) forgetSome(t time.Duration) bool {
	now := o.at(t)
	var old []netip.Addr
	for addr, r := range o.past {
		if o.rested(r, now) {
			old = append(old, addr)
		}
	}
	n := len(old) - max(o.forget, len(o.rows))
	if n <= 0 {
		return false
	}
	slices.SortFunc(old, func(a, b netip.Addr) int { return cmp.Or(cmp.Compare(o.past[a].at, o.past[b].at), a.Compare(b)) })
	return o.commitAsIs(now, func() {
		for _, addr := range old[:n] {
			delete(o.past, addr)
		}
	})
}

// commitAsIs commits a change that no pool comes or goes by.
func (o *oracle) commitAsIs(now time.Duration, change func()) bool {
	change()
	o.table = merge(o.durable, o.layout)
	o.clock, o.durable = now, o.table
	return true
}

// seen returns when the wish of a row for an address of its choice was looked at
// last: with those who wait, or with the moves.
func (o *oracle) seen(row *vip.Row, v4 bool) time.Duration {
	if has(row, v4).IsValid() {
		return o.looked
	}
	return o.served
}

// due returns when time will do something by itself: somebody who waits can be
// served, or an entry can be moved to the address of its choice; and could not
// when they were looked at last.
func (o *oracle) due() (at time.Duration, ok bool) {
	soonest := func(r release) {
		if r.at < o.served && r.at+o.cooldown <= o.served {
			return // it could have served somebody already: time does nothing for it
		}
		if !ok || r.at+o.cooldown < at {
			at, ok = r.at+o.cooldown, true
		}
	}
	for _, q := range o.quarantine {
		if !ok || q.Until < at {
			at, ok = q.Until, true
		}
	}
	o.given = make(map[netip.Addr]bool)
	o.seeGiven()
	for _, v4 := range []bool{true, false} {
		for _, key := range o.keys() {
			row, want := o.rows[key], o.static(key, v4)
			if len(row.Given()) > 0 || row.Follows() || !o.configured(v4) {
				continue
			}
			if want.IsValid() && want != has(row, v4) && o.wish(key, want, o.seen(row, v4)) == later {
				if !o.quarantined(want) { // or its end is counted
					soonest(o.past[want])
				}
				continue
			}
			if has(row, v4).IsValid() {
				continue
			}
			if want.IsValid() && o.wish(key, want, o.seen(row, v4)) == yes {
				return 0, true
			}
			for addr, r := range o.past {
				in := o.rangeOf(addr)
				if in != nil && !in.Drain && addr.Is4() == v4 && slices.Contains(inPool(in.Prefix), addr) && !o.blocked(*in, addr) && !o.given[addr] {
					soonest(r)
				}
			}
		}
	}
	return at, ok
}

// refused counts the static addresses that entries do not have, and would not if
// all moved that should; perhaps counts those among them of a family without a pool.
func (o *oracle) refused() (n, perhaps int) {
	then := o.planned.after
	for _, v4 := range []bool{true, false} {
		for _, key := range then.keys() {
			row, want := then.rows[key], then.static(key, v4)
			if len(row.Given()) > 0 || !want.IsValid() || want == has(row, v4) || want == has(o.rows[key], v4) {
				continue
			}
			if n++; !o.configured(v4) {
				perhaps++
			}
		}
	}
	return n, perhaps
}
