package allocator

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// soundTable makes the table of a state and verifies it on the way, for a
// million rows take seconds, and once through them is enough. Where it finds
// something wrong, Check has the word, and says what. lay gives the table its
// pools.
func soundTable(s State, lay func(*table)) (*table, error) {
	wellFormed := make(chan bool, 1)
	go func() { wellFormed <- wellFormedRows(s) }()
	t, agree := buildTable(s)
	lay(t)
	if agree && <-wellFormed && plausible(s.Meta) {
		return t, nil
	}
	return t, Check(s)
}

// buildTable fills a table with a state, and reports whether rows and address
// keys agree: every address of a row has one key, which names the row, and what
// else is held is released or of a row that was set aside.
func buildTable(s State) (t *table, agree bool) {
	t = &table{
		meta:      s.Meta,
		durable:   s.Meta.Pools,
		rows:      make(map[vip.Key]*vip.Row, len(s.Rows)),
		live:      make(map[netip.Addr]tenure, len(s.Addrs)),
		given:     make(map[netip.Addr]int),
		used:      make(map[netip.Prefix]int),
		released:  newReleased(),
		waiting4:  newWaiting(),
		waiting6:  newWaiting(),
		unsettled: make(map[vip.Key]struct{}),
		wanting:   make(map[vip.Key]struct{}),
		frozen:    make(map[vip.Key]struct{}),
		reserved:  make(map[netip.Addr]struct{}),
	}
	listed, keyed := make(chan bool), make(chan bool, 1)
	go func() {
		t.listAll(s)
		close(listed)
	}()
	known := make(chan bool) // closed once the rows are
	go func() { keyed <- t.hold(s, known) }()
	for _, r := range s.Rows {
		t.rows[r.Key()] = r
	}
	close(known)
	if agree = len(t.rows) == len(s.Rows); agree {
		t.ordered = s.Rows
	}
	if !<-keyed {
		agree = t.holdAtOdds(s) && agree
	}
	<-listed
	return t, agree
}

// unique reports whether no address has two keys. Stores have them in order.
func unique(keys []Held) bool {
	var last [2]netip.Addr // of each family
	for _, h := range keys {
		family := 0
		if h.Addr.Is6() {
			family = 1
		}
		if last[family].IsValid() && h.Addr.Compare(last[family]) <= 0 {
			return uniqueUnordered(keys)
		}
		last[family] = h.Addr
	}
	return true
}

func uniqueUnordered(keys []Held) bool {
	seen := make(map[netip.Addr]struct{}, len(keys))
	for _, h := range keys {
		seen[h.Addr] = struct{}{}
	}
	return len(seen) == len(keys)
}

// listAll notes for all rows who lists them, and what Kuma gave them.
func (t *table) listAll(s State) {
	meshes := make(map[string]map[vip.Key]struct{}, len(s.Meshes))
	for _, m := range s.Meshes {
		meshes[m] = make(map[vip.Key]struct{})
	}
	for _, r := range s.Rows {
		for _, l := range r.Listings {
			if meshes[l.Mesh] == nil { // Check will say so
				meshes[l.Mesh] = make(map[vip.Key]struct{})
			}
		}
	}
	t.meshes = meshes
	for _, r := range s.Rows {
		t.list(r.Key(), r)
	}
}

// wellFormedRows reports whether every row is sound by itself, lies in pools of
// the table, and is listed by meshes that have a table.
func wellFormedRows(s State) bool {
	meshes := make(map[string]struct{}, len(s.Meshes))
	for _, m := range s.Meshes {
		meshes[m] = struct{}{}
	}
	if len(meshes) != len(s.Meshes) {
		return false
	}
	known := func(mesh string) bool {
		_, is := meshes[mesh]
		return is
	}
	for _, r := range s.Rows {
		if !wellFormed(r, s.Meta.Pools, known) {
			return false
		}
	}
	return true
}

// wellFormed reports whether a row is sound by itself, in these pools and among
// the meshes that are known.
func wellFormed(r *vip.Row, pools []Pool, known func(mesh string) bool) bool {
	pooled := func(a netip.Addr) bool {
		return !a.IsValid() || slices.ContainsFunc(pools, func(p Pool) bool { return p.Prefix.Contains(a) })
	}
	switch {
	case r.V4.IsValid() && !r.V4.Is4(), r.V6.IsValid() && (!r.V6.Is6() || r.V6.Is4In6()), !pooled(r.V4), !pooled(r.V6),
		r.Entry.Validate() != nil, len(r.Listings) == 0:
		return false
	}
	key, first := vip.Fold(r.Entry.Name), r.Listings[0].Name
	for i, l := range r.Listings {
		first = min(first, l.Name)
		switch {
		case !known(l.Mesh), l.Name != key && vip.Fold(l.Name) != key,
			i > 0 && strings.Compare(r.Listings[i-1].Mesh, l.Mesh) >= 0,
			!slices.IsSortedFunc(l.Outbounds, vip.Outbound.Compare):
			return false
		}
	}
	return r.Entry.Name == first
}

// plausible reports whether what a table says of itself is sound.
func plausible(m Meta) bool {
	for i, p := range m.Pools {
		if p.Next.IsValid() && !p.Prefix.Contains(p.Next) ||
			slices.ContainsFunc(m.Pools[:i], func(q Pool) bool { return q.Prefix == p.Prefix }) {
			return false
		}
	}
	if slices.ContainsFunc(m.Quarantine, func(q Quarantine) bool { return !q.Range.IsValid() }) {
		return false
	}
	return m.Revision == 0 || m.Serial != 0
}
