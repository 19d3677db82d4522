package main

import (
	"cmp"
	"context"
	"net/netip"
	"strings"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/plugin/meshvip"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
	"go4.org/netipx"
)

// checkSetting is what resource files are checked against.
type checkSetting struct {
	home   kuma.Home
	zones  []string
	layout allocator.Layout
	// anywhere: no pool was named, so nobody waits, and statics may lie anywhere.
	anywhere bool
}

// checkSetting returns what the flags and the Corefile say.
func (s *session) checkSetting(o checkOptions) (checkSetting, error) {
	table, err := s.configuredTable()
	if err != nil {
		return checkSetting{}, err
	}
	pools, err := parsePools(o.pools)
	if err != nil {
		return checkSetting{}, err
	}
	zones := o.zones
	if len(zones) == 0 {
		zones = table.Zones
	}
	if len(zones) == 0 {
		zones = []string{"mesh"}
	}
	c := checkSetting{
		home: kuma.Home{
			Zone:   cmp.Or(o.kumaZone, table.KumaZone, "default"),
			Domain: strings.Trim(cmp.Or(o.domain, table.KumaDomain, "mesh"), "."),
		},
		zones: zoneNames(zones), layout: table.Layout,
	}
	if len(pools) > 0 {
		c.layout = allocator.Ranges(pools...)
		c.layout.Statics = table.Layout.Statics
	}
	if len(c.layout.Pools) == 0 {
		c.layout, c.anywhere = everywhere(), true
	}
	if err := c.layout.Check(); err != nil {
		return checkSetting{}, usage("%w", err)
	}
	return c, nil
}

// configuredTable returns what the Corefile that --corefile names says of its
// table; nothing without one.
func (s *session) configuredTable() (meshvip.Table, error) {
	if s.corefile == "" {
		return meshvip.Table{}, nil
	}
	all, err := meshvip.ReadCorefile(s.corefile)
	if err != nil {
		return meshvip.Table{}, unopened("%w", err)
	}
	t, err := pick(all, s.store)
	if err != nil {
		return meshvip.Table{}, usage("--corefile %s: %w", s.corefile, err)
	}
	return *t, nil
}

// everywhere is a layout in which every static address can be had, and nobody
// waits for an IPv4 one: IPv6 addresses are for statics alone.
func everywhere() allocator.Layout {
	v6 := netip.MustParsePrefix("::/0")
	l := allocator.Ranges(netip.MustParsePrefix("0.0.0.0/0"), v6)
	l.Pools[1].Reserve = []netipx.IPRange{netipx.RangeOfPrefix(v6)}
	return l
}

// report says what the files that were read would give.
func (r *reading) report(ctx context.Context, c checkSetting, meshes []string) (checkReport, error) {
	r.clashes()
	alloc, err := allocator.Open(ctx, memstore.New(), allocator.Config{Layout: c.layout})
	if err != nil {
		return checkReport{}, err
	}
	defer alloc.Close()
	batch := r.desired.All()
	applied, err := alloc.Apply(ctx, batch)
	if err != nil {
		return checkReport{}, err
	}
	for _, x := range applied.Refused {
		r.fault(r.place(x.Mesh, x.Entry.Key()), "%v", x)
	}
	index, rows := names.NewIndex(), alloc.Rows()
	index.SetZones(c.zones)
	events := index.Fill(rows)

	client := admin.InProcess(admin.Handler(&admin.Table{Alloc: alloc, Index: index, Zones: c.zones, Offline: true}))
	defer client.Close()
	table := make([]admin.Row, 0, len(rows))
	for row, err := range client.Rows(ctx, "") {
		if err != nil {
			return checkReport{}, err
		}
		table = append(table, row)
	}
	first := make(map[vip.Key]string, len(rows)) // the first mesh that lists an entry
	for _, row := range rows {
		first[row.Key()] = row.Listings[0].Mesh
	}
	r.unnamed(events, first)
	waiting, _ := alloc.Waiting(2 * len(rows))
	refused, _ := alloc.Refused(2 * len(rows))
	if c.anywhere {
		waiting = nil
	}
	r.unaddressed(waiting, refused, first)
	report := checkReport{Meshes: checkMeshes(table, refused, meshes)}
	report.finish(r.findings)
	return report, nil
}
