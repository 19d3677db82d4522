package allocator

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// write commits parts one after another.
func (a *Allocator) write(ctx context.Context, parts []Delta) error {
	for _, part := range parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.store.Commit(context.WithoutCancel(ctx), part); err != nil {
			return err
		}
	}
	return nil
}

// rewrite makes a store that holds one state hold another, whose revision may be
// far ahead, and returns what it holds then. It notes how far it can have come.
func (a *Allocator) rewrite(ctx context.Context, was, is State) (State, error) {
	between := is.Meta // of all parts but the last
	between.Pools = withRetired(is.Meta.Pools, was.Meta.Pools)
	between.Quarantine = bridged(is.Meta, Quarantine{Until: is.Meta.Clock + a.cfg.Cooldown})
	split := func(was, is State) []Delta {
		d := difference(was, is)
		if d.Meta = between; len(d.Rows)+len(d.Addrs)+len(d.MeshesNew)+len(d.MeshesGone) == 0 {
			return nil
		}
		return d.split(was.Meta, a.store.Limits(), len(d.Rows)+1)
	}
	parts := split(was, is)
	if len(parts) > 1 {
		// An address goes from one entry to another by way of nobody.
		mid := vacated(was, is, a.cfg.Now().Unix())
		if parts = split(was, mid); len(parts) > 0 {
			mid = after(mid, parts)
		}
		parts = append(parts, split(mid, is)...)
	}
	if len(parts) == 0 {
		parts = []Delta{{}}
	}
	base, last := was.Meta.Revision, len(parts)-1
	for i := range parts {
		m := is.Meta
		if i < last {
			m = between
		}
		m.Revision += uint64(i)
		m.Serial += uint32(i)
		m.Clock += time.Duration(i)
		parts[i].Base, parts[i].Meta, base = base, m, m.Revision
	}
	a.half.tries(parts[0].Meta, len(parts), between.Quarantine)
	if err := a.write(ctx, parts); err != nil {
		return State{}, err
	}
	return after(is, parts), nil
}

// withRetired returns pools, and of others those that are not among them, retired.
func withRetired(pools, others []Pool) []Pool {
	all := slices.Clone(pools)
	for _, p := range others {
		if !slices.ContainsFunc(pools, func(q Pool) bool { return q.Prefix == p.Prefix }) {
			p.Retired = true
			all = append(all, p)
		}
	}
	return all
}

// after returns the state that parts lead to, where as a whole they would lead to s:
// what is released by a later part is released later.
func after(s State, parts []Delta) State {
	s.Meta = parts[len(parts)-1].Meta
	later := make(map[netip.Addr]Holding)
	for _, part := range parts {
		for _, c := range part.Addrs {
			if c.New != nil {
				later[c.Addr] = *c.New
			}
		}
	}
	s.Addrs = slices.Clone(s.Addrs)
	for i, h := range s.Addrs {
		if now, ok := later[h.Addr]; ok {
			s.Addrs[i].Holding = now
		}
	}
	return s
}

// vacated returns the state between two others in which nobody has the addresses
// that are one entry's in the first and another's in the second.
func vacated(was, is State, unix int64) State {
	owners := make(map[netip.Addr]vip.Key, len(is.Addrs))
	for _, h := range is.Addrs {
		if !h.Released {
			owners[h.Addr] = h.Owner
		}
	}
	rows := make(map[vip.Key]*vip.Row, len(was.Rows))
	for _, r := range was.Rows {
		rows[r.Key()] = r
	}
	mid := was
	mid.Addrs = slices.Clone(was.Addrs)
	for i, h := range mid.Addrs {
		to, live := owners[h.Addr]
		row := rows[h.Owner]
		if h.Released || !live || to == h.Owner || row == nil || !row.Has(h.Addr) || len(row.Listings) == 0 {
			continue
		}
		rows[h.Owner] = withAddr(row, netip.Addr{}, h.Addr.Is4())
		mid.Addrs[i].Holding = Holding{
			Owner: h.Owner, Released: true, At: is.Meta.Clock, Mesh: row.Listings[len(row.Listings)-1].Mesh, Since: unix,
		}
	}
	mid.Rows = make([]*vip.Row, 0, len(rows))
	for _, key := range sortedKeys(rows) {
		mid.Rows = append(mid.Rows, rows[key])
	}
	return mid
}
