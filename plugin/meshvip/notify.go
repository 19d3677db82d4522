package meshvip

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin/transfer"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/names"
)

// notifyBy returns what sends NOTIFY to the secondaries of c's server block, nil
// where plugin transfer is not loaded.
func notifyBy(c *caddy.Controller) func(zone string) error {
	if t, ok := dnsserver.GetConfig(c).Handler("transfer").(*transfer.Transfer); ok {
		return t.Notify
	}
	return nil
}

// notifier tells the secondaries of a server block which of its zones have changed,
// from a goroutine of its own. At the start it tells of all zones: secondaries may
// be new, and so may the block's options.
type notifier struct {
	h     *Handler
	log   *slog.Logger
	wake  chan struct{} // has one where there may be something to do
	slots chan struct{} // has one for each zone that is told of at present
	end   context.CancelFunc
	done  sync.WaitGroup // without those who wait for a secondary

	mu      sync.Mutex
	paces   paces
	known   *zoneSet        // of which all zones were told of once, or are to be
	serial  uint32          // of the last commit
	failing map[string]bool // zones of which a secondary did not want to hear
}

// newNotifier returns the notifier of h's zones, which runs until it is closed.
func newNotifier(h *Handler, log *slog.Logger) *notifier {
	n := &notifier{
		h: h, log: log, wake: make(chan struct{}, 1), slots: make(chan struct{}, notifyAtOnce),
		paces: make(paces), failing: make(map[string]bool), serial: h.table.Serial(),
	}
	n.meet(h.zones())
	ctx, end := context.WithCancel(context.Background())
	n.end = end
	n.done.Go(func() { n.run(ctx) })
	return n
}

// close ends n. Who waits for a secondary just now, does so for some seconds more.
func (n *notifier) close() {
	n.end()
	n.done.Wait()
}

// look lets n look whether there is something to do.
func (n *notifier) look() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// meet notes of zones that are new that they have changed. n is locked, or new.
func (n *notifier) meet(zones *zoneSet) {
	if zones == n.known {
		return
	}
	for _, all := range [][]*zone{zones.forward, zones.reverse} {
		for _, z := range all {
			if n.known == nil || !n.known.has(z.name) {
				n.paces.change(z.name)
			}
		}
	}
	n.known = zones
}

// committed notes which zones a commit has changed. Its serial is shown already.
func (n *notifier) committed(c allocator.Commit, events []names.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	zones := n.h.zones()
	n.meet(zones)
	changes := newZoneChanges(zones, n.h.view)
	for _, all := range [][]*zone{zones.forward, zones.reverse} {
		for _, z := range all {
			options := len(c.Rows) == 0 && c.Meta.Serial != n.serial // or a pool has gone
			if p := n.paces[z.name]; options || p != nil && p.changed {
				changes.mark(z)
			}
		}
	}
	n.serial = c.Meta.Serial
	changes.rows(c.Rows, events)
	for z := range changes.changed {
		n.paces.change(z.name)
	}
	n.look()
}

// run tells of zones when they are due. None is as long as none is transferred.
func (n *notifier) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if t := n.h.table; t.Loaded() && t.Synced() && t.Leads() {
			n.mu.Lock()
			n.meet(n.h.zones())
			zones, next := n.paces.due(time.Now())
			n.mu.Unlock()
			for _, zone := range zones {
				go n.tell(ctx, zone)
			}
			if !next.IsZero() {
				timer.Reset(time.Until(next))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		case <-timer.C:
		}
	}
}

// tell tells all secondaries of a zone, and waits for their answers.
func (n *notifier) tell(ctx context.Context, zone string) {
	select {
	case <-ctx.Done():
		return
	case n.slots <- struct{}{}:
	}
	err := n.h.notify(zone)
	<-n.slots
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paces.told(zone)
	n.look()
	switch failed := n.failing[zone]; {
	case err != nil && !failed:
		n.failing[zone] = true
		n.log.Warn("a secondary does not take NOTIFY; it sees changes when it asks for the serial", "zone", zone, "error", err)
	case err == nil && failed:
		delete(n.failing, zone)
		n.log.Info("the secondaries take NOTIFY again", "zone", zone)
	}
}

// notifiers are those of the server blocks that share a runtime.
type notifiers struct {
	mu  sync.Mutex
	all map[*notifier]struct{}
}

// committed lets all of them know of a commit.
func (ns *notifiers) committed(c allocator.Commit, events []names.Event) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for n := range ns.all {
		n.committed(c, events)
	}
}

// look lets all of them look whether zones may be transferred by now.
func (ns *notifiers) look() {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for n := range ns.all {
		n.look()
	}
}

// notify begins to tell the secondaries of o's blocks. Its instance has taken over.
func (o *owner) notify(r *runtime) {
	if o.notifiers != nil {
		return
	}
	r.notify.mu.Lock()
	defer r.notify.mu.Unlock()
	for _, h := range o.handlers {
		if h.notify == nil {
			continue
		}
		n := newNotifier(h, r.log)
		o.notifiers = append(o.notifiers, n)
		if r.notify.all == nil {
			r.notify.all = make(map[*notifier]struct{})
		}
		r.notify.all[n] = struct{}{}
	}
}

// hush ends what notify began.
func (o *owner) hush(r *runtime) {
	for _, n := range o.notifiers {
		r.notify.mu.Lock()
		delete(r.notify.all, n)
		r.notify.mu.Unlock()
		n.close()
	}
	o.notifiers = nil
}
