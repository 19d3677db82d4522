package chaos

import "slices"

// dropUnseen leaves out the last transactions before etcd was put back to an older
// state which no replica can have seen: what the replicas wrote next does not come
// after them. etcd had died before it told anybody but the witness. Of one that
// somebody was answered by, nothing is left out, and what comes after it is wrong.
func (h *history) dropUnseen() {
	for i := len(h.txns) - 1; i > 0; i-- {
		t, next := h.txns[i-1], h.txns[i]
		if t.epoch < next.epoch && next.revision <= t.revision && !h.attested(i-1) {
			h.txns = slices.Delete(h.txns, i-1, i)
		}
	}
}

// attested reports whether some client was answered by what transaction i wrote.
func (h *history) attested(i int) bool {
	t := h.txns[i]
	for _, c := range t.changes {
		if c.owner == "" || c.released {
			continue
		}
		until := forever
		for _, later := range h.txns[i+1:] {
			if slices.ContainsFunc(later.changes, func(d change) bool { return d.addr == c.addr }) {
				until = later.hi
				break
			}
		}
		had := h.had(i, c)
		for _, a := range h.answers {
			if !had && a.claim() && a.addr == c.addr && a.name == c.owner && a.end >= t.lo && a.start <= until {
				return true
			}
		}
	}
	return false
}

// had reports whether the owner that transaction i names had the address before.
func (h *history) had(i int, c change) bool {
	for _, t := range slices.Backward(h.txns[:i]) {
		for _, d := range t.changes {
			if d.addr == c.addr {
				return d.owner == c.owner && !d.released
			}
		}
	}
	return false
}
