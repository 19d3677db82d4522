package main

import (
	"slices"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
)

// explainText writes all that is known of a name, an address or an entry: first
// what was asked for, then the entries that have to do with it.
func explainText(p *page, e admin.Explanation, now time.Time) {
	s := sections{p: p}
	if e.Address != nil {
		s.gap()
		addressText(p, *e.Address, now)
	}
	for _, n := range e.Names {
		s.gap()
		nameText(p, n)
	}
	for _, entry := range e.Entries {
		s.gap()
		entryText(p, entry, e.Unknown, now)
	}
	if len(e.Unknown) > 0 {
		s.gap()
		p.line("Not known here: %s.", strings.Join(e.Unknown, ", "))
	}
}

// nameText writes who has a name, and who else claims it.
func nameText(p *page, n admin.NameState) {
	i := slices.IndexFunc(n.Claims, func(c admin.NameClaim) bool { return c.Has })
	switch {
	case len(n.Claims) == 0:
		p.title("%s: nobody claims it", n.Name)
	case i < 0:
		p.title("%s: claimed, and not answered", n.Name)
	default:
		p.title("%s is %s", n.Name, claimant(n.Claims[i].Entry))
	}
	for _, c := range n.Claims {
		words := joined(": ", claimant(c.Entry), joined("; ", c.How, c.Reason, local(c.Local)))
		if c.Has {
			p.field("has it", "%s", words)
		} else {
			p.warn("has it not", "%s", words)
		}
	}
}

// claimant names who claims a name.
func claimant(entry string) string {
	if entry == "" {
		return "the zone's name server"
	}
	return entry
}

// local says where a name is answered for an entry that does not have it.
func local(is bool) string {
	if is {
		return "has it all the same in server blocks that show its mesh, and none before it"
	}
	return ""
}

// addressText writes what is known of an address.
func addressText(p *page, a admin.AddressState, now time.Time) {
	p.title("%v: %s", a.Address, stateWords(a))
	if a.Pool.IsValid() {
		p.field("pool", "%s", joined(", ", a.Pool.String(), poolWords(a)))
	}
	if a.Range != "" {
		p.field("range", "%s", a.Range)
	}
	if a.StaticOf != "" {
		p.field("static of", "%s, by the Corefile", a.StaticOf)
	}
	switch a.State {
	case admin.Live:
		since(p, "since", a.Since, now)
	case admin.Cooling, admin.Past:
		p.field("last owner", "%s", joined(" in mesh ", a.Owner, a.LastMesh))
		since(p, "given up", a.Since, now)
	}
	if a.State == admin.Cooling || a.State == admin.Quarantined {
		cooling(p, a, now)
	}
	if a.GivenTo > 0 {
		p.field("given to", "%s by Kuma", count(a.GivenTo, "entry"))
	}
	if a.PTR != "" {
		p.field("PTR", "%s", a.PTR)
	}
}

// stateWords says what an address is, in words that need no legend.
func stateWords(a admin.AddressState) string {
	switch a.State {
	case admin.Live:
		return a.Owner + " has it"
	case admin.Cooling:
		return "cooling down, nobody else gets it yet"
	case admin.Quarantined:
		return "in quarantine since the table was restored: nobody knows who had it, and nobody gets it yet"
	case admin.Past:
		return "free; its last owner gets it back if nobody else has it by then"
	case admin.Aside:
		return "its entry's record cannot be read, and it stays reserved"
	case admin.Unreadable:
		return "it cannot be read who has it, and it stays reserved"
	case admin.Free:
		return "free, nobody is remembered to have had it"
	case admin.Excluded:
		return "excluded from its pool, nobody gets it"
	case admin.ReservedRange:
		return "reserved for static addresses"
	case admin.Network:
		return "the network address of its pool, nobody gets it"
	case admin.Broadcast:
		return "the broadcast address of its pool, nobody gets it"
	case admin.Given:
		return "given by Kuma, not from the table"
	case admin.Outside:
		return "outside all pools, not an address of this table"
	}
	return a.State
}

// poolWords says what is special about an address's pool.
func poolWords(a admin.AddressState) string {
	switch {
	case a.Retired:
		return "retired: it is no longer configured, and gives out nothing"
	case a.Drain:
		return "drain: it gives out no new address"
	}
	return ""
}

// cooling writes until when a released address stays with its last owner.
func cooling(p *page, a admin.AddressState, now time.Time) {
	switch {
	case !a.Until.IsZero():
		p.field("kept until", "%s, if the server keeps running", when(a.Until, now))
	case a.CooldownSeconds > 0:
		p.field("kept for", "%s more of the server's running time", span(seconds(a.CooldownSeconds)))
	}
}

// since writes a time, where it is known.
func since(p *page, label string, t, now time.Time) {
	if !t.IsZero() {
		p.field(label, "%s", when(t, now))
	}
}
