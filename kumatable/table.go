package kumatable

import (
	"bytes"
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Table is one table of Kuma: what it gives one mesh.
type Table struct {
	// Mesh is the mesh whose table it is.
	Mesh string
	// Format is Kuma's, 0 to 4. A table without rows is of format 3.
	Format int
	// From says where it was read, "" where it was read from bytes.
	From string
	// Broken says of a table that was read from a file that its text is not
	// whole: it was cut, or is none. The rows are those before that place.
	Broken error
	// Rows are sorted by key; of one key those with an address come first, then
	// the smaller spelling and address. Each has one listing, Mesh's, and one
	// address at most: a row without one asks for one. Two rows may be of one
	// key, and may have one address.
	Rows []*vip.Row
	// Foreign are the addresses that are none of Kuma's to give, sorted by
	// entry and address.
	Foreign []Foreign
}

// Foreign is an address that a table only points at: that of a Kubernetes
// Service or pod, or of a host that is an IP address. It is answered and routed
// without the table.
type Foreign struct {
	Entry    vip.Entry
	Addr     netip.Addr
	Services []string // the service tags that lead to it, sorted
	Why      string   // in words
}

// Why an address is foreign.
const (
	whyKubernetes = "it is the address of a Kubernetes Service or pod"
	whyItself     = "its host is that address itself"
	whyNameless   = "the table has no name for it"
)

// Decode reads the text of mesh's table, in whichever of Kuma's formats.
// Formats 0 and 1 are one: it says 1.
//
// Rows that cannot be read are set aside, with an error each, in the order of
// the text. So is what else is odd of a row that is read all the same
// ([RowError.Kept]).
//
// The error says that the text is no table, or not whole. The table has what
// was read of it by then: the rows before the place where it was cut.
func Decode(mesh string, data []byte) (Table, []RowError, error) {
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	s := &scanner{text: text}
	members, broken := s.document()
	d := &decoder{mesh: mesh, text: text, lossy: lossyText(text)}
	t := Table{Mesh: mesh, Format: format(text, members)}
	if t.Format != 4 {
		members = d.last(members)
	}
	for _, m := range members {
		switch t.Format {
		case 1:
			d.row1(m)
		case 2:
			d.row2(m)
		case 4:
			d.top4(m)
		default:
			d.row3(m)
		}
	}
	if t.Format == 4 {
		d.finish4()
	}
	t.Rows, t.Foreign = d.table()
	return t, d.errors(len(data) - len(text)), broken
}

// format tells which of Kuma's formats a table has. What most members are
// decides, so that one odd row does not.
func format(text []byte, members []member) int {
	var strs, objects, entries, outbounds int
	for _, m := range members {
		if _, err := vip.ParseEntry(m.key); !errors.Is(err, vip.ErrSyntax) {
			entries++ // it may be a bad one, such as "1:"
		}
		switch m.value(text) {
		case '"':
			strs++
		case '{':
			objects++
			if m.key == "v" {
				outbounds++
			}
		}
	}
	switch {
	case outbounds > 0 && entries == 0:
		return 4
	case strs <= objects:
		return 3
	case 2*entries >= strs:
		return 2
	}
	return 1
}

// found is a row with the place in the text that gave it.
type found struct {
	row *vip.Row
	at  int
}

// decoder collects what the members of a table give.
type decoder struct {
	mesh    string
	text    []byte
	lossy   bool // the text has what JSON cannot say: see lossyText
	found   []found
	foreign []Foreign
	bad     []RowError
	four    four
}

// fail sets m aside.
func (d *decoder) fail(key string, at int, err error) {
	d.bad = append(d.bad, RowError{Key: key, Offset: at, Err: err})
}

// add takes a row up, or tells its address apart where that is foreign.
func (d *decoder) add(e vip.Entry, addr netip.Addr, outbounds []vip.Outbound, at int) {
	if why := foreign(e, addr, outbounds); why != "" {
		d.foreign = append(d.foreign, Foreign{Entry: e, Addr: addr, Services: services(outbounds), Why: why})
		return
	}
	slices.SortFunc(outbounds, vip.Outbound.Compare)
	r := &vip.Row{Entry: e, Listings: []vip.Listing{{
		Mesh: d.mesh, Name: e.Name, Outbounds: slices.CompactFunc(outbounds, vip.Outbound.Equal),
	}}}
	if addr.Is4() {
		r.V4 = addr
	} else {
		r.V6 = addr
	}
	d.found = append(d.found, found{r, at})
}

// table returns the rows and the foreign addresses in order.
func (d *decoder) table() ([]*vip.Row, []Foreign) {
	slices.SortStableFunc(d.found, func(x, y found) int { return compareRows(x.row, y.row) })
	rows := make([]*vip.Row, 0, len(d.found))
	for _, f := range d.found {
		rows = append(rows, f.row)
	}
	slices.SortStableFunc(d.foreign, func(x, y Foreign) int {
		return cmp.Or(x.Entry.Key().Compare(y.Entry.Key()), strings.Compare(x.Entry.Name, y.Entry.Name), x.Addr.Compare(y.Addr))
	})
	return rows, mergeForeign(d.foreign)
}

// compareRows orders rows as [Table.Rows] says.
func compareRows(x, y *vip.Row) int {
	if c := x.Key().Compare(y.Key()); c != 0 {
		return c
	}
	waits := func(r *vip.Row) int { return 1 - min(1, len(r.Addrs())) }
	return cmp.Or(
		cmp.Compare(waits(x), waits(y)),
		strings.Compare(x.Entry.Name, y.Entry.Name),
		slices.CompareFunc(x.Addrs(), y.Addrs(), netip.Addr.Compare),
	)
}

// mergeForeign makes one of what is of one entry and address.
func mergeForeign(sorted []Foreign) []Foreign {
	merged := sorted[:0]
	for _, f := range sorted {
		if n := len(merged); n > 0 && merged[n-1].Entry == f.Entry && merged[n-1].Addr == f.Addr {
			all := slices.Concat(merged[n-1].Services, f.Services)
			slices.Sort(all)
			merged[n-1].Services = slices.Compact(all)
			continue
		}
		merged = append(merged, f)
	}
	return merged
}
