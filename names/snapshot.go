package names

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Snapshot is all that a view shows at one instant, between two changes: each name
// with its record, and each address with the name of its PTR. It is immutable,
// does not follow the index, and may be used by any number of goroutines.
type Snapshot struct {
	view  *View // of which only the meshes are looked at
	zones *zoneSet
	pages frozenPages
	// sharing says that some address has several entries, and behind are the
	// records that nowhere are the first, by key.
	sharing bool
	behind  []*Record
	// absolute says who has an absolute name, whether the view shows it or not;
	// nil where nobody has one.
	absolute map[string]*Record
	// Who stands in for entries that the view hides: by name, sorted, and by
	// address.
	hosts  []standingIn
	guests map[netip.Addr]*Record
}

// standingIn is a record that stands in for the hidden owner of a name.
type standingIn struct {
	name   string
	record *Record
}

// Snapshot returns what the view shows now. While the pointers to the index's
// records are copied, writers wait and queries do not; all else, such as looking
// at a record, comes after that.
func (v *View) Snapshot() *Snapshot {
	s := &Snapshot{view: v}
	tails, absolutes := s.freeze()
	s.pages.sort()
	slices.SortFunc(s.hosts, func(a, b standingIn) int { return cmp.Compare(a.name, b.name) })
	s.sharing = len(tails) > 0
	seen := make(map[*Record]bool, len(tails))
	for _, r := range tails {
		if !seen[r] && s.home(r) == (netip.Addr{}) {
			s.behind = append(s.behind, r)
		}
		seen[r] = true
	}
	slices.SortFunc(s.behind, func(a, b *Record) int { return a.Row.Key().Compare(b.Row.Key()) })
	if absolutes > 0 {
		s.absolute = make(map[string]*Record, absolutes)
		for r := range s.records() {
			s.enter(r)
		}
	}
	return s
}

// freeze copies what the index has. It returns the records that share an address
// with one that comes before them there, and how many names are absolute.
func (s *Snapshot) freeze() (tails []*Record, absolutes int) {
	v, x := s.view, s.view.x
	room := newFreezer(x)
	x.mu.Lock()
	defer x.mu.Unlock()
	s.zones = x.zones.Load()
	s.pages = room.freeze(x.addrs)
	for _, l := range x.shared {
		for i := 1; i < len(l); i++ {
			tails = append(tails, l[i].record)
		}
	}
	if v.meshes != nil {
		v.hosts.records.Range(func(name string, r *Record) bool {
			s.hosts = append(s.hosts, standingIn{name, r})
			return true
		})
		s.guests = make(map[netip.Addr]*Record, v.guests.n.Load())
		v.guests.records.Range(func(addr netip.Addr, r *Record) bool {
			s.guests[addr] = r
			return true
		})
	}
	return tails, int(x.absolutes.Load())
}

// enter notes which absolute names r has.
func (s *Snapshot) enter(r *Record) {
	if r.Row.Entry.Kind == vip.Service {
		return
	}
	var buf [2]string
	for _, name := range r.names(buf[:0]) {
		s.absolute[name] = r
	}
}

// records returns each record once, whether the view shows it or not: in the
// order of addresses, then of keys.
func (s *Snapshot) records() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for i := range s.pages {
			for addr, r := range s.pages[i].all() {
				if s.home(r) == addr && !yield(r) {
					return
				}
			}
		}
		for _, r := range s.behind {
			if !yield(r) {
				return
			}
		}
	}
}

// home returns the first of the addresses of which a record has the PTR, the zero
// Addr if there is none.
func (s *Snapshot) home(r *Record) netip.Addr {
	if !s.sharing {
		return r.first()
	}
	var buf [2]netip.Addr
	for _, addr := range r.addrs(buf[:0]) {
		if s.pages.at(addr) == r {
			return addr
		}
	}
	return netip.Addr{}
}

// Names returns the names that are found in zone, which is one of a server block's
// zones: those that [View.Forward] finds and that no longer one of the zones
// covers, in lower case with the final dot, none twice, each with the record that
// answers for it.
func (s *Snapshot) Names(zone string, zones []string) iter.Seq2[string, *Record] {
	return func(yield func(string, *Record) bool) {
		var buf [2]string
		for r := range s.records() {
			if !s.view.shows(r.Row) {
				continue
			}
			for _, name := range r.names(buf[:0]) {
				if !isAbsolute(name) {
					name = s.below(name, zone, zones)
				} else if longestCovering(name, zones) != zone {
					name = ""
				}
				if name != "" && !yield(name, r) {
					return
				}
			}
		}
		for _, h := range s.hosts {
			if longestCovering(h.name, zones) == zone && !yield(h.name, h.record) {
				return
			}
		}
	}
}

// below returns the full name of a relative one in zone, empty if it is not
// answered there: another has it, or a longer one of the zones covers it.
func (s *Snapshot) below(name, zone string, zones []string) string {
	if zone == "." {
		return ""
	}
	full := under(name, zone)
	if _, taken := s.absolute[full]; taken || strings.HasPrefix(full, apexHost) && s.zones.reserves(full) {
		return ""
	}
	if len(zones) > 1 && longestCovering(full, zones) != zone {
		return ""
	}
	return full
}

// PTRs returns the addresses in p that have a PTR in a server block with these
// forward zones, in their order, each with the name that [View.PTR] gives it.
func (s *Snapshot) PTRs(p netip.Prefix, zones []string) iter.Seq2[netip.Addr, string] {
	return func(yield func(netip.Addr, string) bool) {
		for _, page := range s.pages.within(p) {
			for addr, r := range page.all() {
				if !p.Contains(addr) {
					continue
				}
				if !s.view.shows(r.Row) {
					if r = s.guests[addr]; r == nil {
						continue
					}
				}
				if name := s.ptr(r, zones); name != "" && !yield(addr, name) {
					return
				}
			}
		}
	}
}

// ptr returns the name that the PTRs of r show, empty if there is none. What a
// query confirms by looking the name up, nobody but r has here.
func (s *Snapshot) ptr(r *Record, zones []string) string {
	switch {
	case r.Row.Entry.Kind == vip.Service:
		i := slices.IndexFunc(zones, func(zone string) bool { return zone != "." })
		if i < 0 {
			return ""
		}
		if r.Dotted != "" {
			if name := s.below(r.Dotted, zones[i], zones); name != "" {
				return name
			}
		}
		if r.Literal != "" && r.Literal != r.Dotted {
			return s.below(r.Literal, zones[i], zones)
		}
	case !r.listsHosts():
		if r.Literal != "" && s.answers(r.Literal, r, zones) {
			return r.Literal
		}
	default:
		for _, h := range r.more.hosts {
			if s.answers(h.name, r, zones) {
				return h.name
			}
		}
	}
	return ""
}

// answers reports whether an absolute name, asked for in a block with these zones,
// gives r.
func (s *Snapshot) answers(name string, r *Record, zones []string) bool {
	if longestCovering(name, zones) == "" {
		return false
	}
	owner := s.absolute[name]
	if owner == nil || s.view.shows(owner.Row) {
		return sameEntry(owner, r)
	}
	i, ok := slices.BinarySearchFunc(s.hosts, name, func(h standingIn, name string) int { return cmp.Compare(h.name, name) })
	return ok && sameEntry(s.hosts[i].record, r)
}
