package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// valueVersion is the first byte of every value.
const valueVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of a record that is set aside.
var (
	errShort    = errors.New("record is cut short")
	errChecksum = errors.New("record does not match its checksum")
	errVersion  = errors.New("record has an unknown version")
	errTrailing = errors.New("record has bytes after its end")
	errContent  = errors.New("record makes no sense")
)

// seal closes a value that starts with its version byte.
func seal(key, value []byte) []byte {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	return binary.BigEndian.AppendUint32(value, sum)
}

// open verifies a value and returns a reader of its content.
func open(key, value []byte) (*reader, error) {
	if len(value) < 5 {
		return nil, errShort
	}
	body := value[:len(value)-4]
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, body)
	switch {
	case sum != binary.BigEndian.Uint32(value[len(value)-4:]):
		return nil, errChecksum
	case body[0] != valueVersion:
		return nil, fmt.Errorf("%w %d", errVersion, body[0])
	}
	return &reader{b: body[1:]}, nil
}

// reader takes the fields of a value one by one; the first that is not there
// makes all that follow zero, and done return an error.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) uvarint() uint64 {
	n, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[k:]
	return n
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(errShort)
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) text() string { return string(r.bytes(r.uvarint())) }

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// addr reads a length (0, 4 or 16) and as many bytes.
func (r *reader) addr() netip.Addr {
	b := r.bytes(r.uvarint())
	if len(b) == 0 {
		return netip.Addr{}
	}
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		r.fail(errContent)
	}
	return a
}

