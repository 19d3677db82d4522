package chaos

import (
	"fmt"
	"net/netip"
)

// moves checks that an entry which gets an address gets the one that it had last,
// as long as nobody else has that one; but for those of which a replica has
// logged that it moved them. An entry has one address at a time.
func (h *history) moves() (wrong []error) {
	last := make(map[string]netip.Addr) // of each name, the address that it had last
	now := make(map[netip.Addr]holding)
	for i := range h.txns {
		t := &h.txns[i]
		for _, c := range t.changes {
			now[c.addr] = c.holding
		}
		for _, c := range t.changes {
			if c.owner == "" || c.released {
				continue
			}
			was, known := last[c.owner]
			last[c.owner] = c.addr
			if !known || was == c.addr || h.moved[c.owner] {
				continue
			}
			if former := now[was]; former.owner == c.owner {
				wrong = append(wrong, fmt.Errorf("%v moved %q from %v, which is %+v, to %v", t, c.owner, was, former, c.addr))
			}
		}
	}
	return wrong
}

// released checks that nobody was released who was listed throughout: from before
// the release was planned until it was done.
func (h *history) unasked() (wrong []error) {
	took := make(map[netip.Addr]txn)
	for _, t := range h.txns {
		for _, c := range t.changes {
			switch {
			case c.owner == "":
			case !c.released:
				took[c.addr] = t
			case h.throughout(c.owner, took[c.addr], t):
				wrong = append(wrong, fmt.Errorf("%v released %q from %v, which is listed throughout: %v", t, c.owner, c.addr, h.intents[c.owner]))
			}
		}
	}
	return wrong
}

// throughout reports whether a name was listed from before it got its address
// until it lost it. The source was read before that, and may have been read some
// time before.
func (h *history) throughout(name string, took, lost txn) bool {
	for _, i := range h.intents[name] {
		if i.from < took.lo-h.cooldown && i.to > lost.hi {
			return true
		}
	}
	return false
}
