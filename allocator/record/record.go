package record

import (
	"errors"
	"net/netip"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Meta is what a table says of itself.
type Meta struct {
	ID         Text          `json:"id,omitempty"`
	Serial     uint32        `json:"serial,omitempty"`
	Revision   uint64        `json:"revision,omitempty"`
	Clock      time.Duration `json:"clock,omitempty"`
	Generation uint64        `json:"generation,omitempty"`
	Synced     bool          `json:"synced,omitempty"`
	Options    Text          `json:"options,omitempty"`
	Pools      []Pool        `json:"pools,omitempty"`
	Quarantine []Quarantine  `json:"quarantine,omitempty"`
}

// Pool is a range that addresses are taken from, with its cursor.
type Pool struct {
	Prefix  netip.Prefix `json:"prefix"`
	Next    netip.Addr   `json:"next,omitzero"`
	Retired bool         `json:"retired,omitempty"`
}

// Quarantine is a range that nobody gets an address of until some time.
type Quarantine struct {
	From  netip.Addr    `json:"from"`
	To    netip.Addr    `json:"to"`
	Until time.Duration `json:"until,omitempty"`
}

// Key is an entry. Of is the mesh of entries that are keyed by theirs.
type Key struct {
	Kind vip.Kind `json:"kind"`
	Of   Text     `json:"of,omitempty"`
	Name Text     `json:"name"`
}

// KeyOf returns the record of an entry, or of a key.
func KeyOf[E vip.Entry | vip.Key](e E) Key {
	k := vip.Key(e)
	return Key{k.Kind, Text(k.Mesh), Text(k.Name)}
}

// Entry returns what KeyOf was given.
func (k Key) Entry() vip.Entry {
	return vip.Entry{Kind: k.Kind, Mesh: string(k.Of), Name: string(k.Name)}
}

// Holding is who has an address, or had it last.
type Holding struct {
	Owner    Key           `json:"owner"`
	Released bool          `json:"released,omitempty"`
	At       time.Duration `json:"at,omitempty"`
	Mesh     Text          `json:"mesh,omitempty"`
	Since    int64         `json:"since,omitempty"`
}

// Validate returns an error if no table holds h.
func (h Holding) Validate() error {
	owner := h.Owner.Entry()
	switch {
	case owner.Validate() != nil || vip.Entry(owner.Key()) != owner:
		return errors.New("has an owner that is no entry")
	case h.At < 0:
		return errors.New("was released before the table's clock began")
	}
	return nil
}

// Listing is what a mesh says of an entry; which mesh stands beside it.
type Listing struct {
	Name      Text         `json:"name"`
	Outbounds []Outbound   `json:"outbounds,omitempty"`
	Static    []netip.Addr `json:"static,omitempty"`
	Given     []netip.Addr `json:"given,omitempty"`
	Hostnames []Text       `json:"hostnames,omitempty"`
	Follow    bool         `json:"follow,omitempty"`
}

// Outbound is one port of an entry. A tag is a key and a value.
type Outbound struct {
	Port   uint16    `json:"port,omitempty"`
	Tags   [][2]Text `json:"tags,omitempty"`
	Origin Text      `json:"origin,omitempty"`
}

// ListingOf returns the record of a listing, but for its mesh.
func ListingOf(l vip.Listing) Listing {
	rec := Listing{Name: Text(l.Name)}
	for _, o := range l.Outbounds {
		or := Outbound{Port: o.Port, Origin: Text(o.Origin)}
		for _, t := range o.Tags {
			or.Tags = append(or.Tags, [2]Text{Text(t.Key), Text(t.Value)})
		}
		rec.Outbounds = append(rec.Outbounds, or)
	}
	if t := l.Terms; t != nil {
		rec.Static, rec.Given, rec.Follow = t.Static, t.Given, t.Follow
		for _, h := range t.Hostnames {
			rec.Hostnames = append(rec.Hostnames, Text(h))
		}
	}
	return rec
}

// In returns what ListingOf was given, as what mesh says of the entry called
// name. Texts that recur come from intern.
func (rec Listing) In(mesh, name string, intern func(Text) string) vip.Listing {
	l := vip.Listing{Mesh: mesh, Name: share(rec.Name, name)}
	for _, or := range rec.Outbounds {
		o := vip.Outbound{Port: or.Port, Origin: intern(or.Origin)}
		for _, t := range or.Tags {
			o.Tags = append(o.Tags, vip.Tag{Key: intern(t[0]), Value: share(t[1], name)})
		}
		l.Outbounds = append(l.Outbounds, o)
	}
	terms := vip.Terms{Static: rec.Static, Given: rec.Given, Follow: rec.Follow}
	for _, h := range rec.Hostnames {
		terms.Hostnames = append(terms.Hostnames, string(h))
	}
	if !terms.Empty() {
		l.Terms = &terms
	}
	return l
}

// share returns t, as name where that is the same.
func share(t Text, name string) string {
	if string(t) == name {
		return name
	}
	return string(t)
}
