package meshvip

import (
	"context"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/metrics"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// pluginName is the directive, and what the plugin calls itself.
const pluginName = "meshvip"

// table is what a handler needs of the runtime behind it. Every method is safe
// for concurrent use, takes no lock and returns at once.
type table interface {
	// Serial is the SOA's serial: never 0, never lower than it was.
	Serial() uint32
	// Loaded: the persisted table has been loaded, and names in the index are
	// true.
	Loaded() bool
	// Synced: the source has been read once, or the table says that it was. A
	// name that is not in the index does not exist. It is set only after the
	// index has what was read.
	Synced() bool
	// Leads: this process allocates, so that it tells secondaries of changes.
	Leads() bool
	// Stale: addresses of the table may have been given to others by now, to be
	// cached for that long.
	Stale(ttl time.Duration) bool
	// Pools are the ranges that addresses are answered from, sorted. Each change
	// has a slice of its own, which nobody modifies.
	Pools() []netip.Prefix
}

// Handler answers for one server block. It takes no lock and waits for nothing.
type Handler struct {
	Next plugin.Handler

	block  BlockConfig
	apex   apex
	table  table
	view   *names.View
	blocks *blocks
	// suffixes are the zones for the targets of PTRs: the block's own forward
	// zones, or those of another block where it has none.
	suffixes []string
	set      atomic.Pointer[zoneSet]
	ready    atomic.Bool // once true, always
	entries  func() int  // how many the index has
	// begin makes h answer if it does not yet; nil where it always has.
	begin func() error
	// notify tells the block's secondaries that a zone has changed, and waits for
	// them; nil where there are none.
	notify func(zone string) error
	// configured are the pools of the Corefile.
	configured []netip.Prefix
}

// newHandler returns a handler that answers for b from t, x and a view v of x
// that shows the block's meshes. suffixes are the forward zones of the
// runtime's first block that has any, for blocks that have none themselves.
// cooldown is the runtime's.
func newHandler(b BlockConfig, cooldown time.Duration, suffixes []string, t table, x *names.Index, v *names.View) *Handler {
	h := new(Handler)
	h.serve(b, cooldown, suffixes, t, x, v)
	return h
}

// serve makes h answer; see newHandler. It comes before the first query.
func (h *Handler) serve(b BlockConfig, cooldown time.Duration, suffixes []string, t table, x *names.Index, v *names.View) {
	if len(b.Forward) > 0 {
		suffixes = b.Forward
	}
	h.block = b
	h.apex = newApex(b, cooldown)
	h.table = t
	h.view = v
	h.suffixes = slices.Clone(suffixes)
	h.entries = x.Len
}

// Name implements plugin.Handler.
func (h *Handler) Name() string { return pluginName }

// ServeDNS implements plugin.Handler.
func (h *Handler) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	if len(r.Question) == 0 {
		return plugin.NextOrFailure(pluginName, h.Next, ctx, w, r)
	}
	q := &r.Question[0]
	name := vip.Fold(q.Name)
	zones := h.zones()
	z, rn := zones.match(name)
	gift := false
	if z == nil {
		z = zones.giftOf(h.view, rn, q.Qtype)
		gift = z != nil
	}
	if z == nil {
		return plugin.NextOrFailure(pluginName, h.Next, ctx, w, r)
	}
	if rcode, ok := acceptable(r); !ok {
		h.count(ctx, z, refused)
		return rcode, nil
	}
	if !h.table.Loaded() || h.stale() {
		h.count(ctx, z, failed)
		return dns.RcodeServerFailure, nil
	}
	// Both are read before the name is looked up. A table that is synced in
	// between has then been looked up too early for its "no such name"; and no
	// client gets what is older than the serial beside it.
	synced, serial := h.table.Synced(), h.table.Serial()
	n := zones.find(h.view, name, z, rn, h.suffixes)
	res := n.result(q.Qtype, h.apex.ns)
	if gift && res != success {
		return plugin.NextOrFailure(pluginName, h.Next, ctx, w, r)
	}
	if res == nxdomain {
		if h.through(name) {
			h.count(ctx, z, passed)
			return plugin.NextOrFailure(pluginName, h.Next, ctx, w, r)
		}
		if !synced {
			h.count(ctx, z, failed)
			return dns.RcodeServerFailure, nil
		}
	}
	h.count(ctx, z, res)
	_ = w.WriteMsg(h.apex.reply(r, z, &n, res, serial)) // the client is gone: nobody to tell
	return dns.RcodeSuccess, nil
}

// stale reports whether the table must not be answered from any more.
func (h *Handler) stale() bool {
	return !h.block.StaleServe.Value && h.table.Stale(time.Duration(h.block.TTL.Value)*time.Second)
}

// acceptable reports whether r is a question that we answer, and how the server
// is to answer it if not. A zone transfer is what plugin transfer answers where
// it is loaded, and NOTIFY is for secondaries: as plugin file does, it is
// dropped.
func acceptable(r *dns.Msg) (rcode int, ok bool) {
	switch r.Opcode {
	case dns.OpcodeQuery:
		if t := r.Question[0].Qtype; t == dns.TypeAXFR || t == dns.TypeIXFR {
			return dns.RcodeRefused, false
		}
		return dns.RcodeSuccess, true
	case dns.OpcodeNotify:
		return dns.RcodeSuccess, false
	}
	return dns.RcodeNotImplemented, false
}

// zones returns the block's zones over the pools of now.
func (h *Handler) zones() *zoneSet {
	pools := h.table.Pools()
	s := h.set.Load()
	if s == nil || !s.of(pools) {
		// Queries that meet the change together each make a set, and the last
		// one stays: that is cheaper than a lock for all others.
		s = newZoneSet(h.block.Forward, h.block.Reverse, pools)
		h.set.Store(s)
	}
	return s
}

// through reports whether a name that does not exist goes to the next plugin.
func (h *Handler) through(name string) bool {
	for _, z := range h.block.Fall.Zones {
		if covers(z, name) {
			return true
		}
	}
	return false
}

// count adds one to the requests for z that ended in res.
func (h *Handler) count(ctx context.Context, z *zone, res result) {
	z.requests.of(metrics.WithServer(ctx), metrics.WithView(ctx), z.name)[res].Inc()
}
