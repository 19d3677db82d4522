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
	"go4.org/netipx"
)

// valueVersion is the first byte of every value, but for a listing's.
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

// open verifies a value, of any version up to newest, and returns a reader of
// its content.
func open(key, value []byte, newest byte) (reader, error) {
	if len(value) < 5 {
		return reader{}, errShort
	}
	body := value[:len(value)-4]
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, body)
	switch {
	case sum != binary.BigEndian.Uint32(value[len(value)-4:]):
		return reader{}, errChecksum
	case body[0] < valueVersion || body[0] > newest:
		return reader{}, fmt.Errorf("%w %d", errVersion, body[0])
	}
	return reader{b: body[1:], version: body[0]}, nil
}

// reader takes the fields of a value one by one; the first that is not there
// makes all that follow zero, and done return an error.
type reader struct {
	b       []byte
	version byte
	err     error
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
	switch a.BitLen() {
	case 0:
		return append(b, 0)
	case 32:
		v := a.As4()
		return append(append(b, 4), v[:]...)
	}
	v := a.As16()
	return append(append(b, 16), v[:]...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// appendKey writes an entry's key.
func appendKey(b []byte, k vip.Key) []byte {
	return append(appendText(append(b, byte(k.Kind)), k.Mesh), k.Name...)
}

// keyLen is how many bytes appendKey writes.
func keyLen(k vip.Key) int {
	n := 2 + len(k.Mesh) + len(k.Name)
	for l := len(k.Mesh); l >= 0x80; l >>= 7 {
		n++
	}
	return n
}

// readKey reads what appendKey wrote. The key's texts are parts of s.
func readKey(s string) (vip.Key, error) {
	if s == "" {
		return vip.Key{}, errShort
	}
	n, size := binary.Uvarint([]byte(s[1:min(len(s), 1+binary.MaxVarintLen64)]))
	if size <= 0 || n > uint64(len(s)-1-size) {
		return vip.Key{}, errShort
	}
	if size > 1 && s[size] == 0 { // no shortest form: the key of two records
		return vip.Key{}, errContent
	}
	mesh, name := s[1+size:][:n], s[1+size:][n:]
	k := vip.Key{Kind: vip.Kind(s[0]), Mesh: mesh, Name: name}
	if err := vip.Entry(k).Validate(); err != nil {
		return vip.Key{}, err
	}
	if vip.Entry(k).Key() != k {
		return vip.Key{}, errContent
	}
	return k, nil
}

// holdingVersion is the first byte of a holding that tells since when; one that
// does not is of version 1.
const holdingVersion = 2

// encodeHolding, like encodeEntry and encodeListing, writes over b, which may be
// nil.
func encodeHolding(b, key []byte, h allocator.Holding) []byte {
	if h.Since == 0 {
		b = append(b[:0], valueVersion)
	} else {
		b = binary.AppendUvarint(append(b[:0], holdingVersion), uint64(h.Since))
	}
	b = appendBool(b, h.Released)
	b = appendKey(binary.AppendUvarint(b, uint64(keyLen(h.Owner))), h.Owner)
	if h.Released {
		b = binary.AppendUvarint(b, uint64(h.At))
		b = appendText(b, h.Mesh)
	}
	return seal(key, b)
}

// readHolding reads what encodeHolding wrote, and returns the owner's key by
// itself: as it stands, not yet verified, and a part of value. What was the last
// mesh of many is shared.
func readHolding(in *interner, key, value []byte) (h allocator.Holding, owner []byte, err error) {
	r, err := open(key, value, holdingVersion)
	if err != nil {
		return h, nil, err
	}
	if r.version == holdingVersion {
		h.Since = int64(r.uvarint())
	}
	released := r.byte()
	owner = r.bytes(r.uvarint())
	if released == 1 {
		h.Released = true
		h.At = time.Duration(r.uvarint())
		h.Mesh = in.text(r.bytes(r.uvarint()))
	}
	if err := r.done(); err != nil {
		return allocator.Holding{}, nil, err
	}
	if released > 1 || h.At < 0 || r.version == holdingVersion && h.Since == 0 {
		return allocator.Holding{}, nil, errContent
	}
	return h, owner, nil
}

// sinceOf returns what a holding tells of since when, whatever else it says.
func sinceOf(value []byte) int64 {
	if len(value) == 0 || value[0] != holdingVersion {
		return 0
	}
	n, _ := binary.Uvarint(value[1:])
	return int64(n)
}

func encodeEntry(b, key []byte, row *vip.Row) []byte {
	return seal(key, appendAddr(appendAddr(append(b[:0], valueVersion), row.V4), row.V6))
}

func decodeEntry(key, value []byte) (v4, v6 netip.Addr, err error) {
	r, err := open(key, value, valueVersion)
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

func encodeID(key []byte, id string) []byte {
	return seal(key, appendText([]byte{valueVersion}, id))
}

func decodeID(key, value []byte) (string, error) {
	r, err := open(key, value, valueVersion)
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
	b = appendBool(b, m.Synced)
	b = appendText(b, m.Options)
	b = binary.AppendUvarint(b, uint64(len(m.Pools)))
	for _, p := range m.Pools {
		b = appendAddr(b, p.Prefix.Addr())
		b = append(b, byte(p.Prefix.Bits()))
		b = appendBool(appendAddr(b, p.Next), p.Retired)
	}
	b = binary.AppendUvarint(b, m.Generation)
	b = binary.AppendUvarint(b, uint64(len(m.Quarantine)))
	for _, q := range m.Quarantine {
		b = appendAddr(appendAddr(b, q.Range.From()), q.Range.To())
		b = binary.AppendUvarint(b, uint64(q.Until))
	}
	return seal(key, b)
}

func decodeMeta(key, value []byte) (allocator.Meta, error) {
	r, err := open(key, value, valueVersion)
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
	if r.err == nil && len(r.b) > 0 { // format 2 stops here
		for n := r.uvarint(); n > 0 && r.err == nil; n-- {
			q := allocator.Quarantine{Range: netipx.IPRangeFrom(r.addr(), r.addr()), Until: time.Duration(r.uvarint())}
			if !q.Range.IsValid() || q.Until < 0 {
				r.fail(errContent)
			}
			m.Quarantine = append(m.Quarantine, q)
		}
	}
	if m.Clock < 0 {
		r.fail(errContent)
	}
	return m, r.done()
}
