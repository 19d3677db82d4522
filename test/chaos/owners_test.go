package chaos

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// span is how long a name had an address at most, by what etcd says.
type span struct {
	name     string
	from, to time.Duration
}

// spans returns who had an address from when to when.
func spans(writes []write) (list []span) {
	var open *span
	for _, w := range writes {
		switch {
		case open != nil && !w.released && w.owner == open.name: // written again
		default:
			if open != nil {
				open.to = w.hi
				list = append(list, *open)
				open = nil
			}
			if w.owner != "" && !w.released {
				open = &span{w.owner, w.lo, forever}
			}
		}
	}
	if open != nil {
		list = append(list, *open)
	}
	return list
}

// owned checks, claim by claim, that the name had the address at some moment that
// the answer may be of.
func (h *history) owned() (wrong []error) {
	writes := h.writes()
	for addr, claims := range h.claims() {
		list := spans(writes[addr])
		for _, a := range claims {
			if !anySpan(list, a.name, a.start-h.stale(), a.end) {
				wrong = append(wrong, fmt.Errorf("%v: the name did not have the address in that time or the %v before: %v", a, h.stale(), list))
			}
		}
	}
	return wrong
}

func anySpan(list []span, name string, from, to time.Duration) bool {
	for _, s := range list {
		if s.name == name && s.from <= to && s.to >= from {
			return true
		}
	}
	return false
}

// denied checks that no name or address is denied that was somebody's for certain at
// every moment that the answer may be of.
func (h *history) denied() (wrong []error) {
	byAddr, byName := make(map[netip.Addr][]span), make(map[string][]span)
	for addr, writes := range h.writes() {
		byAddr[addr] = certain(writes)
		for _, s := range byAddr[addr] {
			byName[s.name] = append(byName[s.name], s)
		}
	}
	for _, a := range h.answers {
		if a.claim() || a.rcode != dns.RcodeSuccess && a.rcode != dns.RcodeNameError {
			continue
		}
		list := byName[a.name]
		if a.reverse {
			list = byAddr[a.addr]
		}
		for _, s := range list {
			if s.from < a.start-h.stale() && s.to > a.end {
				wrong = append(wrong, fmt.Errorf("%v: denied, and has been of %q since %v", a, s.name, s.from))
			}
		}
	}
	return wrong
}

// certain returns who had an address from when to when at least.
func certain(writes []write) (list []span) {
	for i, w := range writes {
		if w.owner == "" || w.released {
			continue
		}
		s := span{w.owner, w.hi, forever}
		if i+1 < len(writes) {
			s.to = writes[i+1].lo
		}
		if n := len(list); n > 0 && i > 0 && writes[i-1].holding == w.holding { // written again
			list[n-1].to = s.to
			continue
		}
		list = append(list, s)
	}
	return list
}

// taken checks that no transaction takes an address from an owner that has it, or
// before the cooldown has passed on the table's own clock.
func (h *history) taken() (wrong []error) {
	for addr, writes := range h.writes() {
		var was holding
		for _, w := range writes {
			if !w.mayFollow(was, w.clock, h.cooldown) {
				wrong = append(wrong, fmt.Errorf("%v: %v was held as %+v, and is as %+v at %v", w.txn, addr, was, w.holding, w.clock))
			}
			was = w.holding.after(was)
		}
	}
	return wrong
}

// apart checks that the time between two answers which give one address to
// different names is long enough. It returns the shortest time that it saw from
// an answer in calm to another's, too.
func (h *history) apart() (wrong []error, shortest time.Duration) {
	shortest = forever
	for addr, claims := range h.claims() {
		latest, calm := make(map[string]answer), make(map[string]answer)
		for _, a := range claims { // in the order in which they were asked
			for name, was := range latest {
				if gap := a.end - was.start; name != a.name && gap < h.ttl {
					wrong = append(wrong, fmt.Errorf("%v has two names within the ttl of %v: %v; %v", addr, h.ttl, was, a))
				}
			}
			for name, was := range calm {
				if name == a.name {
					continue
				}
				gap := a.end - was.start
				shortest = min(shortest, gap)
				if gap < h.cooldown-h.tolerance && len(wrong) < 100 {
					wrong = append(wrong, fmt.Errorf("%v has two names within the cooldown of %v, the former in calm: %v; %v; %s", addr, h.cooldown, was, a, h.trace(addr)))
				}
			}
			latest[a.name] = a
			if h.calm(a.start-h.tolerance, a.end) {
				calm[a.name] = a
			}
		}
	}
	return wrong, shortest
}

// trace tells the whole story of an address, for people.
func (h *history) trace(addr netip.Addr) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v:", addr)
	for _, w := range h.writes()[addr] {
		fmt.Fprintf(&b, "\n\t%v, clock %v: %+v", w.txn, w.clock, w.holding)
	}
	for _, f := range h.faults {
		fmt.Fprintf(&b, "\n\tfrom %v to %v: %s %d", f.from, f.to, f.kind, f.replica)
	}
	return b.String()
}

// ordered checks that the table only goes on: its clock, serial and revision. Over
// a restored snapshot too: what the replicas write then is above what was lost.
func (h *history) ordered() (wrong []error) {
	for i := 1; i < len(h.txns); i++ {
		was, is := h.txns[i-1], h.txns[i]
		switch {
		case is.revision == was.revision && is.clock == was.clock && is.serial == was.serial && is.keys == 2:
			// The word that a table which was taken back is whole again.
		case is.clock < was.clock, is.serial < was.serial, is.revision <= was.revision,
			is.epoch == was.epoch && is.revision != was.revision+1:
			wrong = append(wrong, fmt.Errorf("after %v with clock %v and serial %d came %v with %v and %d: %v",
				was, was.clock, was.serial, is, is.clock, is.serial, is.changes))
		}
	}
	return wrong
}

// owners returns who had which address last when all transactions were done, and
// has it still.
func (h *history) owners() map[netip.Addr]string {
	has := make(map[netip.Addr]string)
	for addr, writes := range h.writes() {
		if last := writes[len(writes)-1]; last.owner != "" && !last.released {
			has[addr] = last.owner
		}
	}
	return has
}
