package boltstore

import (
	"encoding/binary"
	"net/netip"

	"github.com/meshvip/coredns-meshvip/vip"
)

// listingVersion is the first byte of a listing. In one of version 1 every text
// stands in full; from 2 on those that recur are a byte each.
const listingVersion = 2

// words are texts that most listings have. What stands for them is their place
// here: none moves, and a new one needs another version.
var words = [...]string{"kuma.io/service", "service"}

// encodeListing writes a listing of the entry whose folded name is name.
func encodeListing(b, key []byte, name string, l vip.Listing) []byte {
	b = appendWord(append(b[:0], listingVersion), name, l.Name)
	b = binary.AppendUvarint(b, uint64(len(l.Outbounds)))
	for _, o := range l.Outbounds {
		b = binary.AppendUvarint(b, uint64(o.Port))
		b = appendWord(b, name, o.Origin)
		b = binary.AppendUvarint(b, uint64(len(o.Tags)))
		for _, t := range o.Tags {
			b = appendWord(appendWord(b, name, t.Key), name, t.Value)
		}
	}
	if !l.Terms.Empty() {
		b = appendTerms(b, l.Terms)
	}
	return seal(key, b)
}

// appendWord writes a text: 0 for the entry's name, 1 and up for one of words,
// above them the text's length and the text.
func appendWord(b []byte, name, s string) []byte {
	if s == name {
		return append(b, 0)
	}
	for i, w := range words {
		if s == w {
			return append(b, byte(1+i))
		}
	}
	return append(binary.AppendUvarint(b, uint64(1+len(words)+len(s))), s...)
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
	if t.Follow {
		b = append(b, termsFollow)
	}
	return b
}

// termsFollow is the byte that terms end with which only follow Kuma.
const termsFollow = 1

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
	if r.err == nil && len(r.b) > 0 { // format 2 stops before it
		if t.Follow = r.byte() == termsFollow; !t.Follow {
			r.fail(errContent)
		}
	}
	return t
}

// listings reads listings. What recurs from record to record is shared, so that
// a large table does not hold a copy for each.
type listings struct {
	// name is the entry's folded name.
	name   string
	recent interner
	// outbounds and tags are room for one of each, which the next listing with
	// just one takes.
	outbounds []vip.Outbound
	tags      []vip.Tag
}

// of lets the next listing be one of the entry whose folded name is name.
func (d *listings) of(name string) { d.name, d.outbounds, d.tags = name, nil, nil }

// into lets the next listing be one of e, and lie in e's memory if it is the
// first.
func (d *listings) into(e *loadedEntry) {
	d.of(e.row.Entry.Name)
	if e.row.Listings == nil {
		e.row.Listings, d.outbounds, d.tags = e.listing[:0:1], e.outbound[:0:1], e.tag[:0:1]
	}
}

// read reads a listing of mesh.
func (d *listings) read(mesh string, key, value []byte) (vip.Listing, error) {
	r, err := open(key, value, listingVersion)
	if err != nil {
		return vip.Listing{}, err
	}
	l := vip.Listing{Mesh: mesh, Name: d.text(&r)}
	if n := r.uvarint(); n > 0 {
		l.Outbounds = room(&d.outbounds, n, len(r.b))
		for ; n > 0 && r.err == nil; n-- {
			l.Outbounds = append(l.Outbounds, d.outbound(&r))
		}
	}
	l.Terms = readTerms(&r)
	return l, r.done()
}

func (d *listings) outbound(r *reader) vip.Outbound {
	o := vip.Outbound{Port: port(r), Origin: d.text(r)}
	if n := r.uvarint(); n > 0 {
		o.Tags = room(&d.tags, n, len(r.b))
		for ; n > 0 && r.err == nil; n-- {
			o.Tags = append(o.Tags, vip.Tag{Key: d.text(r), Value: d.text(r)})
		}
	}
	return o
}

// room returns an empty slice for n things, of which each takes two bytes at
// least of the left ones: a record that lies takes no more memory than it has.
func room[T any](one *[]T, n uint64, left int) []T {
	if n == 1 && cap(*one) == 1 {
		s := *one
		*one = nil
		return s
	}
	return make([]T, 0, min(n, uint64(left)/2))
}

// text reads what appendWord wrote, or in version 1 appendText.
func (d *listings) text(r *reader) string {
	n := r.uvarint()
	if r.version > 1 && r.err == nil {
		switch {
		case n == 0:
			return d.name
		case n <= uint64(len(words)):
			return words[n-1]
		}
		n -= uint64(1 + len(words))
	}
	b := r.bytes(n)
	if string(b) == d.name {
		return d.name
	}
	return d.recent.text(b)
}

func port(r *reader) uint16 {
	p := r.uvarint()
	if p > 65535 {
		r.fail(errContent)
	}
	return uint16(p)
}

// interner gives equal byte strings one string, for short runs of equals: an
// origin, a tag's key, the value of one that many have.
type interner [16]string

func (in *interner) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	slot := &in[(len(b)*7+int(b[0])+int(b[len(b)-1]))%len(in)]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}
