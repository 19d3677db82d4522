package names

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/meshvip/coredns-meshvip/vip"
)

// oracle is the slow and obvious index: it holds rows, and works everything
// out anew for each question.
type oracle struct {
	rows  map[vip.Key]*vip.Row
	zones []string
}

// oracleClaim is one claim to one name, its place in the order being plain.
type oracleClaim struct {
	order int // 0 fqdn, 1 host, 2 literal, 3 dotted
	row   *vip.Row
}

// viaWire returns raw as miekg/dns prints it after reading it from the wire,
// without the final dot, and whether it can be on the wire below suffix.
func viaWire(raw, suffix string) (string, bool) {
	var wire []byte
	for _, label := range strings.Split(vip.Fold(raw), ".") {
		if len(label) == 0 || len(label) > 63 {
			return "", false
		}
		wire = append(append(wire, byte(len(label))), label...)
	}
	own := len(wire)
	if suffix != "." {
		for _, label := range dns.SplitDomainName(suffix) {
			wire = append(append(wire, byte(len(label))), label...)
		}
	}
	wire = append(wire, 0)
	if len(wire) > 255 {
		return "", false
	}
	name, _, err := dns.UnpackDomainName(append(wire[:own:own], 0), 0)
	if err != nil {
		return "", false
	}
	return strings.TrimSuffix(name, "."), true
}

// longest returns the longest zone.
func (o *oracle) longest() string {
	longest := "."
	for _, zone := range o.zones {
		if len(zone) > len(longest) {
			longest = zone
		}
	}
	return longest
}

// claimsBy returns the names that row claims.
func (o *oracle) claimsBy(row *vip.Row) map[string]oracleClaim {
	all := make(map[string]oracleClaim)
	if len(oracleAddrs(row)) == 0 {
		return all
	}
	switch row.Entry.Kind {
	case vip.MeshService, vip.MeshExternalService, vip.MeshMultiZoneService:
		for _, name := range oracleHosts(row) {
			all[name] = oracleClaim{0, row}
		}
	case vip.Service:
		if name, ok := viaWire(strings.ReplaceAll(row.Entry.Name, "_", "."), o.longest()); ok {
			all[name] = oracleClaim{3, row}
		}
		if name, ok := viaWire(row.Entry.Name, o.longest()); ok {
			all[name] = oracleClaim{2, row}
		}
	default:
		if name, ok := viaWire(strings.TrimSuffix(row.Entry.Name, "."), "."); ok {
			all[name+"."] = oracleClaim{2 - int(row.Entry.Kind), row}
		}
	}
	return all
}

