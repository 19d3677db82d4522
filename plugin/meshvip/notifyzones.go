package meshvip

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
)

// zoneChanges finds out which zones of a server block a commit changes, as far as
// the block shows what changes. In doubt a zone is said to change: a secondary then
// has a look at it in vain.
type zoneChanges struct {
	zones   *zoneSet
	view    *names.View
	changed map[*zone]struct{}
	// services says that all zones with services are among them.
	services bool
}

func newZoneChanges(zones *zoneSet, v *names.View) *zoneChanges {
	return &zoneChanges{zones: zones, view: v, changed: make(map[*zone]struct{})}
}

// rows adds the zones that change by rows of the table, and by names that change
// hands because of these.
func (c *zoneChanges) rows(rows []allocator.RowChange, events []names.Event) {
	for _, e := range events {
		if e.Kind != names.NameMoved {
			continue
		}
		if strings.HasSuffix(e.Name, ".") {
			c.absolute(e.Name)
		} else {
			c.relative()
		}
		for _, z := range c.zones.reverse { // PTRs of the one, of the other, or both
			c.mark(z)
		}
	}
	for _, r := range rows {
		if c.all() {
			return
		}
		c.row(c.shown(r.Old), c.shown(r.New))
	}
}

// all reports whether there is no other zone left to change.
func (c *zoneChanges) all() bool {
	return len(c.changed) == len(c.zones.forward)+len(c.zones.reverse)
}

func (c *zoneChanges) mark(z *zone) { c.changed[z] = struct{}{} }

// shown returns a row if the view shows it and it has an address, else nil.
func (c *zoneChanges) shown(row *vip.Row) *vip.Row {
	if row == nil || len(rowAddrs(row, nil)) == 0 ||
		!slices.ContainsFunc(row.Listings, func(l vip.Listing) bool { return c.view.Shows(l.Mesh) }) {
		return nil
	}
	return row
}

// row adds the zones of an entry that was shown as one row and is now as another;
// nil where it was not, or is not.
func (c *zoneChanges) row(was, is *vip.Row) {
	if was == nil && is == nil {
		return
	}
	renamed := was == nil || is == nil || !slices.Equal(was.Hostnames(), is.Hostnames())
	var a, b [4]netip.Addr
	before, after := rowAddrs(was, a[:0]), rowAddrs(is, b[:0])
	if renamed || !slices.Equal(before, after) || !slices.Equal(ports(was, c.view), ports(is, c.view)) {
		c.names(was)
		c.names(is)
	}
	for _, addr := range before {
		if renamed || !slices.Contains(after, addr) {
			c.addr(addr)
		}
	}
	for _, addr := range after {
		if renamed || !slices.Contains(before, addr) {
			c.addr(addr)
		}
	}
}

// rowAddrs appends the addresses of a row, which may be nil.
func rowAddrs(row *vip.Row, dst []netip.Addr) []netip.Addr {
	if row == nil {
		return dst
	}
	if row.V4.IsValid() {
		dst = append(dst, row.V4)
	}
	if row.V6.IsValid() {
		dst = append(dst, row.V6)
	}
	for _, addr := range row.Given() {
		if addr.IsValid() && addr.Zone() == "" {
			dst = append(dst, addr)
		}
	}
	return dst
}

// names adds the zones that have names of row's entry.
func (c *zoneChanges) names(row *vip.Row) {
	switch {
	case row == nil:
	case row.Entry.Kind == vip.Service:
		c.relative()
	case row.Entry.Kind.OfMesh():
		for _, host := range row.Hostnames() {
			c.absolute(host)
		}
	default:
		c.absolute(row.Entry.Name)
	}
}

// relative adds the zones that services have names in.
func (c *zoneChanges) relative() {
	if c.services {
		return
	}
	c.services = true
	for _, z := range c.zones.forward {
		if z.name != "." {
			c.mark(z)
		}
	}
}

// absolute adds the zone that a full name is in, with or without the final dot.
func (c *zoneChanges) absolute(name string) {
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`'@;()"\`, r) }) {
		for _, z := range c.zones.forward { // the name has another form in DNS
			c.mark(z)
		}
		return
	}
	if z, _ := c.zones.match(vip.Fold(strings.TrimSuffix(name, ".") + ".")); z != nil && !z.prefix.IsValid() {
		c.mark(z)
	}
}

// addr adds the zone that the PTR of an address is in.
func (c *zoneChanges) addr(addr netip.Addr) {
	if z := enclosing(c.zones.reverse, netip.PrefixFrom(addr, addr.BitLen())); z != nil {
		c.mark(z)
	}
}
