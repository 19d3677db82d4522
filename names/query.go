package names

import (
	"net/netip"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Result says what a view knows of a name.
type Result uint8

// The results of [View.Forward].
const (
	// Found: the name is an entry's.
	Found Result = iota
	// Empty: the name is the zone's apex, or an ancestor of a name that the
	// view shows in this zone: NOERROR without an answer.
	Empty
	// None: there is no such name: NXDOMAIN.
	None
)

// String returns the result in words.
func (r Result) String() string {
	switch r {
	case Found:
		return "found"
	case Empty:
		return "empty"
	}
	return "none"
}

// Forward looks name up: a full name in lower case, inside zone, which is the
// longest of the server block's zones that covers it and one of
// [Index.SetZones]. The record is nil unless the result is [Found]. Of the
// apex's own ns.dns below a zone it knows nothing: the caller answers that, and
// its ancestor dns, first.
func (v *View) Forward(name, zone string) (*Record, Result) {
	x := v.x
	taken := false // an absolute claim has the name, if a hidden one
	if x.absolutes.Load() > 0 {
		var r *Record
		if r, taken = v.absoluteOwner(name); r != nil {
			return r, Found
		}
	}
	if name == zone {
		return nil, Empty
	}
	if zone != "." {
		rel, ok := relative(name, zone)
		if !ok {
			return nil, None
		}
		if !taken && !(strings.HasPrefix(name, apexHost) && x.zones.Load().reserves(name)) {
			if r := x.relative.Load(rel); r != nil && v.shows(r.Row) {
				return r, Found
			}
		}
		if n := v.relative.count(rel); n > 0 && n > v.displaced.count(overlap{rel, zone}) {
			return nil, Empty
		}
	}
	if v.absolute.count(name) > 0 {
		return nil, Empty
	}
	return nil, None
}

// absoluteOwner returns the record that the view shows at an absolute name, and
// whether somebody has the name at all.
func (v *View) absoluteOwner(name string) (r *Record, taken bool) {
	for {
		turn := v.turn.Load()
		r, ok := v.x.absolute.Load(name)
		switch {
		case !ok:
			return nil, false
		case v.shows(r.Row):
			return r, true
		}
		if r := v.hosts.at(name); r != nil {
			return r, true
		}
		if v.turn.Load() == turn {
			return nil, true
		}
	}
}

// Reverse returns the record that has addr, nil if the view shows none: of
// several that share it, the first that the view shows.
func (v *View) Reverse(addr netip.Addr) *Record {
	r := v.x.addrs.at(addr)
	switch {
	case r != nil && v.shows(r.Row):
		return r
	case v.meshes == nil:
		return nil
	}
	return v.reverseLocally(addr)
}

// reverseLocally is Reverse where the first look at the index found nothing that
// is shown.
func (v *View) reverseLocally(addr netip.Addr) *Record {
	for {
		turn := v.turn.Load()
		if r := v.x.addrs.at(addr); r != nil && v.shows(r.Row) {
			return r
		}
		if r := v.guests.at(addr); r != nil {
			return r
		}
		if v.turn.Load() == turn {
			return nil
		}
	}
}

// Below reports whether the view shows an entry with an address in p. The
// length of p must be on the boundary of a label of the reverse tree: an octet
// (v4) or a nibble (v6).
func (v *View) Below(p netip.Prefix) bool {
	switch {
	case !p.IsValid():
		return false
	case p.IsSingleIP():
		return v.Reverse(p.Addr()) != nil
	}
	return v.blocks.has(p)
}

// PTR returns the canonical full name of the entry that has addr, in a server
// block with these forward zones, in lower case with the final dot, "" if the
// view shows none or it has none. A service has the dotted spelling where that
// is its own and else the literal one, below the first zone that is not "."; a
// host and an fqdn have their own name, if a zone covers it, and an entry with
// hostnames has the first of them that is its own here and that a zone covers. The
// name is confirmed: asked for in the longest zone that covers it, it gives the
// entry, at addr.
func (v *View) PTR(addr netip.Addr, zones []string) string {
	r := v.Reverse(addr)
	if r == nil {
		return ""
	}
	if name, ok := v.known(r, zones); ok {
		return name
	}
	if r.Row.Entry.Kind == vip.Service {
		return v.servicePTR(r, addr, zones)
	}
	return v.absolutePTR(r, addr, zones)
}

// servicePTR is PTR for a service, put together and confirmed.
func (v *View) servicePTR(r *Record, addr netip.Addr, zones []string) string {
	for _, zone := range zones {
		if zone == "." {
			continue
		}
		if r.Dotted != "" {
			if name := under(r.Dotted, zone); v.confirms(name, r, addr, zones) {
				return name
			}
		}
		if r.Literal != "" && r.Literal != r.Dotted {
			if name := under(r.Literal, zone); v.confirms(name, r, addr, zones) {
				return name
			}
		}
		return ""
	}
	return ""
}

// absolutePTR is PTR for any other entry.
func (v *View) absolutePTR(r *Record, addr netip.Addr, zones []string) string {
	if !r.listsHosts() {
		if r.Literal != "" && v.confirms(r.Literal, r, addr, zones) {
			return r.Literal
		}
		return ""
	}
	for _, h := range r.more.hosts {
		if (h.has || v.meshes != nil) && v.confirms(h.name, r, addr, zones) {
			return h.name
		}
	}
	return ""
}

// confirms reports whether name, asked for in a block with these zones, gives
// r's entry, at addr too. Other addresses of it may change meanwhile.
func (v *View) confirms(name string, r *Record, addr netip.Addr, zones []string) bool {
	zone := longestCovering(name, zones)
	if zone == "" {
		return false
	}
	got, result := v.Forward(name, zone)
	return result == Found && (got == r || got.Has(addr) && got.Row.Key() == r.Row.Key())
}

// known returns the name that r's PTR has below the first of zones that is not
// ".", if r knows it and nobody else can have it: r owns the spelling, no host
// or fqdn is there to take the name, and no longer one of the zones covers it.
// With one zone it looks at the record alone, and not at the name's bytes.
func (v *View) known(r *Record, zones []string) (string, bool) {
	if r.full == "" || v.x.absolutes.Load() > 0 {
		return "", false
	}
	for _, zone := range zones {
		if zone == "." {
			continue
		}
		return r.full, r.zone == zone && (len(zones) == 1 || longestCovering(r.full, zones) == zone)
	}
	return "", false
}
