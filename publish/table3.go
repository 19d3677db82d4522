package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meshvip/coredns-meshvip/vip"
)

// row3 is a row of Kuma's format 3: what stands behind the key "0:backend".
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
	// A string or a row3 always encodes, and a buffer takes all.
	_ = enc.Encode(v)
	b.Truncate(b.Len() - 1) // the newline of Encode
}

// errLossy says what [lossyText] is about.
var errLossy = errors.New("has bytes that are not UTF-8, so what was meant cannot be told")

// readRow3 reads a row. lossy says that U+FFFD may stand for something else.
func readRow3(mesh string, m member, lossy bool) (*vip.Row, error) {
	e, err := vip.ParseEntry(m.key)
	if err != nil {
		return nil, err
	}
	if e.Kind.OfMesh() {
		return nil, fmt.Errorf("format 3 has no rows of type %d (%v), so this is none of its own: remove it", e.Kind, e.Kind)
	}
	if m.raw[0] != '{' {
		return nil, errors.New("want an object with an address and outbounds")
	}
	var v row3
	if err := json.Unmarshal(m.raw, &v); err != nil {
		return nil, err
	}
	if lossy && (strings.ContainsRune(m.key, utf8.RuneError) || v.contains(utf8.RuneError)) {
		return nil, errLossy
	}
	r := &vip.Row{Entry: e, Listings: []vip.Listing{{Mesh: mesh, Name: e.Name, Outbounds: v.outbounds()}}}
	if v.Address == "" {
		return r, nil
	}
	addr, err := netip.ParseAddr(v.Address)
	switch {
	case err != nil || addr.Zone() != "":
		return nil, fmt.Errorf("address %.80q: want an IP address", v.Address)
	case addr.Unmap().Is4():
		r.V4 = addr.Unmap()
	default:
		r.V6 = addr
	}
	return r, nil
}

// outbounds returns the row's outbounds as a listing has them.
func (v row3) outbounds() []vip.Outbound {
	outbounds := make([]vip.Outbound, 0, len(v.Outbounds))
	for _, o := range v.Outbounds {
		outbounds = append(outbounds, vip.Outbound{Port: o.Port, Tags: vip.NewTags(o.TagSet), Origin: o.Origin})
	}
	slices.SortFunc(outbounds, vip.Outbound.Compare)
	return slices.CompactFunc(outbounds, vip.Outbound.Equal)
}

// contains reports whether a text of the row's outbounds has r.
func (v row3) contains(r rune) bool {
	for _, o := range v.Outbounds {
		if strings.ContainsRune(o.Origin, r) {
			return true
		}
		for key, value := range o.TagSet {
			if strings.ContainsRune(key, r) || strings.ContainsRune(value, r) {
				return true
			}
		}
	}
	return false
}
