package watcher

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// virtual is what the VirtualOutbounds of one mesh give to its services. Services
// are looked at by their tags: however many inbounds have equal ones, policies
// see them once, and a template runs once for each set of values that go into it.
type virtual struct {
	rules map[string]*rule // by the policy's name
	// exact has the rules that select nothing but services of certain names, by
	// those; general has all others. So a service is not shown to every rule.
	exact   map[string]map[*rule]struct{}
	general map[*rule]struct{}
	// services are the sets of tags that each has, sorted, and in how many
	// claims.
	services map[string][]counted[kuma.Tags]

	contests  map[spot]*contest
	unsettled map[spot]struct{}
	contested map[spot]struct{} // spots with more than one offer
	refusing  map[*rule]struct{}
}

// rule is a VirtualOutbound.
type rule struct {
	id     kuma.ID
	policy *kuma.VirtualOutbound
	offers map[kuma.Tags]*offer // by the tags that the policy uses
	// refused are the offers that came to nothing.
	refused map[*offer]struct{}
}

// offer is what a rule makes of services which do not differ in the tags that it
// uses.
type offer struct {
	rule     *rule
	host     string
	outbound vip.Outbound
	err      error // why there is none
	index    int   // in its contest
	// ranks says how narrowly the rule selects these services, the widest first.
	ranks []counted[kuma.Rank]
}

// contest is what is offered for a spot.
type contest struct {
	offers []*offer // in no order
	// claim is what is asked for in the mesh for the best of them, and told says
	// that it is.
	claim kuma.Claim
	told  bool
}

func newVirtual() *virtual {
	return &virtual{
		rules:     make(map[string]*rule),
		exact:     make(map[string]map[*rule]struct{}),
		general:   make(map[*rule]struct{}),
		services:  make(map[string][]counted[kuma.Tags]),
		contests:  make(map[spot]*contest),
		unsettled: make(map[spot]struct{}),
		contested: make(map[spot]struct{}),
		refusing:  make(map[*rule]struct{}),
	}
}

// empty reports whether there is no VirtualOutbound, and nothing left of one.
func (v *virtual) empty() bool { return len(v.rules) == 0 && len(v.contests) == 0 }

// troubled reports whether there is anything to tell.
func (v *virtual) troubled() bool { return v != nil && len(v.contested)+len(v.refusing) > 0 }

// enter takes up a VirtualOutbound and shows it the services that it may select.
func (v *virtual) enter(id kuma.ID, policy *kuma.VirtualOutbound) {
	r := &rule{id: id, policy: policy, offers: make(map[kuma.Tags]*offer), refused: make(map[*offer]struct{})}
	v.rules[id.Name] = r
	names, others := policy.Services()
	if others {
		v.general[r] = struct{}{}
		for name := range v.services {
			v.show(r, name)
		}
		return
	}
	for _, name := range names {
		if v.exact[name] == nil {
			v.exact[name] = make(map[*rule]struct{})
		}
		v.exact[name][r] = struct{}{}
		v.show(r, name)
	}
}

// show shows a service to a rule.
func (v *virtual) show(r *rule, service string) {
	for _, c := range v.services[service] {
		v.offer(r, c.value.Of(service))
	}
}

// leave takes a VirtualOutbound away, with all that it offers.
func (v *virtual) leave(id kuma.ID) {
	r := v.rules[id.Name]
	delete(v.rules, id.Name)
	delete(v.general, r)
	names, _ := r.policy.Services()
	for _, name := range names {
		if delete(v.exact[name], r); len(v.exact[name]) == 0 {
			delete(v.exact, name)
		}
	}
	for _, o := range r.offers {
		if o.err == nil {
			v.withdraw(o)
		}
	}
	delete(v.refusing, r)
}

// add counts a service with tags once more, and reports whether that may change
// what policies give.
func (v *virtual) add(service string, tags kuma.Tags) bool {
	n := len(v.services[service])
	v.services[service] = add(v.services[service], tags, kuma.Tags.Compare)
	if len(v.services[service]) == n {
		return false
	}
	return v.shown(service, tags, v.offer)
}

// sub counts a service with tags, which is there, once less.
func (v *virtual) sub(service string, tags kuma.Tags) bool {
	n := len(v.services[service])
	sets := sub(v.services[service], tags, kuma.Tags.Compare)
	if v.services[service] = sets; len(sets) == n {
		return false
	}
	if len(sets) == 0 {
		delete(v.services, service)
	}
	return v.shown(service, tags, v.unoffer)
}