// done returns the first error, or errTrailing if something is left.
func (r *reader) done() error {
	if r.err == nil && len(r.b) > 0 {
		return errTrailing
	}
	return r.err
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendAddr(b []byte, a netip.Addr) []byte {
	return appendText(b, string(a.AsSlice()))
}

// appendKey writes an entry's key.
func appendKey(b []byte, k vip.Key) []byte {
	return append(appendText(append(b, byte(k.Kind)), k.Mesh), k.Name...)
}

// readKey reads what appendKey wrote, to the end of b.
func readKey(b []byte) (vip.Key, error) {
	r := &reader{b: b}
	k := vip.Key{Kind: vip.Kind(r.byte()), Mesh: r.text()}
	k.Name = string(r.b)
	if r.err != nil {
		return vip.Key{}, r.err
	}
	if err := vip.Entry(k).Validate(); err != nil {
		return vip.Key{}, err
	}
	if vip.Entry(k).Key() != k {
		return vip.Key{}, errContent
	}
	return k, nil
}

func encodeHolding(key []byte, h allocator.Holding) []byte {
	b := []byte{valueVersion}
	if h.Released {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = appendText(b, string(appendKey(nil, h.Owner)))
	if h.Released {
		b = binary.AppendUvarint(b, uint64(h.At))
		b = appendText(b, h.Mesh)
	}
	return seal(key, b)
}

func decodeHolding(key, value []byte) (allocator.Holding, error) {
	r, err := open(key, value)
	if err != nil {
		return allocator.Holding{}, err
	}
	var h allocator.Holding
	released := r.byte()
	owner := r.bytes(r.uvarint())
	if released == 1 {
		h.Released = true
		h.At = time.Duration(r.uvarint())
		h.Mesh = r.text()
	}
	if err := r.done(); err != nil {
		return allocator.Holding{}, err
	}
	if released > 1 || h.At < 0 {
		return allocator.Holding{}, errContent
	}
	h.Owner, err = readKey(owner)
	return h, err
}

func encodeEntry(key []byte, row *vip.Row) []byte {
	b := []byte{valueVersion}
	return seal(key, appendAddr(appendAddr(b, row.V4), row.V6))
}

func decodeEntry(key, value []byte) (v4, v6 netip.Addr, err error) {
	r, err := open(key, value)
	if err != nil {
		return v4, v6, err
	}
	v4, v6 = r.addr(), r.addr()
	err = r.done()
	if err == nil && (v4.IsValid() && !v4.Is4() || v6.IsValid() && !v6.Is6()) {
		err = errContent
	}
	if err != nil {
		return netip.Addr{}, netip.Addr{}, err
	}
	return v4, v6, nil
}

func encodeListing(key []byte, l vip.Listing) []byte {
	b := appendText([]byte{valueVersion}, l.Name)
	b = binary.AppendUvarint(b, uint64(len(l.Outbounds)))
	for _, o := range l.Outbounds {
		b = binary.AppendUvarint(b, uint64(o.Port))
		b = appendText(b, o.Origin)
		b = binary.AppendUvarint(b, uint64(len(o.Tags)))
		for _, t := range o.Tags {
			b = appendText(appendText(b, t.Key), t.Value)
		}
	}
	if !l.Terms.Empty() {
		b = appendTerms(b, l.Terms)
	}
	return seal(key, b)
}

// appendTerms writes terms at the end of a listing, which stops before them
// where there are none.
func appendTerms(b []byte, t *vip.Terms) []byte {
	for _, addrs := range [][]netip.Addr{t.Static, t.Given} {
		b = binary.AppendUvarint(b, uint64(len(addrs)))
		for _, a := range addrs {
			b = appendAddr(b, a)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(t.Hostnames)))
	for _, h := range t.Hostnames {
		b = appendText(b, h)
	}
	return b
}

// readTerms reads what appendTerms wrote, nil at the record's end.
func readTerms(r *reader) *vip.Terms {
	if r.err != nil || len(r.b) == 0 {
		return nil
	}
	t := &vip.Terms{}
	for _, addrs := range []*[]netip.Addr{&t.Static, &t.Given} {
		for n := r.uvarint(); n > 0 && r.err == nil; n-- {
			*addrs = append(*addrs, r.addr())
		}
	}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		t.Hostnames = append(t.Hostnames, r.text())
	}
	return t
}

// decodeListing reads a listing of mesh. What recurs from record to record is
// shared through in, so that a large table does not hold a copy for each.
func decodeListing(in *interner, mesh string, key, value []byte) (vip.Listing, error) {
	r, err := open(key, value)
	if err != nil {
		return vip.Listing{}, err
	}
	l := vip.Listing{Mesh: mesh, Name: in.text(r.bytes(r.uvarint()))}
	n := r.uvarint()
	for ; n > 0 && r.err == nil; n-- {
		o := vip.Outbound{Port: port(r), Origin: in.text(r.bytes(r.uvarint()))}
		for tags := r.uvarint(); tags > 0 && r.err == nil; tags-- {
			o.Tags = append(o.Tags, vip.Tag{Key: in.text(r.bytes(r.uvarint())), Value: in.text(r.bytes(r.uvarint()))})
		}
		l.Outbounds = append(l.Outbounds, o)
	}
	l.Terms = readTerms(r)
	return l, r.done()
}

func port(r *reader) uint16 {
	p := r.uvarint()
	if p > 65535 {
		r.fail(errContent)
	}
	return uint16(p)
}

// interner gives equal byte strings one string, for short runs of equals: a
// name and the tag that repeats it, an origin, a tag's key.
type interner struct{ recent [16]string }

func (in *interner) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	slot := &in.recent[(len(b)*7+int(b[0])+int(b[len(b)-1]))%len(in.recent)]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

func encodeID(key []byte, id string) []byte {
	return seal(key, appendText([]byte{valueVersion}, id))
}

func decodeID(key, value []byte) (string, error) {
	r, err := open(key, value)
	if err != nil {
		return "", err
	}
	id := r.text()
	return id, r.done()
}

func encodeMeta(key []byte, m allocator.Meta) []byte {
	b := []byte{valueVersion}
	b = binary.AppendUvarint(b, uint64(m.Serial))
	b = binary.AppendUvarint(b, m.Revision)
	b = binary.AppendUvarint(b, uint64(m.Clock))
	if m.Synced {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = appendText(b, m.Options)
	b = binary.AppendUvarint(b, uint64(len(m.Pools)))
	for _, p := range m.Pools {
		b = appendAddr(b, p.Prefix.Addr())
		b = append(b, byte(p.Prefix.Bits()))
		b = appendAddr(b, p.Next)
		if p.Retired {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	b = binary.AppendUvarint(b, m.Generation)
	return seal(key, b)
}

func decodeMeta(key, value []byte) (allocator.Meta, error) {
	r, err := open(key, value)
	if err != nil {
		return allocator.Meta{}, err
	}
	m := allocator.Meta{
		Serial: uint32(r.uvarint()), Revision: r.uvarint(), Clock: time.Duration(r.uvarint()),
		Synced: r.byte() == 1, Options: r.text(),
	}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		p := allocator.Pool{Prefix: netip.PrefixFrom(r.addr(), int(r.byte()))}
		p.Next, p.Retired = r.addr(), r.byte() == 1
		if !p.Prefix.IsValid() {
			r.fail(errContent)
		}
		m.Pools = append(m.Pools, p)
	}
	if r.err == nil && len(r.b) > 0 { // format 1 stops here
		m.Generation = r.uvarint()
	}
	if m.Clock < 0 {
		r.fail(errContent)
	}
	return m, r.done()
}