// oracleAddrs returns the addresses of a row in the order of replies: v4 first,
// and the table's own before given ones.
func oracleAddrs(row *vip.Row) []netip.Addr {
	var all []netip.Addr
	given := slices.SortedFunc(slices.Values(row.Given()), netip.Addr.Compare)
	for _, addr := range append([]netip.Addr{row.V4, row.V6}, given...) {
		if addr.IsValid() && addr.Zone() == "" && !slices.Contains(all, addr) {
			all = append(all, addr)
		}
	}
	slices.SortStableFunc(all, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return all
}

// oracleHosts returns the hostnames of a row that DNS can carry, in their order.
func oracleHosts(row *vip.Row) []string {
	var all []string
	for _, raw := range row.Hostnames() {
		if name, ok := viaWire(strings.TrimSuffix(raw, "."), "."); ok {
			all = append(all, name+".")
		}
	}
	return all
}

// claims returns all claims by name, the best first.
func (o *oracle) claims() map[string][]oracleClaim {
	all := make(map[string][]oracleClaim)
	for _, row := range o.rows {
		for name, c := range o.claimsBy(row) {
			all[name] = append(all[name], c)
		}
	}
	for _, l := range all {
		slices.SortFunc(l, func(a, b oracleClaim) int {
			if a.order != b.order {
				return a.order - b.order
			}
			return a.row.Key().Compare(b.row.Key())
		})
	}
	return all
}

// reserved reports whether a relative or full name is the apex's.
func (o *oracle) reserved(name string) bool {
	return name == "ns.dns" || slices.ContainsFunc(o.zones, func(zone string) bool { return name == join("ns.dns", zone) })
}

func join(rel, zone string) string { return strings.ReplaceAll(rel+"."+zone, "..", ".") }

// owners returns who has each name, whoever asks.
func (o *oracle) owners() map[string]*vip.Row { return o.ownersFor(nil) }

// ownersFor returns who has each name in a view of meshes: of entries of meshes
// whose claims are alike, the first that is shown; the first of all where none is.
func (o *oracle) ownersFor(meshes []string) map[string]*vip.Row {
	all := make(map[string]*vip.Row)
	for name, l := range o.claims() {
		if o.reserved(name) {
			continue
		}
		all[name] = l[0].row
		if !l[0].row.Entry.Kind.OfMesh() {
			continue
		}
		for _, c := range l {
			if c.order == l[0].order && oracleShows(meshes, c.row) {
				all[name] = c.row
				break
			}
		}
	}
	return all
}

func oracleShows(meshes []string, row *vip.Row) bool {
	return len(meshes) == 0 || slices.ContainsFunc(row.Listings, func(l vip.Listing) bool { return slices.Contains(meshes, l.Mesh) })
}

// direct returns the row that is answered for a full name in a zone, nil if
// none.
func (o *oracle) direct(owners map[string]*vip.Row, meshes []string, name, zone string) *vip.Row {
	row, ok := owners[name]
	if !ok && zone != "." && !o.reserved(name) && strings.HasSuffix(name, "."+zone) {
		row = owners[strings.TrimSuffix(name, "."+zone)]
	}
	if row == nil || !oracleShows(meshes, row) {
		return nil
	}
	return row
}

// below reports whether the full name n lies below the name a.
func below(n, a string) bool { return n != a && (a == "." || strings.HasSuffix(n, "."+a)) }

// inZone returns all full names that could be answered in zone.
func inZone(owners map[string]*vip.Row, zone string) []string {
	var all []string
	for name := range owners {
		if strings.HasSuffix(name, ".") {
			if name == zone || below(name, zone) {
				all = append(all, name)
			}
		} else if zone != "." {
			all = append(all, name+"."+zone)
		}
	}
	return all
}

// forward returns what Forward should.
func (o *oracle) forward(owners map[string]*vip.Row, meshes []string, name, zone string) (*vip.Row, Result) {
	if row := o.direct(owners, meshes, name, zone); row != nil {
		return row, Found
	}
	if name == zone {
		return nil, Empty
	}
	for _, n := range inZone(owners, zone) {
		if below(n, name) && o.direct(owners, meshes, n, zone) != nil {
			return nil, Empty
		}
	}
	return nil, None
}

// ptr returns what PTR should for a row.
func (o *oracle) ptr(owners map[string]*vip.Row, meshes []string, row *vip.Row, zones []string) string {
	confirmed := func(name string) bool {
		zone := ""
		for _, z := range zones {
			if (name == z || below(name, z)) && len(z) > len(zone) {
				zone = z
			}
		}
		return zone != "" && o.direct(owners, meshes, name, zone) == row
	}
	if row.Entry.Kind.OfMesh() {
		for _, name := range oracleHosts(row) {
			if confirmed(name) {
				return name
			}
		}
		return ""
	}
	if row.Entry.Kind != vip.Service {
		for name := range o.claimsBy(row) {
			if confirmed(name) {
				return name
			}
		}
		return ""
	}
	i := slices.IndexFunc(zones, func(z string) bool { return z != "." })
	if i < 0 {
		return ""
	}
	for _, raw := range []string{strings.ReplaceAll(row.Entry.Name, "_", "."), row.Entry.Name} {
		if name, ok := viaWire(raw, o.longest()); ok && owners[name] == row && confirmed(name+"."+zones[i]) {
			return name + "." + zones[i]
		}
	}
	return ""
}

// conflicts returns what Conflicts should, by name: the winner and the losers.
func (o *oracle) conflicts() map[string][]string {
	all := make(map[string][]string)
	owners := o.owners()
	text := func(row *vip.Row) string {
		if row == nil {
			return "0:"
		}
		return row.Entry.String()
	}
	for name, l := range o.claims() {
		if o.reserved(name) {
			all[name] = append(all[name], "0:")
		} else if len(l) == 1 {
			continue
		}
		for _, c := range l {
			all[name] = append(all[name], c.row.Entry.String())
		}
	}
	zones := slices.Clone(o.zones)
	slices.SortFunc(zones, func(a, b string) int { return len(b) - len(a) })
	for _, zone := range zones {
		if zone == "." {
			continue
		}
		for rel, row := range owners {
			if strings.HasSuffix(rel, ".") {
				continue
			}
			full := rel + "." + zone
			if owners[full] == nil && !o.reserved(full) {
				continue
			}
			if len(all[full]) == 0 {
				all[full] = []string{text(owners[full])}
			}
			all[full] = append(all[full], text(row))
		}
	}
	return all
}

// reverse returns the row that is answered for each address in a view of meshes.
func (o *oracle) reverse(meshes []string) map[netip.Addr]*vip.Row {
	all := make(map[netip.Addr][]*vip.Row)
	for _, row := range o.rows {
		if !oracleShows(meshes, row) {
			continue
		}
		for _, addr := range oracleAddrs(row) {
			all[addr] = append(all[addr], row)
		}
	}
	holders := make(map[netip.Addr]*vip.Row)
	for addr, rows := range all {
		holders[addr] = slices.MinFunc(rows, func(a, b *vip.Row) int {
			if a.Has(addr) != b.Has(addr) {
				if a.Has(addr) {
					return -1
				}
				return 1
			}
			return a.Key().Compare(b.Key())
		})
	}
	return holders
}
