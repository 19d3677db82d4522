package names

import (
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// draft works out a change of the index before any of it is published: which
// entries get a new record, and who is to have the names that it touches. Only
// the losers, which no reader sees, are changed as it goes.
//
// The steps come in this order: updates, names that cease to be reserved,
// departures, names that become reserved, arrivals. So a claim has the newest
// row of its entry, and none that fell rises again in the same draft.
type draft struct {
	x       *Index
	was     *zoneSet // the zones before the change
	zones   *zoneSet // and after it
	edits   []*edit
	byRow   map[*vip.Row]*edit // by the published row and by the new one
	seats   map[string]*seat
	brought int // how many addresses the new rows have
	// unserved are the events of spellings that DNS cannot carry.
	unserved []Event
	// A first load has a million edits and seats: they come by the block.
	editBlock []edit
	seatBlock []seat
}

// edit is one entry's record before and after: nil where there is none. A
// record that is published is not written to: see [edit.draft].
type edit struct {
	old, new *Record
	// alone: no record has an address of the row that the edit was made for.
	alone bool
}

// draft returns the record after, to be written to; nil where there is none.
func (e *edit) draft() *Record {
	if e.new != nil && e.new == e.old {
		e.new = e.old.clone()
	}
	return e.new
}

// seat is a name that the change may give to another.
type seat struct {
	before *Record // who had it; nil: nobody
	owner  claim   // who is to have it; its row is nil where nobody is
	lost   *lost   // nil where no loser came or went
}

// lost is what happened behind the owner of a name.
type lost struct {
	fell []claim // came to the name, or had it, and lost it
	left bool    // a loser went away
}

// newDraft returns a draft for about n changes.
func newDraft(x *Index, zones *zoneSet, n int) *draft {
	return &draft{
		x: x, was: x.zones.Load(), zones: zones,
		edits: make([]*edit, 0, n), byRow: make(map[*vip.Row]*edit, n), seats: make(map[string]*seat, 2*n),
	}
}

// edit returns the edit of row's entry, which begins as no change.
func (d *draft) edit(row *vip.Row) *edit {
	if e := d.byRow[row]; e != nil {
		return e
	}
	old, alone := d.x.record(row)
	if old != nil && old.Row != row {
		if e := d.byRow[old.Row]; e != nil {
			return e
		}
	}
	e := next(&d.editBlock)
	e.alone = alone
	d.edits = append(d.edits, e)
	d.byRow[row] = e
	if old != nil {
		e.old, e.new = old, old
		d.byRow[old.Row] = e
	}
	return e
}

// next returns a new T out of a block of them.
func next[T any](block *[]T) *T {
	if len(*block) == cap(*block) {
		*block = make([]T, 0, min(4*cap(*block)+2, 1024))
	}
	*block = (*block)[:len(*block)+1]
	return &(*block)[len(*block)-1]
}

// seat returns the seat of name, which begins as it is published.
func (d *draft) seat(name string) *seat {
	s := d.seats[name]
	if s != nil {
		return s
	}
	s = next(&d.seatBlock)
	s.before = d.x.owner(name)
	if s.before != nil {
		s.owner = claim{s.before.Row, s.before.rankOf(name)}
		if e := d.byRow[s.before.Row]; e != nil && e.new != nil {
			s.owner.row = e.new.Row
		}
	}
	d.seats[name] = s
	return s
}

// behind returns what happened behind the owner of the seat, to be added to.
func (s *seat) behind() *lost {
	if s.lost == nil {
		s.lost = new(lost)
	}
	return s.lost
}

// claims appends what row claims to dst, and returns the spellings that DNS
// cannot carry too, where zone is the length of the longest zone.
func claims(row *vip.Row, zone int, dst []named) ([]named, []fault) {
	s := spell(row, zone)
	return s.claims(row.Entry.Kind, dst), s.faults
}

// update puts row in the place of old, another row of its entry, with those
// claims that both have.
func (d *draft) update(old, row *vip.Row) {
	e := d.edit(old)
	var buf, was [2]named
	now, faults := claims(row, d.zones.longest, buf[:0])
	r := newRecord(row, now)
	if retold(old, row) {
		before, told := claims(old, d.zones.longest, was[:0])
		now = slices.DeleteFunc(slices.Clone(now), func(n named) bool { return !slices.Contains(before, n) })
		d.report(row, untold(faults, told))
	}
	for _, n := range now {
		if e.old != nil && e.old.has(n) {
			r.set(n, true)
		} else {
			d.lose(n.name, claim{row, n.rank})
		}
	}
	e.new, e.alone = r, false
	d.brought += r.size()
	d.byRow[row] = e
}

// depart takes row's entry away.
func (d *draft) depart(row *vip.Row) {
	d.edit(row).new = nil
	var buf [2]named
	all, _ := claims(row, d.was.longest, buf[:0])
	for _, n := range all {
		d.withdraw(n, row)
	}
}

// arrive brings a new entry.
func (d *draft) arrive(row *vip.Row) {
	var buf [2]named
	all, faults := claims(row, d.zones.longest, buf[:0])
	r := newRecord(row, all)
	d.edit(row).new = r
	d.brought += r.size()
	d.report(row, faults)
	for _, n := range all {
		d.enter(n, row)
	}
}

func (d *draft) report(row *vip.Row, faults []fault) {
	for _, f := range faults {
		d.unserved = append(d.unserved, Event{Kind: Unservable, Name: f.name, Entry: row.Entry, Reason: f.reason})
	}
}

// enter adds row's claim to a name.
func (d *draft) enter(n named, row *vip.Row) {
	s, c := d.seat(n.name), claim{row, n.rank}
	switch {
	case d.zones.reserves(n.name) || s.owner.row != nil && s.owner.compare(c) < 0:
		d.fall(s, n.name, c)
		return
	case s.owner.row != nil && s.owner.compare(c) > 0:
		d.fall(s, n.name, s.owner)
	}
	s.owner = c
}

// withdraw takes the claim of row's entry to a name away; the next one has the
// name then.
func (d *draft) withdraw(n named, row *vip.Row) {
	s, c := d.seat(n.name), claim{row, n.rank}
	if s.owner.row == nil || s.owner.compare(c) != 0 {
		if l, ok := d.x.losers[n.name]; ok {
			d.keep(n.name, l.drop(c))
			s.behind().left = true
		}
		return
	}
	s.owner = claim{}
	d.promote(s, n.name)
}

// promote gives a name that nobody has, and that is not reserved, to the first
// of its losers.
func (d *draft) promote(s *seat, name string) {
	if l := d.x.losers[name]; len(l) > 0 {
		s.owner = l[0]
		d.keep(name, l.drop(l[0]))
	}
}

func (d *draft) fall(s *seat, name string, c claim) {
	l := s.behind()
	l.fell = append(l.fell, c)
	d.lose(name, c)
}

func (d *draft) lose(name string, c claim) { d.keep(name, d.x.losers[name].put(c)) }

func (d *draft) keep(name string, l losers) {
	if len(l) == 0 {
		delete(d.x.losers, name)
		return
	}
	d.x.losers[name] = l
}

// settle writes the outcome of every seat into the records.
func (d *draft) settle() {
	for name, s := range d.seats {
		if s.before != nil {
			if r := d.edit(s.before.Row).draft(); r != nil {
				r.set(named{name, s.before.rankOf(name)}, false)
			}
		}
		if s.owner.row != nil {
			d.edit(s.owner.row).draft().set(named{name, s.owner.rank}, true)
		}
	}
	for _, e := range d.edits {
		if e.new != nil && e.new != e.old {
			e.new.finish(d.zones.first)
		}
	}
}