// shown calls f with each rule that may select the service and with its tags, and
// reports whether there is such a rule.
func (v *virtual) shown(service string, tags kuma.Tags, f func(*rule, []vip.Tag)) bool {
	rules := v.exact[service]
	if len(rules)+len(v.general) == 0 {
		return false
	}
	all := tags.Of(service)
	for r := range rules {
		f(r, all)
	}
	for r := range v.general {
		f(r, all)
	}
	return true
}

// offer lets r offer what it makes of a service with these tags, if it selects it.
func (v *virtual) offer(r *rule, tags []vip.Tag) {
	rank, ok := r.policy.Match(tags)
	if !ok {
		return
	}
	used := r.policy.Uses(tags)
	key := kuma.NewTags(used)
	o := r.offers[key]
	if o == nil {
		o = &offer{rule: r}
		o.host, o.outbound, o.err = r.policy.Outbound(r.id.Name, used)
		r.offers[key] = o
		if o.err != nil {
			o.outbound.Tags = used // for the message
			r.refused[o] = struct{}{}
			v.refusing[r] = struct{}{}
		} else {
			at := v.at(o)
			o.index = len(at.offers)
			at.offers = append(at.offers, o)
		}
	}
	o.ranks = add(o.ranks, rank, kuma.Rank.Compare)
	v.unsettle(o)
}

// unoffer undoes offer.
func (v *virtual) unoffer(r *rule, tags []vip.Tag) {
	rank, ok := r.policy.Match(tags)
	if !ok {
		return
	}
	key := kuma.NewTags(r.policy.Uses(tags))
	o := r.offers[key]
	o.ranks = sub(o.ranks, rank, kuma.Rank.Compare)
	switch {
	case len(o.ranks) > 0:
		v.unsettle(o)
	case o.err == nil:
		delete(r.offers, key)
		v.withdraw(o)
	default:
		delete(r.offers, key)
		delete(r.refused, o)
		mark(v.refusing, r, len(r.refused) > 0)
	}
}

// withdraw takes an offer out of its contest.
func (v *virtual) withdraw(o *offer) {
	at := v.at(o)
	last := len(at.offers) - 1
	at.offers[o.index] = at.offers[last]
	at.offers[o.index].index = o.index
	at.offers[last] = nil
	at.offers = at.offers[:last]
	v.unsettle(o)
}

func (o *offer) spot() spot { return spot{vip.Fold(o.host), o.outbound.Port} }

// at returns the contest of an offer.
func (v *virtual) at(o *offer) *contest {
	c := v.contests[o.spot()]
	if c == nil {
		c = new(contest)
		v.contests[o.spot()] = c
	}
	return c
}

func (v *virtual) unsettle(o *offer) {
	if o.err == nil {
		v.unsettled[o.spot()] = struct{}{}
	}
}

// settle lets the best offer of each spot be asked for in m, and no other, with
// the terms of each entry.
func (v *virtual) settle(m *mesh, terms func(mesh string, e vip.Entry) *vip.Terms) {
	for at := range v.unsettled {
		c := v.contests[at]
		before, told := c.claim, c.told
		c.claim, c.told = kuma.Claim{}, len(c.offers) > 0
		if c.told {
			o := c.best()
			c.claim = kuma.Claim{
				Mesh:      m.name,
				Entry:     vip.Entry{Kind: vip.FQDN, Name: o.host},
				Outbounds: []vip.Outbound{o.outbound},
			}
			c.claim.Terms = terms(m.name, c.claim.Entry)
		}
		m.replace(before, told, c.claim, c.told)
		if !c.told {
			delete(v.contests, at)
		}
		mark(v.contested, at, len(c.offers) > 1)
	}
	clear(v.unsettled)
}

// best returns the offer that has the spot.
func (c *contest) best() *offer { return slices.MinFunc(c.offers, (*offer).compare) }

// compare orders offers for one spot, the one that has it first. Policies are in
// Kuma's order: the one that selects most narrowly, then the youngest, then by
// name. Of two services that one policy gives the same, the smaller tags have it.
func (o *offer) compare(p *offer) int {
	return cmp.Or(
		p.rank().Compare(o.rank()),
		p.rule.policy.Created.Compare(o.rule.policy.Created),
		strings.Compare(o.rule.id.Name, p.rule.id.Name),
		o.outbound.Compare(p.outbound),
	)
}

func (o *offer) rank() kuma.Rank { return o.ranks[len(o.ranks)-1].value }
