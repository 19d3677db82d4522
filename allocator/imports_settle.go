package allocator

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// importer settles who keeps the addresses that tables bring.
type importer struct {
	*plan
	claims []claim
	// statics are the addresses that went to an entry by the operator's choice;
	// from is the mesh whose word an entry's address is.
	statics map[netip.Addr]bool
	from    map[seat]string
}

// claim is an outcome on its way.
type claim struct {
	Outcome
	key vip.Key
	// static: it is the entry's by the operator's choice.
	static bool
}

// list gives every entry that a table can hold its row, with all that the meshes
// say, and notes what is claimed.
func (i *importer) list(rows []*vip.Row) {
	t := i.t
	for _, r := range rows {
		for _, l := range r.Listings {
			e := vip.Entry{Kind: r.Entry.Kind, Mesh: r.Entry.Mesh, Name: l.Name}
			c := claim{Outcome: Outcome{Mesh: l.Mesh, Entry: e}, key: e.Key()}
			switch err := cmp.Or(checkMesh(l.Mesh), checkEntry(e)); {
			case err != nil:
				c.Result, c.Rule, c.Why = LeftOut, RuleInvalid, err.Error()
			case nameless(e):
				c.Result, c.Rule, c.Why = LeftOut, RuleName, "its name is an IP address: who looks for it needs no other"
			default:
				i.say(i.edit(c.key), l)
				if t.meshes[l.Mesh] == nil {
					put(&i.meshesNew, l.Mesh, struct{}{})
				}
			}
			i.claim(c, r)
		}
	}
	for _, e := range i.edits {
		slices.SortStableFunc(e.set, func(a, b vip.Listing) int {
			return cmp.Or(strings.Compare(a.Mesh, b.Mesh), strings.Compare(a.Name, b.Name))
		})
		e.set = slices.CompactFunc(e.set, func(a, b vip.Listing) bool { return a.Mesh == b.Mesh })
		e.merge()
	}
	i.release() // what Kuma gave others comes before all tables
}

// say lets a mesh say l of an entry, unless the table knows what it says.
func (i *importer) say(e *edit, l vip.Listing) {
	if e.old != nil {
		if _, listed := e.old.Listing(l.Mesh); listed {
			return
		}
	}
	if l.Terms.Empty() {
		l.Terms = nil
	}
	e.set = append(e.set, l)
}

// nameless reports whether e is a host that is written as an address.
func nameless(e vip.Entry) bool {
	_, err := netip.ParseAddr(e.Name)
	return err == nil && (e.Kind == vip.Host || e.Kind == vip.FQDN)
}

// claim notes the addresses of a row as claims like c.
func (i *importer) claim(c claim, r *vip.Row) {
	addrs := r.Addrs()
	if len(addrs) == 0 {
		i.claims = append(i.claims, c)
	}
	for _, c.From = range addrs {
		i.claims = append(i.claims, c)
	}
}

// settle gives the addresses to those whose claims come first.
func (i *importer) settle() {
	for n := range i.claims {
		c := &i.claims[n]
		if c.From.IsValid() && c.Result == "" {
			c.static = i.t.static(c.key, i.edits[c.key].row, c.From.Is4()) == c.From
		}
	}
	slices.SortStableFunc(i.claims, func(a, b claim) int {
		if a.static != b.static {
			if a.static {
				return -1
			}
			return 1
		}
		return cmp.Or(a.key.Compare(b.key), strings.Compare(a.Mesh, b.Mesh), a.From.Compare(b.From))
	})
	i.statics, i.from = make(map[netip.Addr]bool), make(map[seat]string)
	for n := range i.claims {
		if c := &i.claims[n]; c.Result == "" && c.From.IsValid() {
			i.decide(c)
		}
	}
	i.cool()
}

