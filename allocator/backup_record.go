package allocator

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/meshvip/coredns-meshvip/allocator/record"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

type (
	headerRecord struct {
		Meshvip string `json:"meshvip"`
		Version int    `json:"version"`
		record.Meta
		Meshes    int `json:"meshes"`
		Rows      int `json:"rows"`
		Addresses int `json:"addresses"`
		Damaged   int `json:"damaged"`
	}
	meshRecord struct {
		Mesh record.Text `json:"mesh"`
	}
	rowRecord struct {
		record.Key
		V4       netip.Addr      `json:"v4,omitzero"`
		V6       netip.Addr      `json:"v6,omitzero"`
		Listings []listingRecord `json:"listings,omitempty"`
	}
	listingRecord struct {
		Mesh record.Text `json:"mesh"`
		record.Listing
	}
	heldRecord struct {
		Address netip.Addr `json:"address"`
		record.Holding
	}
	damageRecord struct {
		Place   record.Text `json:"place"`
		Error   record.Text `json:"error,omitempty"`
		Address netip.Addr  `json:"address,omitzero"`
	}
	sumRecord struct {
		SHA256 string `json:"sha256"`
	}
)

// MetaRecord returns the record of what a table says of itself.
func MetaRecord(m Meta) record.Meta {
	rec := record.Meta{
		ID: record.Text(m.ID), Serial: m.Serial, Revision: m.Revision, Clock: m.Clock,
		Generation: m.Generation, Synced: m.Synced, Options: record.Text(m.Options),
	}
	for _, p := range m.Pools {
		rec.Pools = append(rec.Pools, record.Pool(p))
	}
	for _, q := range m.Quarantine {
		rec.Quarantine = append(rec.Quarantine, record.Quarantine{From: q.Range.From(), To: q.Range.To(), Until: q.Until})
	}
	return rec
}

// MetaOf returns what MetaRecord was given, or why no table says that.
func MetaOf(rec record.Meta) (Meta, error) {
	m := Meta{
		ID: string(rec.ID), Serial: rec.Serial, Revision: rec.Revision, Clock: rec.Clock, Generation: rec.Generation,
		Synced: rec.Synced, Options: string(rec.Options),
	}
	if m.Clock < 0 {
		return Meta{}, fmt.Errorf("the clock is %v", m.Clock)
	}
	for _, p := range rec.Pools {
		if !p.Prefix.IsValid() {
			return Meta{}, errors.New("a pool has no prefix")
		}
		m.Pools = append(m.Pools, Pool(p))
	}
	for _, q := range rec.Quarantine {
		r := netipx.IPRangeFrom(q.From, q.To)
		if !r.IsValid() || q.Until < 0 {
			return Meta{}, fmt.Errorf("quarantine %v-%v is no range", q.From, q.To)
		}
		m.Quarantine = append(m.Quarantine, Quarantine{r, q.Until})
	}
	return m, nil
}

// HoldingRecord returns the record of a holding.
func HoldingRecord(h Holding) record.Holding {
	return record.Holding{Owner: record.KeyOf(h.Owner), Released: h.Released, At: h.At, Mesh: record.Text(h.Mesh), Since: h.Since}
}

// HoldingOf returns what HoldingRecord was given, or why no table says that. Texts
// that recur come from intern.
func HoldingOf(rec record.Holding, intern func(record.Text) string) (Holding, error) {
	if err := rec.Validate(); err != nil {
		return Holding{}, err
	}
	return Holding{
		Owner: vip.Key(rec.Owner.Entry()), Released: rec.Released, At: rec.At, Mesh: intern(rec.Mesh), Since: rec.Since,
	}, nil
}

func headerOf(s State) headerRecord {
	return headerRecord{
		Meshvip: "backup", Version: BackupVersion, Meta: MetaRecord(s.Meta),
		Meshes: len(s.Meshes), Rows: len(s.Rows), Addresses: len(s.Addrs), Damaged: len(s.Damaged),
	}
}

func recordOf(r *vip.Row) rowRecord {
	rec := rowRecord{Key: record.KeyOf(r.Entry), V4: r.V4, V6: r.V6, Listings: make([]listingRecord, 0, len(r.Listings))}
	for _, l := range r.Listings {
		rec.Listings = append(rec.Listings, listingRecord{record.Text(l.Mesh), record.ListingOf(l)})
	}
	return rec
}

// row returns what recordOf was given; texts come from intern.
func (rec rowRecord) row(intern func(record.Text) string) *vip.Row {
	r := &vip.Row{Entry: rec.Entry(), V4: rec.V4, V6: rec.V6, Listings: make([]vip.Listing, 0, len(rec.Listings))}
	for _, l := range rec.Listings {
		r.Listings = append(r.Listings, l.In(intern(l.Mesh), r.Entry.Name, intern))
	}
	return r
}

func heldRecordOf(h Held) heldRecord { return heldRecord{h.Addr, HoldingRecord(h.Holding)} }

func (rec heldRecord) held(intern func(record.Text) string) (Held, error) {
	if !rec.Address.IsValid() || rec.Address.Zone() != "" {
		return Held{}, fmt.Errorf("%v is no address of a table", rec.Address)
	}
	h, err := HoldingOf(rec.Holding, intern)
	if err != nil {
		return Held{}, fmt.Errorf("%v %w", rec.Address, err)
	}
	return Held{rec.Address, h}, nil
}

func damageRecordOf(d Damage) damageRecord {
	rec := damageRecord{Place: record.Text(d.Place), Address: d.Addr}
	if d.Err != nil {
		rec.Error = record.Text(d.Err.Error())
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
