package kumatable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// The shape of format 4, below {"v": {SERVICE: …}}.
type (
	// service4 is what leads to one service tag.
	service4 struct {
		Outbounds []json.RawMessage `json:"oe"`
	}
	// outbound4 is what leads to it with some other tags beside.
	outbound4 struct {
		Tags         map[string]string `json:"t"`
		AddressPorts []json.RawMessage `json:"ap"`
	}
	// addressPort4 is one address and port of one entry.
	addressPort4 struct {
		Address string  `json:"a,omitempty"`
		Domain  *string `json:"d,omitempty"`
		Port    uint16  `json:"p,omitempty"`
		Origin  string  `json:"o,omitempty"`
	}
)

// four is what was read of a table of format 4: its services, and of each entry
// and address the outbounds.
type four struct {
	services []member
	rows     map[row4]*gathered
}

type row4 struct {
	entry vip.Entry
	addr  netip.Addr
}

type gathered struct {
	at        int
	outbounds []vip.Outbound
}

// top4 reads a member of the outermost object.
func (d *decoder) top4(m member) {
	if m.key != "v" {
		d.fail(m.key, m.at, errors.New(`a table of format 4 has "v" alone`))
		return
	}
	s := scanner{text: d.text[:m.end], pos: m.start}
	services, err := s.object()
	if err != nil {
		d.fail(m.key, m.at, err)
	}
	d.four.services = append(d.four.services, services...)
}

// finish4 reads the services, and makes rows of what they give.
func (d *decoder) finish4() {
	d.four.rows = make(map[row4]*gathered)
	for _, m := range d.last(d.four.services) {
		d.service4(m)
	}
	// What waits of an entry that has an address is a part of that row.
	keys := slices.SortedFunc(maps.Keys(d.four.rows), func(x, y row4) int {
		return cmp.Or(
			cmp.Compare(x.entry.Kind, y.entry.Kind), strings.Compare(x.entry.Name, y.entry.Name),
			y.addr.Compare(x.addr), // the zero Addr last
		)
	})
	for i, k := range keys {
		g := d.four.rows[k]
		if i > 0 && !k.addr.IsValid() && keys[i-1].entry == k.entry {
			continue
		}
		if n := i + 1; n < len(keys) && !keys[n].addr.IsValid() && keys[n].entry == k.entry {
			g.outbounds = append(g.outbounds, d.four.rows[keys[n]].outbounds...)
		}
		d.add(k.entry, k.addr, g.outbounds, g.at)
	}
}

// service4 reads what leads to one service.
func (d *decoder) service4(m member) {
	var v service4
	err := m.bad
	if err == nil && m.value(d.text) != '{' {
		err = errors.New("want an object with its outbounds")
	}
	if err == nil {
		err = json.Unmarshal(m.raw(d.text), &v)
	}
	if err != nil {
		d.fail(m.key, m.at, plainly(err))
		return
	}
	d.warnTwice(m.key, m)
	for i, raw := range v.Outbounds {
		var o outbound4
		if err := json.Unmarshal(raw, &o); err != nil {
			d.fail(m.key, m.at, fmt.Errorf("oe[%d]: %w", i, plainly(err)))
			continue
		}
		for j, raw := range o.AddressPorts {
			var ap addressPort4
			if err := json.Unmarshal(raw, &ap); err != nil {
				d.fail(m.key, m.at, fmt.Errorf("oe[%d].ap[%d]: %w", i, j, plainly(err)))
				continue
			}
			if e, err := d.addressPort4(m, o.Tags, ap); err != nil {
				d.fail(e.String(), m.at, fmt.Errorf("oe[%d].ap[%d] of service %.80q: %w", i, j, m.key, err))
			}
		}
	}
}

// addressPort4 takes up one address and port. Beside an error it returns the
// entry as far as it is known.
func (d *decoder) addressPort4(m member, tags map[string]string, ap addressPort4) (vip.Entry, error) {
	e := vip.Entry{Kind: kindOf4(ap.Origin), Name: m.key}
	addr, err := address(ap.Address)
	nameless := e.Kind != vip.Service && ap.Domain == nil
	switch {
	case nameless:
		e.Name = ap.Address // as Kuma calls it
	case e.Kind != vip.Service:
		e.Name = *ap.Domain
	}
	if err != nil {
		return e, err
	}
	if err := e.Validate(); err != nil {
		return e, err
	}
	o := vip.Outbound{Port: ap.Port, Tags: tags4(m.key, tags), Origin: unminify(ap.Origin)}
	if d.lossy && d.blurred(m, append(textsOf([]vip.Outbound{o}), e.Name)...) {
		return e, errLossy
	}
	switch {
	case o.Origin == originKubernetes && addr.IsValid():
		d.foreign = append(d.foreign, Foreign{e, addr, services([]vip.Outbound{o}), whyKubernetes})
		return e, nil
	case nameless:
		d.foreign = append(d.foreign, Foreign{e, addr, services([]vip.Outbound{o}), whyNameless})
		return e, nil
	}
	k := row4{e, addr}
	g := d.four.rows[k]
	if g == nil {
		g = &gathered{at: m.at}
		d.four.rows[k] = g
	}
	g.outbounds = append(g.outbounds, o)
	return e, nil
}

// tags4 returns the tags of an outbound below a service. Kuma keeps what has no
// service tag below the empty one.
func tags4(service string, tags map[string]string) []vip.Tag {
	all := make(map[string]string, len(tags)+1)
	if service != "" {
		all[vip.ServiceTag] = service
	}
	maps.Copy(all, tags)
	return vip.NewTags(all)
}

// kindOf4 tells the type of an entry by the origin of an outbound.
func kindOf4(origin string) vip.Kind {
	switch {
	case origin == "k8s", strings.HasPrefix(origin, vip.OriginHostPrefix):
		return vip.Host
	case strings.HasPrefix(origin, "virtual-outbound:"), strings.HasPrefix(origin, "mesh-gateway:"):
		return vip.FQDN
	}
	return vip.Service
}

// minify returns an origin as format 4 has it.
func minify(origin string) string {
	switch origin {
	case vip.OriginService:
		return "svc"
	case originKubernetes:
		return "k8s"
	}
	return origin
}

// unminify undoes minify.
func unminify(origin string) string {
	switch origin {
	case "svc":
		return vip.OriginService
	case "k8s":
		return originKubernetes
	}
	return origin
}
