package meshvip

// CacheBypassZones returns the zones that plugin cache must not keep answers
// of: addresses come and go, and the zones' own TTLs are short. The cache takes
// the whole subtree of a zone, so a zone is left out where a part of it falls
// through to other plugins, whose answers are worth keeping; and the root is
// never named.
func (h *Handler) CacheBypassZones() []string {
	var zones []string
	s := h.zones()
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
