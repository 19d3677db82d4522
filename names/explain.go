package names

import "github.com/meshvip/coredns-meshvip/vip"

// What follows answers an operator's questions, not a client's.

// Reasons why an entry has not a name that it claims, beside those of events.
const (
	waitsReason   = "the entry has no address yet, and claims no name without one"
	unknownReason = "the index does not have the entry"
	carriedReason = "DNS cannot carry the name: "
)

// Name is a name that an entry claims, and what became of that.
type Name struct {
	// Name is relative, without a final dot, where it is meant below every zone,
	// and full, with the dot, otherwise, as in [Event].
	Name     string
	Relative bool
	// Has says that the entry has the name, over all meshes.
	Has bool
	// Winner has it instead. The zero Entry: nobody, or the zone's apex; Why says
	// which.
	Winner vip.Entry
	// Local says that the entry has the name all the same in a view that shows its
	// mesh and no mesh whose entry comes before it.
	Local bool
	// Why says by what rule the entry lost the name; empty where it has it.
	Why string
}

// Names returns the names that row's entry claims: hostnames in their own order,
// of a service the literal name and then the dotted one. They are followed by the
// full names at which a service's own is another's in one zone, and by the
// spellings that DNS cannot carry. It may be called by any goroutine, and holds
// up the writer, not the readers.
func (x *Index) Names(row *vip.Row) []Name {
	x.mu.Lock()
	defer x.mu.Unlock()
	zones := x.zones.Load()
	all, faults := claims(row, zones.longest, nil)
	var names []Name
	for _, n := range all {
		names = append(names, x.explain(row, n, zones))
	}
	for _, n := range names {
		if n.Relative && n.Has {
			names = append(names, x.taken(n.Name, zones)...)
		}
	}
	for _, f := range faults {
		names = append(names, Name{Name: f.name, Relative: row.Entry.Kind == vip.Service, Why: carriedReason + f.reason})
	}
	return names
}

// explain returns what became of one claim of row.
func (x *Index) explain(row *vip.Row, n named, zones *zoneSet) Name {
	name := Name{Name: n.name, Relative: !isAbsolute(n.name)}
	owner, c := x.owner(n.name), claim{row, n.rank}
	if owner != nil && owner.Row.Key() == row.Key() {
		name.Has = true
		return name
	}
	name.Winner = owner.entry()
	switch {
	case !addressed(row):
		name.Why = waitsReason
	case zones.reserves(n.name):
		name.Why = reservedReason
	case owner == nil:
		name.Why = unknownReason
	default:
		name.Why = before(claim{owner.Row, owner.rankOf(n.name)}, c)
		name.Local = x.local(n.name, c)
	}
	return name
}

// taken returns the full names at which a relative one is not its owner's.
func (x *Index) taken(rel string, zones *zoneSet) []Name {
	var all []Name
	for _, zone := range zones.names {
		if zone == "." {
			continue
		}
		full := under(rel, zone)
		switch owner := x.owner(full); {
		case zones.reserves(full):
			all = append(all, Name{Name: full, Why: reservedReason})
		case owner != nil:
			all = append(all, Name{Name: full, Winner: owner.entry(), Why: absoluteReason})
		}
	}
	return all
}

// local reports whether a claim that has lost a name wins it in a view of its own
// mesh.
func (x *Index) local(name string, c claim) bool {
	owner := x.owner(name)
	if !c.ofMesh() || owner == nil || !owner.Row.Entry.Kind.OfMesh() || owner.Row.Entry.Mesh == c.row.Entry.Mesh {
		return false
	}
	for _, l := range x.losers[name] {
		if l.row.Key() == c.row.Key() {
			return true
		}
		if l.row.Entry.Mesh == c.row.Entry.Mesh {
			return false
		}
	}
	return false
}

// Claimant is an entry that claims a name.
type Claimant struct {
	// Entry claims the name; the zero Entry is the zone's apex.
	Entry vip.Entry
	// Has says that it has the name, over all meshes: the first one does.
	Has bool
	// Local and Why are as in [Name].
	Local bool
	Why   string
}

// Claimants returns who claims a full name, in lower case with its final dot: who
// has it, and then the others, the one that is next first. Services claim it
// below zone, or, where that is empty, below the longest of the index's zones
// that covers it. It may be called by any goroutine, and holds up the writer, not
// the readers.
func (x *Index) Claimants(name, zone string) []Claimant {
	x.mu.Lock()
	defer x.mu.Unlock()
	zones := x.zones.Load()
	if zone == "" {
		zone = longestCovering(name, zones.names)
	}
	reserved := zones.reserves(name)
	var all []Claimant
	if reserved {
		all = append(all, Claimant{Has: true})
	}
	all = x.claimants(all, name, reservedReason)
	if rel, ok := relative(name, zone); ok && zone != "." && zone != "" {
		why := absoluteReason
		if reserved {
			why = reservedReason
		}
		all = x.claimants(all, rel, why)
	}
	return all
}

// claimants appends those who claim one name of the index. Where all has somebody
// already, that one comes before them for the reason why.
func (x *Index) claimants(all []Claimant, name, why string) []Claimant {
	beaten := len(all) > 0
	owner := x.owner(name)
	if owner != nil {
		c := Claimant{Entry: owner.entry(), Has: !beaten}
		if beaten {
			c.Why = why
		}
		all = append(all, c)
	}
	for _, l := range x.losers[name] {
		c := Claimant{Entry: l.row.Entry, Why: why}
		if !beaten && owner != nil {
			c.Why = before(claim{owner.Row, owner.rankOf(name)}, l)
			c.Local = x.local(name, l)
		}
		all = append(all, c)
	}
	return all
}
