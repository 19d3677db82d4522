package chaos

import (
	"fmt"
	"slices"
	"time"

	"github.com/miekg/dns"
)

// settle is what a replica may take until it is in contact with etcd again after
// a fault: connections are tried again with growing pauses.
const settle = 6 * time.Second

// kept checks that a stable name is never denied, and has one address.
func (h *history) kept() (wrong []error) {
	addrs := make(map[string]answer)
	for _, a := range h.answers {
		if !slices.Contains(h.stable, a.name) {
			continue
		}
		switch was, known := addrs[a.name]; {
		case a.rcode == dns.RcodeNameError, a.rcode == 0 && !a.addr.IsValid():
			wrong = append(wrong, fmt.Errorf("a stable name is denied: %v", a))
		case !a.claim():
		case !known:
			addrs[a.name] = a
		case was.addr != a.addr:
			wrong = append(wrong, fmt.Errorf("a stable name has two addresses: %v; %v", was, a))
		}
	}
	return wrong
}

// refused checks that a replica which runs, and was in contact with etcd within
// the time for which it may answer, answers stable names.
func (h *history) refused() (wrong []error) {
	served := make(map[int]bool) // replicas that have answered since they were started
	silent := make(map[int][]answer)
	for _, a := range h.byTime() {
		stopped := slices.ContainsFunc(h.faults, func(f fault) bool {
			return f.process && f.touches(a.replica) && f.from <= a.end && f.to+time.Second >= a.start
		})
		switch {
		case stopped:
			served[a.replica], silent[a.replica] = false, nil
		case a.rcode == noAnswer:
			// One may be lost; a row of them is not.
			if silent[a.replica] = append(silent[a.replica], a); len(silent[a.replica]) == 20 && served[a.replica] {
				wrong = append(wrong, fmt.Errorf("a running replica is silent since %v: %v", silent[a.replica][0].start, a))
			}
		case a.rcode == dns.RcodeServerFailure && served[a.replica] && h.inContact(a.replica, a.end-h.stale()+h.tolerance, a.start):
			wrong = append(wrong, fmt.Errorf("a replica refuses to answer that was in contact: %v", a))
			silent[a.replica] = nil
		default:
			if a.claim() {
				served[a.replica] = true
			}
			silent[a.replica] = nil
		}
	}
	return wrong
}

func (h *history) byTime() []answer {
	sorted := slices.Clone(h.answers)
	slices.SortStableFunc(sorted, func(a, b answer) int { return int(a.start - b.start) })
	return sorted
}

// inContact reports whether at some moment between two a replica must have been
// in contact with etcd: for so long before that moment as it takes to settle no
// fault had touched it.
func (h *history) inContact(replica int, from, to time.Duration) bool {
	// The latest such moment is the end, or else some fault's beginning.
	moments := []time.Duration{to}
	for _, f := range h.faults {
		if f.touches(replica) && f.from >= from && f.from <= to {
			moments = append(moments, f.from-1)
		}
	}
	return slices.ContainsFunc(moments, func(m time.Duration) bool {
		return m >= from && !slices.ContainsFunc(h.faults, func(f fault) bool {
			return f.touches(replica) && f.from <= m && f.to >= m-settle
		})
	})
}
