package allocator

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// plan is what a batch makes of a table: the delta to commit, and what to tell
// the operator. Making it changes nothing.
type plan struct {
	t        *table
	layout   Layout
	now      time.Duration // the table's clock
	unix     int64         // the wall clock, in seconds
	cooldown time.Duration

	edits map[vip.Key]*edit
	// order are the keys of edits; unordered: they have to be sorted.
	order     []vip.Key
	unordered bool
	addrs     map[netip.Addr]*AddrChange
	pools     []poolPlan
	// gives are the addresses that entries of the plan are given by Kuma.
	gives map[netip.Addr]bool

	meshesNew, meshesGone map[string]struct{}
	held                  heldBack
	reasons               map[string]string
	exhausted             []vip.Key
	// notes are what became of the static addresses that the plan looked at,
	// empty where they are had.
	notes map[seat]string
	// moves are the rows that get another address, by key.
	moves []Move
	// wish is the table's clock when the first static address has cooled down
	// that an entry is to move to; 0 if none does.
	wish time.Duration
	// confirmed: the moves are those of the plan that the operator confirmed.
	confirmed bool
}

// seat is an entry's place in a family.
type seat struct {
	key vip.Key
	v4  bool
}

// edit is a row on its way: old as the table has it, row as it will be, with
// no listing left if it goes. What meshes say is collected first and merged
// into the row once, for an entry may be listed by all of them.
type edit struct {
	old, row *vip.Row
	set      []vip.Listing // by mesh
	drop     []string
}

// newPlan returns a plan that changes nothing yet.
func (a *Allocator) newPlan(changes int) *plan {
	p := &plan{
		t: a.t, layout: a.cfg.Layout, now: a.clock(), unix: a.cfg.Now().Unix(), cooldown: a.cfg.Cooldown,
		edits: make(map[vip.Key]*edit, changes),
		addrs: make(map[netip.Addr]*AddrChange, changes),
		held:  a.held, reasons: a.reasons,
	}
	for i, pool := range a.t.meta.Pools {
		p.pools = append(p.pools, poolPlan{Pool: pool, space: &a.t.spaces[i]})
	}
	return p
}

// ask plans batch b. The result depends on the table and on what b says, not on
// the order in which b says it.
func (p *plan) ask(b vip.Batch, limit Limit) {
	defer p.stopReuse()
	t := p.t
	sets, want := demands(t, b, p.held)
	var allowed drops
	allowed, p.held, p.reasons = judge(t, want, b.Incomplete, limit)
	for mesh, h := range allowed {
		for key := range h.keys {
			p.edit(key).unlist(mesh)
		}
		if h.gone {
			put(&p.meshesGone, mesh, struct{}{})
		}
	}
	// A mesh is created by being named, whether or not it lists anything.
	for _, m := range b.Meshes {
		if _, ok := t.meshes[m.Mesh]; !ok && !m.Gone {
			put(&p.meshesNew, m.Mesh, struct{}{})
		}
	}
	// By mesh, so that a row's listings are merged in one order.
	for _, mesh := range sortedNames(sets) {
		for _, r := range sets[mesh] {
			p.edit(r.Entry.Key()).list(mesh, r)
		}
	}
	for _, e := range p.edits {
		e.merge()
	}
	p.release()
	p.assign()
}

// demands turns a batch, full or not, into what each mesh sets and what it
// drops, with what is held back from earlier batches and still not listed.
func demands(t *table, b vip.Batch, held heldBack) (sets map[string][]vip.Request, want drops) {
	sets, want = make(map[string][]vip.Request, len(b.Meshes)), make(drops)
	if b.Full {
		for mesh := range t.meshes {
			want.of(mesh).gone = mesh != vip.DefaultMesh
			want.of(mesh).addAll(t.meshes[mesh])
		}
	} else {
		for mesh, h := range held {
			want.of(mesh).gone = h.gone
			want.of(mesh).addAll(h.keys)
		}
	}
	for _, m := range b.Meshes {
		keys := t.meshes[m.Mesh]
		if m.Gone {
			if keys != nil {
				want.of(m.Mesh).gone = true
				want.of(m.Mesh).addAll(keys)
			}
			continue
		}
		sets[m.Mesh] = m.Set
		for _, k := range m.Drop {
			if _, listed := keys[k]; listed {
				want.of(m.Mesh).keys[k] = struct{}{}
			}
		}
		if h := want[m.Mesh]; h != nil {
			h.gone = false
			for _, r := range m.Set {
				delete(h.keys, r.Entry.Key())
			}
		}
	}
	maps.DeleteFunc(want, func(_ string, h *meshHold) bool { return len(h.keys) == 0 && !h.gone })
	return sets, want
}

// addAll adds keys to what is dropped.
func (h *meshHold) addAll(keys map[vip.Key]struct{}) {
	for k := range keys {
		h.keys[k] = struct{}{}
	}
}

// edit returns the row of key as the plan has it so far.
func (p *plan) edit(key vip.Key) *edit {
	e := p.edits[key]
	if e == nil {
		old := p.t.rows[key]
		e = &edit{old: old, row: old}
		if old == nil {
			e.row = &vip.Row{Entry: vip.Entry(key)}
		}
		p.edits[key] = e
		p.order, p.unordered = append(p.order, key), true
	}
	return e
}

// keys returns the keys of the edits in the order of allocation.
func (p *plan) keys() []vip.Key {
	if p.unordered {
		slices.SortFunc(p.order, vip.Key.Compare)
		p.unordered = false
	}
	return p.order
}

// unlist takes mesh's listing away.
func (e *edit) unlist(mesh string) { e.drop = append(e.drop, mesh) }

