package allocator

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Adopt takes rows over into an empty table with the addresses that they have,
// as a table that was published or exported says. Each row has the listing of
// one mesh; rows of one entry in several meshes become one.
//
// What cannot stand is settled by the rules of repair and told in refused: of
// two entries that claim one address the smaller key has it, of two addresses
// of one entry the one of the first mesh; an address outside every pool is not
// taken over. An entry that is left without an address waits for a new one.
// A table that is not empty is left as it is, with an error.
func (a *Allocator) Adopt(ctx context.Context, rows []*vip.Row) (adopted int, refused []error, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.mayWrite(ctx); err != nil {
		return 0, nil, err
	}
	if len(a.t.rows) > 0 || len(a.t.released.byAddr) > 0 || len(a.damaged) > 0 {
		return 0, nil, fmt.Errorf("taking rows over: the table is not empty: %d entries, %d released addresses, %d records set aside",
			len(a.t.rows), len(a.t.released.byAddr), len(a.damaged))
	}
	p := a.newPlan(len(rows))
	refused = p.adopt(rows)
	d := p.delta(a.unix(), a.t.meta.Synced)
	if err := a.commit(ctx, d, func() {}); err != nil {
		return 0, refused, err
	}
	for _, e := range p.edits {
		if len(e.row.Addrs()) > 0 {
			adopted++
		}
	}
	return adopted, refused, nil
}

// adopt plans rows with the addresses that they bring.
func (p *plan) adopt(rows []*vip.Row) (refused []error) {
	refuse := func(key vip.Key, addr netip.Addr, why string, args ...any) {
		refused = append(refused, fmt.Errorf("entry %v does not keep %v: %s", key, addr, fmt.Sprintf(why, args...)))
	}
	// The smaller key first, and of one entry the first mesh.
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, func(x, y *vip.Row) int {
		if c := x.Key().Compare(y.Key()); c != 0 {
			return c
		}
		return strings.Compare(x.Listings[0].Mesh, y.Listings[0].Mesh)
	})
	for _, r := range sorted {
		key, e := r.Key(), p.edit(r.Key())
		for _, l := range r.Listings {
			if p.t.meshes[l.Mesh] == nil {
				put(&p.meshesNew, l.Mesh, struct{}{})
			}
			e.row = e.row.WithListing(l)
		}
		for _, addr := range r.Addrs() {
			switch holder := p.addrs[addr]; {
			case e.row.Has(addr):
			case hasFamily(e.row, addr.Is4()):
				refuse(key, addr, "an earlier mesh gives it %v", e.row.Addrs())
			case holder != nil:
				refuse(key, addr, "%v has it", holder.New.Owner)
			case p.t.unfit(key, addr, addr == p.t.static(key, e.row, addr.Is4())) != "":
				refuse(key, addr, "%s", p.t.unfit(key, addr, false))
			default:
				p.take(key, e, addr, nil, false)
			}
		}
	}
	return refused
}
