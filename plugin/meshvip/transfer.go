package meshvip

import (
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/coredns/coredns/plugin/transfer"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

const (
	// transferBatch is how many records plugin transfer gets at once. It makes
	// messages of them.
	transferBatch = 256
	// transferPatience is how long a client may take nothing before its transfer is
	// given up. Nobody tells us of a client: when one goes, plugin transfer takes
	// what is left for it, and for one that hangs it waits as long as the
	// connection lasts.
	transferPatience = 2 * time.Minute
)

// errUnread is why a zone is not transferred: a secondary would deny the names
// that are not known yet.
var errUnread = errors.New("no zone is transferred yet: the table is not loaded, or its source was never read")

// errStale is why a zone is not transferred by a replica without its store.
var errStale = errors.New("no zone is transferred: etcd could not be asked for too long, and addresses may have changed hands")

// Transfer implements transfer.Transferer: plugin transfer calls it for a client
// that may have the zone, with the serial of the client's copy, or 0.
func (h *Handler) Transfer(zone string, serial uint32) (<-chan []dns.RR, error) {
	zones := h.zones()
	z := zones.called(vip.Fold(zone))
	switch {
	case z == nil:
		return nil, transfer.ErrNotAuthoritative
	case !h.table.Loaded() || !h.table.Synced():
		return nil, errUnread
	case h.stale():
		return nil, errStale
	}
	// It is read before the snapshot is taken: no secondary has what is older than
	// the serial beside it.
	current := h.table.Serial()
	if serial != 0 && !older(serial, current) {
		ch := make(chan []dns.RR, 1)
		ch <- []dns.RR{h.apex.soaRecord(z, current)}
		close(ch)
		return ch, nil
	}
	ch := make(chan []dns.RR)
	go func() {
		defer close(ch)
		if !send(ch, h.contents(z, zones, current), transferPatience) {
			log.Warningf("the transfer of zone %s is given up: its client took nothing for %v", z.name, transferPatience)
		}
	}()
	return ch, nil
}

// older reports whether serial a comes before b (RFC 1982, 3.2). Of two that are as
// far apart as can be each does: the client gets the zone.
func older(a, b uint32) bool { return int32(a-b) < 0 }

// send sends records in batches, and reports whether all of them were taken:
// nobody takes one for longer than patience, and the rest is not sent. A client
// that gets no SOA at the end knows that it has not got the zone.
func send(ch chan<- []dns.RR, records iter.Seq[dns.RR], patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	taken := func(batch []dns.RR) bool {
		timer.Reset(patience)
		select {
		case ch <- batch:
			return true
		case <-timer.C:
			return false
		}
	}
	batch := make([]dns.RR, 0, transferBatch)
	for rr := range records {
		if len(batch) == transferBatch {
			if !taken(batch) {
				return false
			}
			batch = make([]dns.RR, 0, transferBatch)
		}
		batch = append(batch, rr)
	}
	return taken(batch)
}

// called returns the zone of that name, nil if there is none.
func (s *zoneSet) called(name string) *zone {
	for _, zones := range [][]*zone{s.forward, s.reverse} {
		if i := slices.IndexFunc(zones, func(z *zone) bool { return z.name == name }); i >= 0 {
			return zones[i]
		}
	}
	return nil
}