// list lets mesh say r. It is called in the order of the meshes. Of two
// spellings in one mesh the first in sort order stands.
func (e *edit) list(mesh string, r vip.Request) {
	l := vip.Listing{Mesh: mesh, Name: r.Entry.Name, Outbounds: r.Outbounds, Terms: r.Terms}
	if l.Terms.Empty() {
		l.Terms = nil
	}
	if was, ok := e.row.Listing(mesh); ok && was.Equal(l) {
		return
	}
	if n := len(e.set); n > 0 && e.set[n-1].Mesh == mesh {
		if l.Name < e.set[n-1].Name {
			e.set[n-1] = l
		}
		return
	}
	e.set = append(e.set, l)
}

// merge brings what the meshes say into the row.
func (e *edit) merge() {
	if len(e.set) > 0 || len(e.drop) > 0 {
		slices.Sort(e.drop)
		e.row = e.row.With(e.set, e.drop)
	}
	e.set, e.drop = nil, nil
}

// release gives back the addresses of rows that no mesh lists any more, and of
// those that Kuma has given others.
func (p *plan) release() {
	for key, e := range p.edits {
		gone := len(e.row.Listings) == 0
		given := e.row.Given()
		for _, a := range given {
			put(&p.gives, a, true)
		}
		if p.t.aside && e.old == nil && !gone {
			p.keepAside(key, e)
		}
		_, frozen := p.t.frozen[key]
		if e.old == nil || !gone && (len(given) == 0 || frozen) {
			continue
		}
		for _, a := range e.old.Addrs() {
			p.giveUp(key, e.old, a)
			if !gone {
				e.row = withAddr(e.row, netip.Addr{}, a.Is4())
				p.moves = append(p.moves, Move{Key: key, From: a, To: given[0], Why: "Kuma gave it " + given[0].String()})
			}
		}
	}
}

// keepAside settles the addresses of an entry that is back, and whose row could
// not be read: one that gets no address from us has them still, until Kuma gives
// it others.
func (p *plan) keepAside(key vip.Key, e *edit) {
	for addr, was := range p.t.released.of(key) {
		switch {
		case was.Released:
		case len(e.row.Given()) > 0:
			now := Holding{Owner: key, Released: true, At: p.now, Mesh: e.row.Listings[0].Mesh, Since: p.unix}
			p.addrs[addr] = &AddrChange{Addr: addr, Old: &was, New: &now}
		case e.row.Follows() && !hasFamily(e.row, addr.Is4()):
			p.take(key, e, addr, &was, false)
		}
	}
}

// delta returns the transaction, nil if there is nothing to write. The serial
// is raised to unix, or by one, if a query could see a difference: a retired
// pool that is gone is one, for its reverse zone goes with it.
func (p *plan) delta(unix uint32, synced bool) *Delta {
	d := &Delta{Base: p.t.meta.Revision, Meta: p.t.meta}
	for _, key := range p.keys() {
		e := p.edits[key]
		c := RowChange{Key: key, Old: e.old, New: e.row}
		if len(e.row.Listings) == 0 {
			c.New = nil
		}
		if c.Old == nil && c.New == nil || c.Old != nil && c.New != nil && c.Old.Equal(c.New) {
			continue
		}
		d.Rows = append(d.Rows, c)
	}
	for _, c := range p.addrs {
		d.Addrs = append(d.Addrs, *c)
	}
	slices.SortFunc(d.Addrs, func(a, b AddrChange) int { return a.Addr.Compare(b.Addr) })
	d.MeshesNew = sortedNames(p.meshesNew)
	d.MeshesGone = sortedNames(p.meshesGone)
	pools := p.poolsAfter()
	fewer := len(pools) < len(p.pools)
	if len(d.Rows) == 0 && len(d.Addrs) == 0 && len(d.MeshesNew) == 0 && len(d.MeshesGone) == 0 &&
		synced == p.t.meta.Synced && !fewer && !p.confirmed {
		return nil
	}
	d.Meta.Synced = synced
	d.Meta.Clock = p.now
	d.Meta.Revision++
	d.Meta.Pools = pools
	if p.confirmed {
		d.Meta.Generation++
	}
	if len(d.Rows) > 0 || fewer || d.Meta.Serial == 0 {
		d.Meta.Serial = nextSerial(p.t.meta.Serial, unix)
	}
	return d
}

// poolsAfter returns the pools as they are after the plan: the cursors as it
// leaves them, and without the retired ones in which nobody has an address, or
// could come back to one.
func (p *plan) poolsAfter() []Pool {
	pools := make([]Pool, 0, len(p.pools))
	var change map[netip.Prefix]int
	for _, pool := range p.pools {
		if pool.Retired {
			if change == nil {
				change = p.useChange()
			}
			at, left := p.t.released.latest(pool.Prefix)
			cooling := left && at > p.now-p.cooldown && !p.confirmed
			if p.t.used[pool.Prefix]+change[pool.Prefix] == 0 && !cooling && (change[pool.Prefix] == 0 || p.confirmed) {
				continue
			}
		}
		pools = append(pools, pool.Pool)
	}
	return pools
}

// useChange returns by how much the plan changes the use of each pool.
func (p *plan) useChange() map[netip.Prefix]int {
	change := make(map[netip.Prefix]int)
	for addr, c := range p.addrs {
		s := p.t.spaceOf(addr)
		if s == nil {
			continue
		}
		if c.New != nil && !c.New.Released {
			change[s.prefix]++
		}
		if c.Old != nil && !c.Old.Released {
			change[s.prefix]--
		}
	}
	return change
}

// nextSerial returns the serial after last: the time in seconds, or one more
// where that is not ahead, and never 0 (RFC 1982 gives 0 no special meaning,
// but CoreDNS's transfer does).
func nextSerial(last, unix uint32) uint32 {
	return max(last+1, unix, 1)
}
