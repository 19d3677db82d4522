package meshvip

import (
	"net/netip"
	"slices"
)

// CacheBypassZones returns the zones that plugin cache must not keep answers
// of: addresses come and go, and the zones' own TTLs are short. The cache takes
// the whole subtree of a zone, so a zone is left out where a part of it falls
// through to other plugins, whose answers are worth keeping; and the root is
// never named.
//
// Plugin cache asks once, when it starts, which is before we do: what must be
// known by then is made known. The pools of the table count, and those of the
// Corefile, which may not be in force yet.
func (h *Handler) CacheBypassZones() []string {
	if h.begin != nil && h.begin() != nil {
		return nil // the server will not start
	}
	pools := slices.Concat(h.table.Pools(), h.configured)
	slices.SortFunc(pools, netip.Prefix.Compare)
	s := newZoneSet(h.block.Forward, h.block.Reverse, slices.Compact(pools))
	var zones []string
	for _, list := range [][]*zone{s.forward, s.reverse} {
		for _, z := range list {
			if z.name != "." && !h.fallsBelow(z.name) {
				zones = append(zones, z.name)
			}
		}
	}
	return zones
}

// fallsBelow reports whether any name of zone falls through.
func (h *Handler) fallsBelow(zone string) bool {
	for _, f := range h.block.Fall.Zones {
		if covers(f, zone) || covers(zone, f) {
			return true
		}
	}
	return false
}
