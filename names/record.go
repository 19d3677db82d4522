package names

import (
	"strings"
	"unsafe"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Record is one row with the names that it has. A record is immutable, and
// every reply is made from one.
type Record struct {
	// Dotted is a service's name with every "_" as ".": relative, in lower
	// case, in the presentation form of miekg/dns, without a final dot. It is
	// empty where another entry has the name, or where DNS cannot carry it.
	Dotted string
	// Literal is a service's name as it stands, in the same form, and empty for
	// the same reasons. It equals Dotted where there is no "_". Of any other entry
	// it is the full name, with its final dot; of one that is told several
	// hostnames, the first of those that it has: over all meshes, whatever a view hides.
	Literal string
	// The addresses again, the first of each family, so that a reply need not
	// look at the row.
	v6       [16]byte
	v4       [4]byte
	families families

	Row *vip.Row

	// full is the name that a PTR gives a service below zone, which was the first
	// of the zones: Dotted, or else Literal, which are a part of it. Empty where
	// it is not known, and has to be put together and confirmed.
	full, zone string
	// more is what else a record with several addresses of a family, or with
	// hostnames that are several or another's, has; nil for nearly all.
	more *several
	// text holds full, if that is not longer: among a million names, what lies
	// elsewhere is one more miss of the processor's caches, and of the
	// translations of its addresses.
	text [88]byte
}

// families are the families of addresses that a record has.
type families uint8

const (
	hasV4 families = 1 << iota
	hasV6
)

// newRecord returns a record of row that has none of the names yet that it
// claims.
func newRecord(row *vip.Row, claims []named) *Record {
	r := new(Record)
	r.begin(row, claims)
	return r
}

// begin makes the zero Record one of row, as newRecord does.
func (r *Record) begin(row *vip.Row, claims []named) {
	r.Row = row
	if row.V4.IsValid() {
		r.v4, r.families = row.V4.As4(), hasV4
	}
	if row.V6.IsValid() {
		r.v6, r.families = row.V6.As16(), r.families|hasV6
	}
	if addrs := given(row); len(addrs) > 0 {
		r.take(addrs)
	}
	if row.Entry.Kind.OfMesh() && len(claims) > 1 {
		r.expect(claims)
	}
}

// A returns the record's v4 address, the first where there are several, and
// whether it has one.
func (r *Record) A() (addr [4]byte, ok bool) { return r.v4, r.families&hasV4 != 0 }

// AAAA returns the record's v6 address, the first where there are several, and
// whether it has one.
func (r *Record) AAAA() (addr [16]byte, ok bool) { return r.v6, r.families&hasV6 != 0 }

// finish completes a record whose names are settled. zone is the first of the
// zones, empty where there is none.
func (r *Record) finish(zone string) {
	if r.Row.Entry.Kind.OfMesh() {
		r.settleHosts()
	}
	name := r.Dotted
	if name == "" && r.Row.Entry.Kind == vip.Service {
		name = r.Literal
	}
	if name == "" || zone == "" {
		r.full, r.zone = "", ""
		return
	}
	r.full = r.join(name, zone)
	if strings.HasPrefix(r.full, apexHost) { // an apex may have it, of a shorter zone too
		r.full, r.zone = "", ""
		return
	}
	r.zone = zone
	// One string holds them all.
	if r.Literal == name {
		r.Literal = r.full[:len(name)]
	}
	if r.Dotted == name {
		r.Dotted = r.full[:len(name)]
	}
}

// join returns the name below zone, which is not ".", in the record's own text where
// that has room.
func (r *Record) join(name, zone string) string {
	if len(name)+1+len(zone) > len(r.text) {
		return under(name, zone)
	}
	n := copy(r.text[:], name)
	r.text[n] = '.'
	n++
	n += copy(r.text[n:], zone)
	return unsafe.String(&r.text[0], n) // nobody writes to a record that is published
}

// Change is what became of one entry. Old is nil for an entry that appears,
// New for one that goes; otherwise both have the same key.
type Change struct{ Old, New *vip.Row }

// names appends the names that the record has, none twice.
func (r *Record) names(dst []string) []string {
	if r == nil {
		return dst
	}
	if r.listsHosts() {
		return r.ownHosts(dst)
	}
	if r.Literal != "" {
		dst = append(dst, r.Literal)
	}
	if r.Dotted != "" && r.Dotted != r.Literal {
		dst = append(dst, r.Dotted)
	}
	return dst
}

// has reports whether the record has the name that n claims.
func (r *Record) has(n named) bool {
	switch {
	case n.rank == byDotted:
		return r.Dotted != ""
	case n.rank == byLiteral:
		return r.Literal != ""
	case r.listsHosts():
		return r.hasHost(n.name)
	}
	return r.Literal == n.name
}

// set gives the name that n claims to a record that is not published yet, or
// takes it away.
func (r *Record) set(n named, has bool) {
	name := ""
	if has {
		name = n.name
	}
	switch {
	case n.rank == byDotted:
		r.Dotted = name
	case n.rank == byLiteral:
		r.Literal = name
		if strings.IndexByte(n.name, '_') < 0 {
			r.Dotted = name
		}
	case r.listsHosts():
		r.setHost(n.name, has)
	case has || r.has(n): // an entry may be told another name
		r.Literal = name
	}
}

// rankOf returns by which of its claims the record has name.
func (r *Record) rankOf(name string) rank {
	switch kind := r.Row.Entry.Kind; {
	case kind == vip.FQDN, kind.OfMesh():
		return byFQDN
	case kind == vip.Host:
		return byHost
	case r.Literal == name:
		return byLiteral
	}
	return byDotted
}

// entry returns the record's entry, and the zero Entry where there is none.
func (r *Record) entry() vip.Entry {
	if r == nil {
		return vip.Entry{}
	}
	return r.Row.Entry
}
