package allocator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"
	"unicode/utf8"

	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// backupText is a text that need not be UTF-8.
type backupText string

// backupBytes is how a text is written that is not.
type backupBytes struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements [json.Marshaler].
func (t backupText) MarshalJSON() ([]byte, error) {
	if plainText(t) { // most are
		return append(append(append(make([]byte, 0, len(t)+2), '"'), t...), '"'), nil
	}
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(backupBytes{[]byte(t)})
}

// plainText reports whether t stands in JSON as it is.
func plainText[T ~string | ~[]byte](t T) bool {
	for i := range len(t) {
		if c := t[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *backupText) UnmarshalJSON(b []byte) error {
	if n := len(b); n >= 2 && b[0] == '"' && plainText(b[1:n-1]) {
		*t = backupText(b[1 : n-1])
		return nil
	}
	if len(b) > 0 && b[0] == '{' {
		var raw backupBytes
		err := json.Unmarshal(b, &raw)
		*t = backupText(raw.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

type (
	headerRecord struct {
		Meshvip    string             `json:"meshvip"`
		Version    int                `json:"version"`
		ID         backupText         `json:"id,omitempty"`
		Serial     uint32             `json:"serial,omitempty"`
		Revision   uint64             `json:"revision,omitempty"`
		Clock      time.Duration      `json:"clock,omitempty"`
		Generation uint64             `json:"generation,omitempty"`
		Synced     bool               `json:"synced,omitempty"`
		Options    backupText         `json:"options,omitempty"`
		Pools      []poolRecord       `json:"pools,omitempty"`
		Quarantine []quarantineRecord `json:"quarantine,omitempty"`
		Meshes     int                `json:"meshes"`
		Rows       int                `json:"rows"`
		Addresses  int                `json:"addresses"`
		Damaged    int                `json:"damaged"`
	}
	poolRecord struct {
		Prefix  netip.Prefix `json:"prefix"`
		Next    netip.Addr   `json:"next,omitzero"`
		Retired bool         `json:"retired,omitempty"`
	}
	quarantineRecord struct {
		From  netip.Addr    `json:"from"`
		To    netip.Addr    `json:"to"`
		Until time.Duration `json:"until,omitempty"`
	}
	meshRecord struct {
		Mesh backupText `json:"mesh"`
	}
	keyRecord struct {
		Kind vip.Kind   `json:"kind"`
		Of   backupText `json:"of,omitempty"`
		Name backupText `json:"name"`
	}
	rowRecord struct {
		keyRecord
		V4       netip.Addr      `json:"v4,omitzero"`
		V6       netip.Addr      `json:"v6,omitzero"`
		Listings []listingRecord `json:"listings,omitempty"`
	}
	listingRecord struct {
		Mesh      backupText       `json:"mesh"`
		Name      backupText       `json:"name"`
		Outbounds []outboundRecord `json:"outbounds,omitempty"`
		Static    []netip.Addr     `json:"static,omitempty"`
		Given     []netip.Addr     `json:"given,omitempty"`
		Hostnames []backupText     `json:"hostnames,omitempty"`
		Follow    bool             `json:"follow,omitempty"`
	}
	outboundRecord struct {
		Port   uint16          `json:"port,omitempty"`
		Tags   [][2]backupText `json:"tags,omitempty"`
		Origin backupText      `json:"origin,omitempty"`
	}
	heldRecord struct {
		Address  netip.Addr    `json:"address"`
		Owner    keyRecord     `json:"owner"`
		Released bool          `json:"released,omitempty"`
		At       time.Duration `json:"at,omitempty"`
		Mesh     backupText    `json:"mesh,omitempty"`
		Since    int64         `json:"since,omitempty"`
	}
	damageRecord struct {
		Place   backupText `json:"place"`
		Error   backupText `json:"error,omitempty"`
		Address netip.Addr `json:"address,omitzero"`
	}
	sumRecord struct {
		SHA256 string `json:"sha256"`
	}
)

func headerOf(s State) headerRecord {
	m := s.Meta
	h := headerRecord{
		Meshvip: "backup", Version: BackupVersion, ID: backupText(m.ID), Serial: m.Serial, Revision: m.Revision, Clock: m.Clock,
		Generation: m.Generation, Synced: m.Synced, Options: backupText(m.Options),
		Meshes: len(s.Meshes), Rows: len(s.Rows), Addresses: len(s.Addrs), Damaged: len(s.Damaged),
	}
	for _, p := range m.Pools {
		h.Pools = append(h.Pools, poolRecord(p))
	}
	for _, q := range m.Quarantine {
		h.Quarantine = append(h.Quarantine, quarantineRecord{q.Range.From(), q.Range.To(), q.Until})
	}
	return h
}

func (h headerRecord) meta() (Meta, error) {
	m := Meta{
		ID: string(h.ID), Serial: h.Serial, Revision: h.Revision, Clock: h.Clock, Generation: h.Generation,
		Synced: h.Synced, Options: string(h.Options),
	}
	if m.Clock < 0 {
		return Meta{}, fmt.Errorf("the clock is %v", m.Clock)
	}
	for _, p := range h.Pools {
		if !p.Prefix.IsValid() {
			return Meta{}, errors.New("a pool has no prefix")
		}
		m.Pools = append(m.Pools, Pool(p))
	}
	for _, q := range h.Quarantine {
		r := netipx.IPRangeFrom(q.From, q.To)
		if !r.IsValid() || q.Until < 0 {
			return Meta{}, fmt.Errorf("quarantine %v-%v is no range", q.From, q.To)
		}
		m.Quarantine = append(m.Quarantine, Quarantine{r, q.Until})
	}
	return m, nil
}

func keyRecordOf(k vip.Key) keyRecord {
	return keyRecord{k.Kind, backupText(k.Mesh), backupText(k.Name)}
}

func (k keyRecord) entry() vip.Entry {
	return vip.Entry{Kind: k.Kind, Mesh: string(k.Of), Name: string(k.Name)}
}

func recordOf(r *vip.Row) rowRecord {
	rec := rowRecord{keyRecord: keyRecordOf(vip.Key(r.Entry)), V4: r.V4, V6: r.V6, Listings: make([]listingRecord, 0, len(r.Listings))}
	for _, l := range r.Listings {
		lr := listingRecord{Mesh: backupText(l.Mesh), Name: backupText(l.Name)}
		for _, o := range l.Outbounds {
			or := outboundRecord{Port: o.Port, Origin: backupText(o.Origin)}
			for _, t := range o.Tags {
				or.Tags = append(or.Tags, [2]backupText{backupText(t.Key), backupText(t.Value)})
			}
			lr.Outbounds = append(lr.Outbounds, or)
		}
		if t := l.Terms; t != nil {
			lr.Static, lr.Given, lr.Follow = t.Static, t.Given, t.Follow
			for _, h := range t.Hostnames {
				lr.Hostnames = append(lr.Hostnames, backupText(h))
			}
		}
		rec.Listings = append(rec.Listings, lr)
	}
	return rec
}

// row returns what recordOf was given; texts come from intern.
func (rec rowRecord) row(intern func(backupText) string) *vip.Row {
	r := &vip.Row{Entry: rec.entry(), V4: rec.V4, V6: rec.V6, Listings: make([]vip.Listing, 0, len(rec.Listings))}
	for _, lr := range rec.Listings {
		l := vip.Listing{Mesh: intern(lr.Mesh), Name: string(lr.Name)}
		if l.Name == r.Entry.Name {
			l.Name = r.Entry.Name
		}
		for _, or := range lr.Outbounds {
			o := vip.Outbound{Port: or.Port, Origin: intern(or.Origin)}
			for _, t := range or.Tags {
				value := string(t[1])
				if value == r.Entry.Name {
					value = r.Entry.Name
				}
				o.Tags = append(o.Tags, vip.Tag{Key: intern(t[0]), Value: value})
			}
			l.Outbounds = append(l.Outbounds, o)
		}
		terms := vip.Terms{Static: lr.Static, Given: lr.Given, Follow: lr.Follow}
		for _, h := range lr.Hostnames {
			terms.Hostnames = append(terms.Hostnames, string(h))
		}
		if !terms.Empty() {
			l.Terms = &terms
		}
		r.Listings = append(r.Listings, l)
	}
	return r
}

func heldRecordOf(h Held) heldRecord {
	return heldRecord{h.Addr, keyRecordOf(h.Owner), h.Released, h.At, backupText(h.Mesh), h.Since}
}

func (rec heldRecord) held(intern func(backupText) string) (Held, error) {
	h := Held{rec.Address, Holding{
		Owner: vip.Key(rec.Owner.entry()), Released: rec.Released, At: rec.At, Mesh: intern(rec.Mesh), Since: rec.Since,
	}}
	switch {
	case !h.Addr.IsValid() || h.Addr.Zone() != "":
		return Held{}, fmt.Errorf("%v is no address of a table", h.Addr)
	case vip.Entry(h.Owner).Validate() != nil || vip.Entry(h.Owner).Key() != h.Owner:
		return Held{}, fmt.Errorf("%v has an owner that is no entry", h.Addr)
	case h.At < 0:
		return Held{}, fmt.Errorf("%v was released before the table's clock began", h.Addr)
	}
	return h, nil
}

func damageRecordOf(d Damage) damageRecord {
	rec := damageRecord{Place: backupText(d.Place), Address: d.Addr}
	if d.Err != nil {
		rec.Error = backupText(d.Err.Error())
	}
	return rec
}

func (rec damageRecord) damage() Damage {
	d := Damage{Place: string(rec.Place), Addr: rec.Address}
	if rec.Error != "" {
		d.Err = errors.New(string(rec.Error))
	}
	return d
}
