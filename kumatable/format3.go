package kumatable

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/meshvip/coredns-meshvip/vip"
)

// row3 is a row of format 3: what stands behind the key "0:backend".
type row3 struct {
	Address   string      `json:"address,omitempty"`
	Outbounds []outbound3 `json:"outbounds"`
}

// outbound3 is an outbound of format 3. Its names are capitalised in the text.
type outbound3 struct {
	Port   uint16
	TagSet map[string]string
	Origin string
}

// errNull is that of a value which says nothing.
var errNull = errors.New("null where an address belongs")

// row3 reads a row of format 3.
func (d *decoder) row3(m member) {
	e, err := d.entry(m)
	if err != nil {
		d.fail(m.key, m.at, err)
		return
	}
	if m.value(d.text) != '{' {
		d.fail(m.key, m.at, errors.New("want an object with an address and outbounds"))
		return
	}
	var v row3
	if err := json.Unmarshal(m.raw(d.text), &v); err != nil {
		d.fail(m.key, m.at, plainly(err))
		return
	}
	outbounds := make([]vip.Outbound, 0, len(v.Outbounds))
	for _, o := range v.Outbounds {
		outbounds = append(outbounds, vip.Outbound{Port: o.Port, Tags: vip.NewTags(o.TagSet), Origin: o.Origin})
	}
	addr, err := address(v.Address)
	switch {
	case err != nil:
		d.fail(m.key, m.at, err)
		return
	case d.lossy && d.blurred(m, textsOf(outbounds)...):
		d.fail(m.key, m.at, errLossy)
		return
	}
	d.warnTwice(m.key, m)
	d.add(e, addr, outbounds, m.at)
}

// Encode3 returns mesh's part of the table in format 3, a JSON object with one
// row a line, which ends in a newline. rows are sorted by key, and so is the
// text; rows that mesh does not list are left out. A row has the mesh's own
// spelling and outbounds, and its IPv4 address, or else its IPv6 one; a row that
// waits for an address has none. Kinds that are keyed by their mesh are left
// out, since the format does not know them.
//
// [Decode] reads it as it was, but for what a host which is an IP address, and
// says so twice, is: see [Foreign].
//
// Entries that JSON cannot carry are left out and told in an error of type
// [SetAside], beside which the text stands. There is no other error.
func Encode3(mesh string, rows []*vip.Row) ([]byte, error) {
	var b bytes.Buffer
	sep := "{\n  "
	aside := listed(mesh, rows, func(r *vip.Row, l vip.Listing) error {
		b.WriteString(sep)
		writeRow3(&b, r, l)
		sep = ",\n  "
		return nil
	})
	if b.Len() == 0 {
		b.WriteString("{}\n")
	} else {
		b.WriteString("\n}\n")
	}
	return b.Bytes(), aside.asError()
}

// writeRow3 writes the key and the value of r as l lists it, on one line.
func writeRow3(b *bytes.Buffer, r *vip.Row, l vip.Listing) {
	v := row3{Outbounds: make([]outbound3, 0, len(l.Outbounds))}
	if addrs := r.Addrs(); len(addrs) > 0 {
		v.Address = addrs[0].String()
	}
	for _, o := range l.Outbounds {
		v.Outbounds = append(v.Outbounds, outbound3{o.Port, o.TagMap(), o.Origin})
	}
	writeJSON(b, spelled(r, l).String())
	b.WriteByte(':')
	writeJSON(b, v)
}

// writeJSON writes v without the escapes that text in a web page needs.
func writeJSON(b *bytes.Buffer, v any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	// Plain data always encodes, and a buffer takes all.
	_ = enc.Encode(v)
	b.Truncate(b.Len() - 1) // the newline of Encode
}
