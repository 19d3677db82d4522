package allocator

import (
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Restoration says how to restore a backup.
type Restoration struct {
	// Now is the wall clock, for the serial and for Holding.Since.
	Now time.Time
	// Cooldown is how long an address is kept from others: see Config.Cooldown.
	Cooldown time.Duration
	// Layout is the configuration that the table had, and is to have.
	Layout Layout
	// GivenSince, where the present table is lost, is how many addresses of a pool
	// it may have given out since the backup, whatever became of them. Nil: that
	// is not known, and 65,536 are taken for it, or a quarter of what the pool
	// had left, whichever is more.
	GivenSince *uint64
}

// Displaced is an entry that does not have the address that it had in a backup.
type Displaced struct {
	Key vip.Key
	// From is the address in the backup. To is the one that it has: what it had
	// in the present table, or the zero Addr where it waits for another.
	From, To netip.Addr
	Why      string
}

// Restored tells what a restore has done.
type Restored struct {
	// Exact: the present table tells of everything that was answered since the
	// backup. If not, it is lost, or another, or older than the backup.
	Exact bool
	// Serial is what the SOA record will show.
	Serial uint32
	// Entries are in the table. Released addresses have no entry there, and cool
	// down from now on.
	Entries, Released int
	// Displaced are the entries that do not have their address back, by key.
	Displaced []Displaced
	// Quarantined are all addresses that nobody gets before Until on the clock of
	// the table, which is at Clock.
	Quarantined []Quarantine
	Clock       time.Duration
	// Mended is what was wrong with the backup, and is not any more.
	Mended []Step
}

// Restore returns the table that a backup is to become, and what that changes. It
// is a pure function: it writes nothing, and leaves the states as they are.
// present is the table that was served last, as far as it can be read; nil if it
// is lost. The server must not run meanwhile.
//
// The entries and meshes are those of the backup. No address goes to another
// entry before a cooldown has passed since it may have been answered last:
//
//   - The present table is exact if it is of the same store and not older than the
//     backup. Then an entry has its address of the backup again, unless another
//     has it in the present table, or had it last and it cools down. It has its
//     address of the present table in that case, or where it has none, waits for
//     another. What entries have in the present table only is theirs, and cools
//     down from now on; what cools down there goes on to.
//   - If it is another table, that holds for what there is in it; if it is older,
//     or lost, nothing is known of it. In all these cases, besides, all that
//     is released in the backup counts as released now. What may have been given
//     out since is quarantined for a cooldown: of each pool as many unused
//     addresses from its cursor on as Restoration.GivenSince says. If the pools of
//     a family had not as many left they may have given out any other, so that all
//     of them are quarantined but what entries have, and nobody is remembered to
//     have had the rest.
//
// The serial is above those of both tables and the wall clock; revision, clock,
// generation and each cursor are the greater of both. The table counts as not yet
// synced, so that a name which came after the backup is not denied before its
// source has been read.
//
// Without the present table it cannot be known which addresses outside of the
// order in which pools are used were given out, because resources asked for them
// or an import brought them: these are safe only if the same entries come back
// to them. Nor is it known whether an address of the backup's entries has come to
// another since, which takes a pool that was used up for longer than a cooldown.
func Restore(backup State, present *State, o Restoration) (State, Restored) {
	r := restorer{Restoration: o}
	r.backup, r.done.Mended = mend(backup, o.Layout)
	if present != nil {
		r.present, _ = mend(*present, o.Layout)
	}
	r.meta()
	b, p := r.backup.Meta, r.present.Meta
	r.done.Exact = present != nil && p.ID == b.ID && p.Revision >= b.Revision
	if !r.done.Exact && p.ID == b.ID {
		// An older state of the same table tells of nothing that the backup does not.
		r.present = State{}
	}
	r.learn()
	if !r.done.Exact {
		r.guess()
	}
	r.rows()
	return r.state()
}

// restorer makes one table of a backup and of what is left of the present one.
type restorer struct {
	Restoration
	backup, present State
	done            Restored
	out             State
	// had is what is known of who had each address last: a holding of the table
	// to come, not Released where it was answered until now. granted are those
	// that somebody has again.
	had     map[netip.Addr]Holding
	granted map[netip.Addr]vip.Key
	// now are the rows of the present table.
	now map[vip.Key]*vip.Row
	// unsure are addresses that the present table does not tell of.
	unsure []Quarantine
	// unowned are pools of which nobody is remembered who had an address.
	unowned []netip.Prefix
}

// meta makes the table's word of itself.
func (r *restorer) meta() {
	b, p := r.backup.Meta, r.present.Meta
	m := Meta{
		ID: b.ID, Options: b.Options,
		Serial:     max(nextSerial(max(b.Serial, p.Serial), uint32(r.Now.Unix()))+1, 1),
		Revision:   max(b.Revision, p.Revision) + 1,
		Clock:      max(b.Clock, p.Clock),
		Generation: max(b.Generation, p.Generation),
	}
	m.Pools = slices.Clone(b.Pools)
	for _, q := range p.Pools {
		i := slices.IndexFunc(m.Pools, func(p Pool) bool { return p.Prefix == q.Prefix })
		switch {
		case i < 0:
			m.Pools = append(m.Pools, q)
		case !q.Next.IsValid() || m.Pools[i].Next.IsValid() && m.Pools[i].Next.Less(q.Next):
			m.Pools[i].Next = q.Next
		}
	}
	r.out.Meta = m
}

// learn notes what the present table tells of.
func (r *restorer) learn() {
	p, clock := r.present, r.out.Meta.Clock
	r.had, r.now = make(map[netip.Addr]Holding, len(p.Addrs)), make(map[vip.Key]*vip.Row, len(p.Rows))
	for _, h := range p.Addrs {
		if h.Released {
			h.At = clock - (p.Meta.Clock - h.At)
		}
		r.had[h.Addr] = h.Holding
	}
	for _, row := range p.Rows { // also those whose key cannot be read
		key := row.Key()
		r.now[key] = row
		for _, a := range row.Addrs() {
			h := r.had[a]
			r.had[a] = Holding{Owner: key, Mesh: row.Listings[len(row.Listings)-1].Mesh, Since: h.Since}
		}
	}
	for _, q := range p.Meta.Quarantine {
		r.quarantine(Quarantine{q.Range, clock + q.Until - p.Meta.Clock})
	}
	r.setAside(p)
	r.unsure = slices.Clone(r.out.Meta.Quarantine)
}

// rows gives the entries of the backup the addresses that they can have.
func (r *restorer) rows() {
	r.out.Meshes, r.granted = r.backup.Meshes, make(map[netip.Addr]vip.Key, len(r.backup.Addrs))
	since := make(map[netip.Addr]int64, len(r.backup.Addrs))
	for _, h := range r.backup.Addrs {
		since[h.Addr] = h.Since
	}
	for _, row := range r.backup.Rows {
		key, fixed := row.Key(), *row
		for _, v4 := range []bool{true, false} {
			from := addrOf(row, v4)
			why := ""
			if from.IsValid() {
				if why = r.withheld(key, from); why == "" {
					r.grant(key, from, since[from])
					continue
				}
			}
			to := netip.Addr{}
			if now := r.now[key]; now != nil && len(row.Given()) == 0 {
				to = addrOf(now, v4)
			}
			if fixed = *withAddr(&fixed, to, v4); to.IsValid() {
				r.grant(key, to, 0)
			}
			if from.IsValid() {
				r.done.Displaced = append(r.done.Displaced, Displaced{Key: key, From: from, To: to, Why: why})
			}
		}
		r.out.Rows = append(r.out.Rows, &fixed)
	}
	slices.SortStableFunc(r.done.Displaced, func(a, b Displaced) int { return a.Key.Compare(b.Key) })
}
