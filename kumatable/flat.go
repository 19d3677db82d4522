package kumatable

import (
	"encoding/json"

	"github.com/meshvip/coredns-meshvip/vip"
)

// row1 reads a row of formats 0 and 1: a service and its address.
func (d *decoder) row1(m member) {
	e := vip.Entry{Kind: vip.Service, Name: m.key}
	if err := e.Validate(); err != nil {
		d.fail(m.key, m.at, err)
		return
	}
	d.flat(m, e)
}

// row2 reads a row of format 2: an entry and its address.
func (d *decoder) row2(m member) {
	e, err := d.entry(m)
	if err != nil {
		d.fail(m.key, m.at, err)
		return
	}
	d.flat(m, e)
}

// entry reads a key of formats 2 and 3.
func (d *decoder) entry(m member) (vip.Entry, error) {
	if m.bad != nil {
		return vip.Entry{}, m.bad
	}
	e, err := vip.ParseEntry(m.key)
	if err != nil {
		return vip.Entry{}, err
	}
	if e.Kind.OfMesh() {
		return vip.Entry{}, errForeignKind(e.Kind, int(e.Kind))
	}
	return e, nil
}

// flat reads the address of e, which is all that its row has.
func (d *decoder) flat(m member, e vip.Entry) {
	var s *string
	err := json.Unmarshal(m.raw(d.text), &s)
	switch {
	case m.bad != nil:
		d.fail(m.key, m.at, m.bad)
		return
	case err != nil:
		d.fail(m.key, m.at, plainly(err))
		return
	case s == nil:
		d.fail(m.key, m.at, errNull)
		return
	}
	addr, err := address(*s)
	if err != nil {
		d.fail(m.key, m.at, err)
		return
	}
	var outbounds []vip.Outbound
	if e.Kind == vip.Service {
		outbounds = []vip.Outbound{serviceOutbound(e.Name)}
	}
	d.add(e, addr, outbounds, m.at)
}