// decide lets a claim be, or says why it cannot.
func (i *importer) decide(c *claim) {
	e, t := i.edits[c.key], i.t
	no := func(r Rule, format string, args ...any) {
		c.Rule, c.Why = r, fmt.Sprintf(format, args...)
	}
	lost := func(r Rule, winner vip.Key, format string, args ...any) {
		c.Winner = winner
		no(r, format, args...)
	}
	was, known := t.released.byAddr[c.From]
	_, unreadable := t.reserved[c.From]
	_, quarantined := t.quarantined(c.From)
	has := addrOf(e.row, c.From.Is4())
	change := i.addrs[c.From]
	switch {
	case has == c.From:
	case len(e.row.Given()) > 0:
		no(RuleGiven, "Kuma gave it %v", e.row.Given()[0])
	case e.old != nil && hasFamily(e.old, c.From.Is4()):
		lost(RuleHolder, c.key, "it has %v in the table already", has)
	case has.IsValid():
		c.WinnerMesh = i.from[seat{c.key, c.From.Is4()}]
		no(RuleMesh, "mesh %q says %v, and comes first", c.WinnerMesh, has)
	case change != nil && change.New.Released: // Kuma has given its owner another
		lost(RuleCooldown, change.New.Owner, "%v had it, and it cools down", change.New.Owner)
	case change != nil && i.statics[c.From]:
		lost(RuleStatic, change.New.Owner, "it is the static address of %v", change.New.Owner)
	case change != nil:
		lost(RuleKey, change.New.Owner, "%v claims it too, and is the smaller key", change.New.Owner)
	case t.live[c.From].row != nil:
		holder := t.live[c.From].row.Key()
		lost(RuleHolder, holder, "%v has it", holder)
	case unreadable:
		no(RuleUnreadable, "the record of who has it cannot be read")
	case i.t.spaceAt(c.From) < 0:
		c.Pool = poolFor(c.From, i.layout.Pools)
		no(RulePool, "it lies in no pool: add \"pool %v\" to keep it", c.Pool)
	case i.given(c.From):
		no(RuleGiven, "Kuma gave it to an entry of its own")
	case t.unfit(c.key, c.From, c.static) != "":
		if other, ok := t.staticOf[c.From]; ok && other != c.key {
			lost(RuleStatic, other, "%s", t.unfit(c.key, c.From, c.static))
			break
		}
		if pool := t.meta.Pools[t.spaceAt(c.From)]; pool.Retired {
			c.Pool = pool.Prefix
		}
		no(RulePool, "%s", t.unfit(c.key, c.From, c.static))
	case known && !was.Released && was.Owner != c.key:
		lost(RuleHolder, was.Owner, "%v has it, whose row cannot be read", was.Owner)
	case known && was.Owner != c.key && was.At > i.now-i.cooldown:
		lost(RuleCooldown, was.Owner, "%v had it, and it cools down", was.Owner)
	case quarantined && (!known || was.Owner != c.key):
		no(RuleQuarantine, "somebody may have had it whom the table does not know, for it was restored from a backup")
	default:
		var before *Holding
		if known {
			before = &was
		}
		i.take(c.key, e, c.From, before, false)
		i.from[seat{c.key, c.From.Is4()}] = c.Mesh
		if c.static {
			i.statics[c.From] = true
		}
	}
}

// cool lets every address that an entry had, and nobody has, cool down: it was
// answered until now.
func (i *importer) cool() {
	for n := range i.claims {
		c := &i.claims[n]
		_, known := i.t.released.byAddr[c.From]
		_, unreadable := i.t.reserved[c.From]
		if !c.From.IsValid() || c.Rule == "" || c.Rule == RuleInvalid || c.Rule == RuleQuarantine || known || unreadable ||
			i.addrs[c.From] != nil || i.t.live[c.From].row != nil || i.t.spaceAt(c.From) < 0 {
			continue
		}
		i.addrs[c.From] = &AddrChange{
			Addr: c.From, New: &Holding{Owner: c.key, Released: true, At: i.now, Mesh: c.Mesh, Since: i.unix},
		}
	}
}
