package allocator

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// withheld says why the entry of key cannot have addr, which it had in the
// backup; empty if it can.
func (r *restorer) withheld(key vip.Key, addr netip.Addr) string {
	h, known := r.had[addr]
	other, granted := r.granted[addr]
	switch {
	case granted:
		return fmt.Sprintf("%v has it in the present table", other)
	case known && h.Owner == key:
		return ""
	case known && !h.Released:
		return fmt.Sprintf("%v has it in the present table", h.Owner)
	case known && h.At > r.out.Meta.Clock-r.Cooldown:
		return fmt.Sprintf("%v had it last, and it cools down", h.Owner)
	}
	for _, q := range r.unsure {
		if q.Range.Contains(addr) {
			return "the present table does not tell who had it last"
		}
	}
	return ""
}

// grant lets the entry of key have addr, since when the present table says; where
// that does not tell, since when the backup does.
func (r *restorer) grant(key vip.Key, addr netip.Addr, since int64) {
	switch h, known := r.had[addr]; {
	case known && !h.Released:
		since = h.Since
	case r.done.Exact:
		since = r.Now.Unix()
	}
	r.granted[addr] = key
	r.out.Addrs = append(r.out.Addrs, Held{addr, Holding{Owner: key, Since: since}})
}

// quarantine keeps a range from everybody, if its time has not come.
func (r *restorer) quarantine(q Quarantine) {
	if q.Until > r.out.Meta.Clock {
		r.out.Meta.Quarantine = append(r.out.Meta.Quarantine, q)
	}
}

// setAside quarantines the addresses whose record cannot be read in a state, and
// of which no other says who has them.
func (r *restorer) setAside(s State) {
	for _, d := range s.Damaged {
		if _, known := r.had[d.Addr]; d.Addr.IsValid() && !known {
			r.quarantine(Quarantine{netipx.IPRangeFrom(d.Addr, d.Addr), r.out.Meta.Clock + r.Cooldown})
		}
	}
}

// state returns the table, with all that entries no longer have cooling down.
func (r *restorer) state() (State, Restored) {
	for addr, h := range r.had {
		if _, granted := r.granted[addr]; granted {
			continue
		}
		if !h.Released {
			h.Released, h.At, h.Since = true, r.out.Meta.Clock, r.Now.Unix()
			r.done.Released++
		}
		r.out.Addrs = append(r.out.Addrs, Held{addr, h})
	}
	slices.SortFunc(r.out.Addrs, func(a, b Held) int { return a.Addr.Compare(b.Addr) })
	r.done.Serial, r.done.Clock, r.done.Entries = r.out.Meta.Serial, r.out.Meta.Clock, len(r.out.Rows)
	r.done.Quarantined = slices.Clone(r.out.Meta.Quarantine)
	return r.out, r.done
}
