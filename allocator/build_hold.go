package allocator

import (
	"net/netip"

	"github.com/meshvip/coredns-meshvip/vip"
)

// hold fills in who has which address, and had it, of a state in which rows and
// address keys agree, and reports whether they do; where not, what it has filled in
// is of no use. It waits for the rows of the table where it needs them: known is
// closed then.
//
// An address is put in once, with its row: at a million, each look into a map is
// a miss of the processor's caches.
func (t *table) hold(s State, known <-chan bool) (agree bool) {
	if len(s.Damaged) > 0 {
		return false
	}
	keys := 0 // of addresses that rows have
	at := rowsInTurn{rows: s.Rows}
	for _, h := range s.Addrs {
		if h.Released {
			if h.At > s.Meta.Clock {
				return false
			}
			t.released.note(h)
			continue
		}
		row := at.next(h.Owner)
		if row == nil {
			<-known
			row = t.rows[h.Owner]
		}
		if row == nil || row.V4 != h.Addr && row.V6 != h.Addr {
			return false
		}
		t.live[h.Addr] = tenure{row, h.Since}
		keys++
	}
	for _, r := range s.Rows {
		for _, a := range [2]netip.Addr{r.V4, r.V6} {
			if a.IsValid() {
				keys--
			}
		}
	}
	return keys == 0 && unique(s.Addrs)
}

// rowsInTurn finds rows by their keys where these are asked for in about the order
// of the rows: a first sync gives addresses in it.
type rowsInTurn struct {
	rows []*vip.Row
	i    int // after the last that was found
}

// ahead is how many rows are looked at: some may have come in between since.
const ahead = 4

// next returns the row of a key, nil where it is not among the next ones, or is not
// spelled as its key is.
func (r *rowsInTurn) next(key vip.Key) *vip.Row {
	for i, row := range r.rows[r.i:min(r.i+ahead, len(r.rows))] {
		if vip.Key(row.Entry) == key {
			r.i += i + 1
			return row
		}
	}
	return nil
}

// holdAtOdds is hold for a state of any kind, whose rows the table has. An address
// that several rows have is that of the last.
func (t *table) holdAtOdds(s State) (agree bool) {
	agree = true
	t.live, t.released = make(map[netip.Addr]tenure, len(s.Addrs)), newReleased()
	for _, d := range s.Damaged {
		if d.Addr.IsValid() {
			t.reserved[d.Addr] = struct{}{}
		}
	}
	unkeyed := 0 // addresses of rows whose key is still to come
	for _, r := range s.Rows {
		for _, a := range [2]netip.Addr{r.V4, r.V6} {
			if !a.IsValid() {
				continue
			}
			t.live[a] = tenure{row: r}
			if _, damaged := t.reserved[a]; !damaged {
				unkeyed++
			}
		}
	}
	for _, h := range s.Addrs {
		row := t.live[h.Addr].row
		switch {
		case row != nil:
			// Of an entry that is spelled in lower case, the name is the key's.
			key := vip.Key(row.Entry)
			if key != h.Owner {
				key = row.Key()
			}
			agree = agree && key == h.Owner && !h.Released
			if _, damaged := t.reserved[h.Addr]; !damaged { // or it was not counted
				unkeyed--
			}
			if h.Since != 0 {
				t.live[h.Addr] = tenure{row, h.Since}
			}
		case h.Released:
			agree = agree && h.At <= s.Meta.Clock
			t.released.note(h)
		default:
			agree = agree && len(s.Damaged) > 0 && t.rows[h.Owner] == nil
			t.released.note(h)
			t.aside = true
		}
	}
	return agree && unkeyed == 0 && unique(s.Addrs)
}
